// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Search: `psn 7` or `7`, `frame 12`, `wr 0x1`, `qp 17`, and words of labels, comments and notes. All of them
// must fit.
(function(view) {
const search = {
  matches: new Set(),
  noteMatches: new Set(),
  results: [],
  run,
  next,
  isActive: () => search.results.length > 0
};

const same = (text, number) => {
  try {
    return BigInt(text) === BigInt(number);
  } catch (error) {
    return false;
  }
};
const isNumber = (word) => /^(0x[0-9a-f]+|\d+)$/i.test(word);

// A condition on packets and one on notes for each part of the text.
function parse(text) {
  const tokens = text.trim().toLowerCase().replace(/[=:#]/g, " ").split(/\s+/).filter(Boolean);
  const found = [];
  for (let at = 0; at < tokens.length; ++at) {
    const name = tokens[at], number = tokens[at + 1];
    if (["psn", "frame", "wr", "wr_id", "qp"].includes(name) && number !== undefined && isNumber(number)) {
      found.push(condition(name, number));
      ++at;
    } else if (isNumber(name))
      found.push(condition("psn", name));
    else
      found.push(condition("word", name));
  }
  return found;
}

function condition(name, what) {
  const never = () => false;
  switch (name) {
    case "psn": {
      const psn = Number(what);
      return {
        packet: (packet) => packet.psn === psn,
        note: (note) => note.what === "refusal" && view.own(note.members, "psn") === psn
      };
    }
    case "frame": {
      const frame = Number(what);
      return {packet: (packet) => packet.seen.some((place) => place.frame === frame), note: never};
    }
    case "wr":
    case "wr_id":
      return {
        packet: never,
        note: (note) =>
            view.own(note.members, "wr_id") !== undefined && same(view.own(note.members, "wr_id"), what)
      };
    case "qp": {
      const qp = Number(what);
      const has = (index) =>
          view.connections[index] !== undefined && view.connections[index].ends.some((end) => end.qp === qp);
      return {packet: (packet) => has(packet.connection), note: (note) => has(note.connection)};
    }
    default:
      return {
        packet: (packet) => wordsOf(packet).includes(what),
        note: (note) => noteWordsOf(note).includes(what)
      };
  }
}

const wordsOf = (packet) => [packet.label || "", packet.kind || "", ...view.words.flags(packet),
                             ...view.words.comments(packet)]
                                .join(" ")
                                .toLowerCase();
const noteWordsOf = (note) => `${note.what} ${view.words.noteWords(note)}`.replace(/_/g, " ").toLowerCase() +
    ` ${String(note.what).toLowerCase()}`;

function run(text) {
  const conditions = parse(text);
  search.text = text;
  search.matches = new Set();
  search.noteMatches = new Set();
  search.results = [];
  if (conditions.length > 0) collect(conditions);
  count();
  view.tell("search");
}

function collect(conditions) {
  view.data.packets.forEach((packet, index) => {
    if (!conditions.every((one) => one.packet(packet))) return;
    search.matches.add(index);
    search.results.push(
        {packet: index, connection: view.connectionOf(packet), time: Number(packet.seen[0].time) || 0});
  });
  view.data.notes.forEach((note, index) => {
    if (view.connections[note.connection] === undefined || !conditions.every((one) => one.note(note))) return;
    search.noteMatches.add(index);
    search.results.push({note: index, connection: note.connection, time: note.time});
  });
  search.results.sort((a, b) => a.connection - b.connection || a.time - b.time);
}

function placeOfSelected() {
  const now = view.selected;
  return now === undefined ?
      -1 :
      search.results.findIndex((one) => one.packet === now.packet && one.note === now.note);
}

// From the selected one, or from where the reader is.
function next(by) {
  const {results} = search;
  if (results.length === 0) return view.say(search.text ? "Nothing is found." : "");
  let at = placeOfSelected();
  if (at < 0) {
    const time = view.cursor === undefined ? view.range.times()[0] : view.cursor;
    at = results.findIndex(
        (one) => one.connection > view.chosen || (one.connection === view.chosen && one.time >= time));
    if (at < 0) at = by > 0 ? results.length : 0;
    if (by > 0) at -= 1;
  }
  const one = results[(at + by + results.length) % results.length];
  if (one.packet !== undefined)
    view.select.packet(one.packet);
  else
    view.select.note(one.note);
}

function count() {
  const {results} = search;
  const at = placeOfSelected();
  const text = !search.text ? "" :
      results.length === 0  ? "nothing found" :
      at >= 0               ? `${at + 1} of ${results.length.toLocaleString("en")}` :
                              `${results.length.toLocaleString("en")} found`;
  view.byId("search-count").textContent = text;
}

function start() {
  const input = view.byId("search-text");
  let timer;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => run(input.value), 120);
  });
  view.byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    if (search.text !== input.value) run(input.value);
    next(1);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") view.byId("ladder").focus();
    if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      next(-1);
    }
  });
  view.byId("search-next").addEventListener("click", () => next(1));
  view.byId("search-previous").addEventListener("click", () => next(-1));
}

view.listen("select", "search", () => {
  if (search.text) count();
});
view.search = Object.assign(search, {start});
})(window.view);
