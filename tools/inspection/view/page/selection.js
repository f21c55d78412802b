// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What is chosen: a connection, a packet or a note, and the time of the cursor.
(function(view) {
view.chosen = -1;           // connection
view.selected = undefined;  // {packet} or {note}
view.cursor = undefined;    // nanoseconds
const before = [];

function choose(connection) {
  if (view.connections[connection] === undefined || connection === view.chosen) return;
  view.chosen = connection;
  view.lane = view.laneOf(connection);
  view.selected = undefined;
  view.cursor = undefined;
  view.filter.apply();
  view.setCut(view.wantsCut);
  view.tell("connection");
  view.range.toReadable();
  view.tell("select");
  view.tell("cursor");
}

function setCursor(time) {
  view.cursor = time;
  view.tell("cursor");
}

function remember() {
  const last = before[before.length - 1], now = view.selected;
  if (!now || (last && last.packet === now.packet && last.note === now.note)) return;
  before.push(now);
  if (before.length > 200) before.shift();
}

function selectPacket(index, isBack) {
  const packet = view.data.packets[index];
  if (packet === undefined) return;
  if (!isBack) remember();
  choose(view.connectionOf(packet));
  view.selected = {packet: index};
  const at = view.lane.place.get(index);
  view.cursor = view.lane.end[at];
  view.range.show(view.lane.begin[at], view.lane.end[at], true);
  view.tell("select");
  view.tell("cursor");
  view.say(view.words.say(index));
}

function selectNote(index, isBack) {
  const note = view.data.notes[index];
  if (note === undefined || view.connections[note.connection] === undefined) return;
  if (!isBack) remember();
  choose(note.connection);
  view.selected = {note: index};
  view.cursor = note.time;
  view.range.show(note.time, note.time, true);
  view.tell("select");
  view.tell("cursor");
  view.say(
      `Note ${index}, ${view.words.noteWords(note)}, ${view.endName(note.connection, note.end || 0, "of")}`);
}

function clear() {
  view.selected = undefined;
  view.tell("select");
}

function back() {
  const last = before.pop();
  if (last === undefined) return;
  if (last.packet !== undefined)
    selectPacket(last.packet, true);
  else
    selectNote(last.note, true);
}

// The next one of the connection that the filter shows; places are sorted by time.
function step(by) {
  const {lane} = view;
  let at = view.selected ? lane.place.get(view.selected.packet) : undefined;
  if (at === undefined) {
    const time = view.cursor === undefined ? view.range.times()[0] : view.cursor;
    at = by > 0 ? d3.bisectLeft(lane.begin, time) - 1 : d3.bisectRight(lane.begin, time);
  }
  for (at += by; at >= 0 && at < lane.size; at += by) {
    if (view.filter.isShown[at]) return selectPacket(lane.packet[at]);
  }
}

function stepNote(by) {
  const {lane} = view;
  let at = view.selected ? lane.notePlace.get(view.selected.note) : undefined;
  if (at === undefined) {
    const time = view.cursor === undefined ? view.range.times()[0] : view.cursor;
    at = by > 0 ? d3.bisectLeft(lane.noteTime, time) - 1 : d3.bisectRight(lane.noteTime, time);
  }
  for (at += by; at >= 0 && at < lane.note.length; at += by) {
    if (view.filter.isNoteShown(view.data.notes[lane.note[at]])) return selectNote(lane.note[at]);
  }
}

function ends(isLast) {
  const {lane} = view;
  for (let at = isLast ? lane.size - 1 : 0; at >= 0 && at < lane.size; at += isLast ? -1 : 1) {
    if (view.filter.isShown[at]) return selectPacket(lane.packet[at]);
  }
}

const packet = () =>
    (view.selected && view.selected.packet !== undefined ? view.data.packets[view.selected.packet] :
                                                           undefined);
// Jumps from the selected packet. They answer false where there is nothing to jump to.
const go = (index) =>
    (index === undefined ? (view.say("There is none."), false) : (selectPacket(index), true));
const toRequest = () => go((packet() || {}).request);
const toAnswer = () => go(view.list((packet() || {}).answers)[0]);
const toRepeat = () => {
  const now = packet() || {};
  return go(view.list(now.repeated_by).length ? now.repeated_by[0] : now.repeats);
};

// Those that belong to the selected packet: to be marked in the ladder.
function related() {
  const now = packet();
  if (now !== undefined)
    return new Set([now.request, now.repeats, ...view.list(now.answers), ...view.list(now.repeated_by)]);
  const note = view.selected && view.data.notes[view.selected.note];
  return new Set(note ? [note.packet] : []);
}

view.select = {
  choose,
  setCursor,
  packet: selectPacket,
  note: selectNote,
  clear,
  back,
  step,
  stepNote,
  ends,
  toRequest,
  toAnswer,
  toRepeat,
  related
};
})(window.view);
