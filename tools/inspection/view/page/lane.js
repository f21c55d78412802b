// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the ladder draws of one connection, in arrays sorted by time: made when the connection is chosen.
(function(view) {
const made = new Map();

// When it left, and when it came. One place alone tells one time for both.
function times(packet) {
  const sent = packet.seen.find((place) => place.way === "sent") || packet.seen[0];
  const received = packet.seen.find((place) => place.way === "received" && place !== sent) ||
      (packet.seen.length > 1 ? packet.seen[1] : sent);
  return [Number(sent.time) || 0, Number(received.time) || 0];
}

function median(numbers) {
  if (numbers.length === 0) return 0;
  const sorted = Float64Array.from(numbers).sort();
  return sorted[sorted.length >> 1];
}

function make(connection) {
  const {packets} = view.data;
  const rows = connection.packets.map((index) => {
    const [sent, received] = times(packets[index]);
    return {index, sent, received, begin: Math.min(sent, received), end: Math.max(sent, received)};
  });
  // A lost packet would have come as fast as the others.
  const flight = median(rows.filter((row) => row.received > row.sent).map((row) => row.received - row.sent));
  for (const row of rows) {
    if (packets[row.index].is_lost && row.received === row.sent) row.end = row.received = row.sent + flight;
  }
  rows.sort((a, b) => a.begin - b.begin || a.index - b.index);
  const lane = {
    connection,
    flight,
    size: rows.length,
    packet: Int32Array.from(rows, (row) => row.index),
    from: Uint8Array.from(rows, (row) => (packets[row.index].from === 1 ? 1 : 0)),
    sent: Float64Array.from(rows, (row) => row.sent),
    received: Float64Array.from(rows, (row) => row.received),
    begin: Float64Array.from(rows, (row) => row.begin),
    end: Float64Array.from(rows, (row) => row.end),
    reach: new Float64Array(rows.length),  // the latest end of this one and those before it
    look: Uint8Array.from(rows, (row) => view.marks.lookOf(packets[row.index])),
    place: new Map(),
  };
  let reach = -Infinity;
  lane.packet.forEach((index, at) => {
    reach = Math.max(reach, lane.end[at]);
    lane.reach[at] = reach;
    lane.place.set(index, at);
  });
  const notes =
      connection.notes.slice().sort((a, b) => view.data.notes[a].time - view.data.notes[b].time || a - b);
  lane.note = Int32Array.from(notes);
  lane.noteTime = Float64Array.from(notes, (index) => view.data.notes[index].time);
  lane.noteEnd = Uint8Array.from(notes, (index) => (view.data.notes[index].end === 1 ? 1 : 0));
  lane.noteSign = Uint8Array.from(
      notes, (index) => view.marks.noteSigns.indexOf(view.marks.noteSign(view.data.notes[index])));
  lane.notePlace = new Map(notes.map((index, at) => [index, at]));
  lane.first = Math.min(lane.size ? lane.begin[0] : Infinity, notes.length ? lane.noteTime[0] : Infinity);
  lane.last =
      Math.max(lane.size ? reach : -Infinity, notes.length ? lane.noteTime[notes.length - 1] : -Infinity);
  if (!Number.isFinite(lane.first)) lane.first = lane.last = 0;
  lane.hasNotes = [0, 1].map((end) => lane.noteEnd.includes(end));
  return lane;
}

view.laneOf = function(connection) {
  if (!made.has(connection)) made.set(connection, make(view.connections[connection]));
  return made.get(connection);
};

// The places [from, to) of arrows that touch this time.
view.between = function(lane, begin, end) {
  return [d3.bisectLeft(lane.reach, begin), d3.bisectRight(lane.begin, end)];
};

view.median = median;
view.timesOf = times;
})(window.view);
