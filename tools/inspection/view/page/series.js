// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Numbers over time of one connection, for the plots: made when they are first shown.
(function(view) {
const made = new Map();
const further = (a, b) => ((a - b + 0x1800000) & 0xffffff) - 0x800000;  // PSNs wrap at 2^24

// Requests that were sent and are not acknowledged, as the packets show it; where the NIC noted it, as it
// did.
function inFlight(lane, end) {
  const noted = {times: [], values: []};
  for (const index of lane.note) {
    const note = view.data.notes[index], value = view.own(note.members, "packets_in_flight");
    if ((note.end === 1 ? 1 : 0) === end && view.isNumber(value)) push(noted, note.time, value);
  }
  if (noted.times.length > 0) return {...noted, isNoted: true};
  return byPackets(lane, end);
}

function push(series, time, value) {
  series.times.push(time);
  series.values.push(value);
}

function byPackets(lane, end) {
  const events = [];
  for (let at = 0; at < lane.size; ++at) {
    const packet = view.data.packets[lane.packet[at]];
    if (!view.isNumber(packet.psn)) continue;
    if (lane.from[at] === end && packet.kind === "request")
      events.push([lane.sent[at], packet.psn, true]);
    else if (lane.from[at] !== end && ["ack", "response"].includes(packet.kind) && !packet.is_lost)
      events.push([lane.received[at], packet.psn, false]);
  }
  events.sort((a, b) => a[0] - b[0]);
  const series = {times: [], values: []};
  let sent, acked;
  for (const [time, psn, isRequest] of events) {
    if (isRequest) {
      if (sent === undefined || further(psn, sent) > 0) sent = psn;
      if (acked === undefined) acked = (psn - 1) & 0xffffff;
    } else if (acked === undefined || further(psn, acked) > 0)
      acked = psn;
    if (sent !== undefined) push(series, time, Math.max(0, further(sent, acked)));
  }
  return series;
}

// Packets and new payload bytes, added up, by the time they came.
function sums(lane, end) {
  const rows = [];
  for (let at = 0; at < lane.size; ++at) {
    if (lane.from[at] !== end) continue;
    const packet = view.data.packets[lane.packet[at]];
    const isNew = !packet.is_repeated || packet.repeats === undefined ||
        view.own(view.data.packets[packet.repeats], "is_lost");
    const isGood = isNew && !packet.is_lost && !packet.is_dropped && !packet.bad_icrc;
    rows.push([lane.received[at], isGood ? packet.payload || 0 : 0]);
  }
  rows.sort((a, b) => a[0] - b[0]);
  const times = Float64Array.from(rows, (row) => row[0]), bytes = new Float64Array(rows.length + 1);
  rows.forEach((row, at) => {
    bytes[at + 1] = bytes[at] + row[1];
  });
  return {times, bytes};
}

// From a request to its first answer, where one clock saw both. Without repeated requests: an answer to
// them does not say which one it is to.
function roundTrips(lane) {
  const trips = {times: [], values: [], ends: [], packets: []};
  for (let at = 0; at < lane.size; ++at) {
    const packet = view.data.packets[lane.packet[at]];
    const answer = view.data.packets[view.list(packet.answers)[0]];
    if (answer === undefined || packet.is_repeated || view.list(packet.repeated_by).length) continue;
    const end = packet.seen[0].file;
    const place = answer.seen.find((one) => one.file === end);
    if (place === undefined) continue;
    const time = Number(packet.seen[0].time), value = Number(place.time) - time;
    if (!(value >= 0)) continue;
    trips.times.push(time);
    trips.values.push(value);
    trips.ends.push(lane.from[at]);
    trips.packets.push(lane.packet[at]);
  }
  return trips;
}

view.seriesOf = function(connection) {
  if (!made.has(connection)) {
    const lane = view.laneOf(connection);
    made.set(connection, {
      flight: [0, 1].map((end) => inFlight(lane, end)),
      sums: [0, 1].map((end) => sums(lane, end)),
      trips: roundTrips(lane)
    });
  }
  return made.get(connection);
};
})(window.view);
