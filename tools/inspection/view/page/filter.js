// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Chips that choose what is shown. Several add up; "only trouble" narrows them. Others are grey, or hidden.
(function(view) {
const {element} = view;
const pressed = new Set();
const filter = {
  isShown: new Uint8Array(0),
  isHiding: false,
  hidesNotes: false,
  apply,
  isNoteShown,
  toggle,
  clear,
  draw,
  pressed
};

const extra = {
  trouble: ["only trouble", (packet) => view.words.isTrouble(packet)],
  repeated: ["sent again", (packet) => packet.is_repeated],
  lost: ["lost", (packet) => packet.is_lost],
  dropped: ["dropped", (packet) => packet.is_dropped],
};

function accepts(packet) {
  if (pressed.has("trouble") && !view.words.isTrouble(packet)) return false;
  let isAny = true;
  for (const name of pressed) {
    if (name === "trouble") continue;
    isAny = false;
    if (extra[name] ? extra[name][1](packet) : view.words.kindOf(packet) === name) return true;
  }
  return isAny;
}

function apply() {
  const {lane} = view;
  filter.isShown = new Uint8Array(lane.size);
  for (let at = 0; at < lane.size; ++at)
    filter.isShown[at] = accepts(view.data.packets[lane.packet[at]]) ? 1 : 0;
}

function isNoteShown(note) {
  return !filter.hidesNotes && (!pressed.has("trouble") || view.words.isTroubleNote(note));
}

function changed() {
  apply();
  draw();
  view.tell("filter");
  view.say(`${view.count(d3.sum(filter.isShown), "packet")} of ${view.lane.size} shown`);
}

function toggle(name) {
  if (name === "hide")
    filter.isHiding = !filter.isHiding;
  else if (name === "notes")
    filter.hidesNotes = !filter.hidesNotes;
  else if (!pressed.delete(name))
    pressed.add(name);
  changed();
}

function clear() {
  pressed.clear();
  changed();
}

const chip = (name, text, number, isOn) => element(
    "button", {
      type: "button",
      class: `chip ${name}`,
      "data-chip": name,
      "aria-pressed": String(isOn),
      onclick: () => toggle(name)
    },
    element("span", {class: "swatch", "aria-hidden": "true"}), text,
    number === undefined ? "" : element("span", {class: "number"}, number.toLocaleString("en")));

function draw() {
  const focused = document.activeElement && document.activeElement.dataset ?
      document.activeElement.dataset.chip :
      undefined;
  const {connection} = view.lane;
  const kinds = view.words.kinds.filter((kind) => connection.kinds.has(kind) || pressed.has(kind));
  const numbers = {
    trouble: connection.trouble,
    repeated: connection.repeated,
    lost: connection.lost,
    dropped: connection.dropped
  };
  view.byId("filter").replaceChildren(
      element("span", {class: "title"}, "Show"),
      ...Object.entries(extra)
          .filter(([name]) => name === "trouble" || numbers[name] || pressed.has(name))
          .map(([name, [text]]) => chip(name, text, numbers[name], pressed.has(name))),
      element("span", {class: "between"}),
      ...kinds.map(
          (kind) =>
              chip(kind, view.words.kindWords[kind], connection.kinds.get(kind) || 0, pressed.has(kind))),
      connection.notes.length || pressed.size ? element("span", {class: "between"}) : "",
      connection.notes.length ? chip("notes", "notes", connection.notes.length, !filter.hidesNotes) : "",
      pressed.size ? chip("hide", "hide rest", undefined, filter.isHiding) : "",
      pressed.size ? element("button", {type: "button", class: "chip all", onclick: clear}, "all") : "");
  const again = focused && view.byId("filter").querySelector(`[data-chip="${focused}"]`);
  if (again) again.focus();
}

view.listen("connection", "filter", draw);
view.filter = filter;
})(window.view);
