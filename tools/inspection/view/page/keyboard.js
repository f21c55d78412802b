// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Keys. They work wherever the focus is, except in a text field or where a control uses them itself.
(function(view) {
const isLadder = () => {
  const {activeElement} = document;
  return activeElement === null || activeElement === document.body || activeElement.id === "ladder";
};
const anchor = () => {
  if (view.cursor === undefined) return undefined;
  const place = view.scale.placeOf(view.cursor);
  return place >= view.range.begin && place <= view.range.end ? place : undefined;
};
const moveCursor = (by) => {
  const span = view.range.end - view.range.begin;
  const place = view.cursor === undefined ? view.range.begin : view.scale.placeOf(view.cursor);
  const time = view.scale.timeOf(place + (by * span) / 100);
  view.select.setCursor(time);
  view.range.show(time, time);
};

// Arrows and similar keys belong to the ladder; in the details they scroll.
const ofLadder = {
  ArrowDown: (event) => (event.shiftKey ? view.select.stepNote(1) : view.select.step(1)),
  ArrowUp: (event) => (event.shiftKey ? view.select.stepNote(-1) : view.select.step(-1)),
  PageDown: () => view.range.scroll(0.85, true),
  PageUp: () => view.range.scroll(-0.85, true),
  Home: () => view.select.ends(false),
  End: () => view.select.ends(true),
};
const anywhere = {
  j: () => view.select.step(1),
  k: () => view.select.step(-1),
  J: () => view.select.stepNote(1),
  K: () => view.select.stepNote(-1),
  "+": () => view.range.zoom(0.6, anchor(), true),
  "=": () => view.range.zoom(0.6, anchor(), true),
  "-": () => view.range.zoom(1 / 0.6, anchor(), true),
  0: () => view.range.fit(true),
  1: () => readable(),
  "[": () => view.connectionList.step(-1),
  "]": () => view.connectionList.step(1),
  "/": () => {
    view.byId("search-text").focus();
    view.byId("search-text").select();
  },
  n: () => view.search.next(1),
  N: () => view.search.next(-1),
  q: () => view.select.toRequest(),
  a: () => view.select.toAnswer(),
  r: () => view.select.toRepeat(),
  b: () => view.select.back(),
  f: () => view.filter.toggle("trouble"),
  h: () => view.filter.toggle("hide"),
  i: () => compress(!view.isCut),
  e: () => view.details.explain(),
  p: () => view.plots.toggle(),
  o: () => view.plots.toggleWhole(),
  t: () => view.theme.change(),
  "?": () => view.help.toggle(),
  ",": () => moveCursor(-1),
  ".": () => moveCursor(1),
  Escape: () => view.select.clear(),
};

// The same arrows stay in the middle of the screen.
function compress(isCut) {
  const [begin, end] = view.range.times();
  const middle = view.cursor === undefined ? (begin + end) / 2 : view.cursor;
  view.wantsCut = isCut;
  view.setCut(isCut);
  view.byId("compress").checked = isCut;
  view.range.toReadable(view.scale.placeOf(middle));
}

function readable() {
  const at = anchor();
  view.range.toReadable(at === undefined ? (view.range.begin + view.range.end) / 2 : at, true);
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
  if (event.target.closest && event.target.closest("input[type=search], select, dialog[open]") &&
      event.key !== "?")
    return;
  if (event.target.id === "search-text") return;
  const action = (isLadder() && view.own(ofLadder, event.key)) || view.own(anywhere, event.key);
  if (!action) return;
  event.preventDefault();
  action(event);
}

function start() {
  document.addEventListener("keydown", onKey);
  const click = (id, action) => view.byId(id).addEventListener("click", action);
  click("zoom-in", () => view.range.zoom(0.6, anchor(), true));
  click("zoom-out", () => view.range.zoom(1 / 0.6, anchor(), true));
  click("zoom-fit", () => view.range.fit(true));
  click("zoom-labels", readable);
  click("theme", view.theme.change);
  click("help-button", view.help.toggle);
  view.byId("compress").addEventListener("change", (event) => compress(event.target.checked));
  view.listen("connection", "keyboard", () => {
    view.byId("compress").checked = view.isCut;
  });
}

view.keyboard = {
  start,
  compress
};
})(window.view);
