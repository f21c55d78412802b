// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The help: keys, search, signs, and how to read times.
(function(view) {
const {element} = view;
const keys = [
  ["↓ ↑ or j k", "next, previous packet"],
  ["shift ↓ ↑", "next, previous note"],
  ["Home End", "first, last packet"],
  ["q  a  r", "jump to request, answer, repeat (or what it repeats)"],
  ["b", "back to what was selected before"],
  ["+ −", "zoom in, out"],
  ["0  1", "show all; readable"],
  ["Page up, Page down", "scroll"],
  ["[ ]", "previous, next connection"],
  ["/", "search"],
  ["n N", "next, previous match"],
  ["f", "only trouble"],
  ["h", "hide what the filter greys out"],
  ["i", "shorten idle time"],
  [", .", "move the cursor"],
  ["e", "explain fields"],
  ["p  o", "plots; plots of the whole connection"],
  ["t", "light or dark"],
  ["?", "this help"],
  ["Esc", "clear the selection; close"],
];
const searches = [
  ["psn 7 or 7", "packets with this PSN, also in hexadecimal"],
  ["frame 12", "the frame with this number in any of the files"],
  ["wr 0x1", "posts and completions of this work request"], ["qp 0x11 or 17", "all of this queue pair"],
  ["READ, again, rx_drop", "words of labels, flags, comments and notes"]
];

const table = (rows) => element(
    "table", {},
    ...rows.map(
        ([key, text]) => element(
            "tr", {},
            element("th", {}, ...key.split(/  /).flatMap((part) => [element("kbd", {}, part), " "])),
            element("td", {}, text))));

function open() {
  const dialog = view.byId("help");
  dialog.replaceChildren(
      element(
          "form", {method: "dialog"}, element("h2", {}, "How to read this page"),
          element("button", {class: "close", "aria-label": "Close"}, "✕")),
      element(
          "div", {class: "columns"}, element("section", {}, element("h3", {}, "Keys"), table(keys)),
          element(
              "section", {}, element("h3", {}, "Search"), table(searches), element("h3", {}, "Signs"),
              element("div", {class: "legend"}, ...view.legend.all()), element("h3", {}, "Time"),
              element(
                  "p", {},
                  "Time runs downwards, in nanoseconds from the first frame. An arrow slants where the recordings of both ends have the packet; it is level where one clock saw it. ",
                  "Wheel: scroll. Ctrl and wheel: zoom. Drag: scroll. Drag along the times: move the cursor."),
              element(
                  "p", {},
                  "“Shorten idle time” draws long pauses short, with a wavy band that says how long. It is on at first where pauses are more than three quarters of the time; else real time is."))));
  if (!dialog.open) dialog.showModal();
}

function toggle() {
  const dialog = view.byId("help");
  if (dialog.open)
    dialog.close();
  else
    open();
}

view.help = {
  open,
  toggle
};
})(window.view);
