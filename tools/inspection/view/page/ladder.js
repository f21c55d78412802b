// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The ladder: two life lines, time downwards, arrows between them, notes outside.
(function(view) {
const top = 8;
view.gutter.width = 84;
let canvas, pen, width = 0, height = 0;
let drawn = {lines: [], isThin: false, signs: []};
let firstDraw;

// Where things are. Ends that no recording tells about need no room for notes.
function placeOf(w, h) {
  const gutter = view.gutter.width;
  const inner = w - gutter;
  const wide = Math.max(60, Math.min(230, inner * 0.24));
  const noteWidth = view.lane.hasNotes.map((has) => (has && !view.filter.hidesNotes ? wide : 26));
  const a = gutter + noteWidth[0], b = w - noteWidth[1];
  const span = view.range.end - view.range.begin;
  return {
    width: w,
    height: h,
    top,
    gutter,
    noteWidth,
    a,
    b,
    taken: [],
    pauses: [],  // taken: by words
    y: (time) => top + ((view.scale.placeOf(time) - view.range.begin) / span) * (h - top),
    // Two columns of signs: state changes have the one beside the life line.
    noteX: (end, name) => (end === 0 ? a - (name === "dot" ? 5 : 15) : b + (name === "dot" ? 5 : 15)),
    wordsX: (end) => (end === 0 ? a - 26 : b + 26),
  };
}

function drawLifeLines(ink, place) {
  ink.setLineDash([]);
  ink.lineWidth = 2.5;
  ink.strokeStyle = view.colour("life");
  for (const x of [place.a, place.b]) {
    ink.beginPath();
    ink.moveTo(x, 0);
    ink.lineTo(x, place.height);
    ink.stroke();
  }
}

function drawCursor(ink, place) {
  if (view.cursor === undefined) return;
  const y = place.y(view.cursor);
  if (y < 0 || y > place.height) return;
  ink.strokeStyle = ink.fillStyle = view.colour("cursor");
  ink.lineWidth = 1.2;
  ink.setLineDash([]);
  ink.beginPath();
  ink.moveTo(0, y);
  ink.lineTo(place.width, y);
  ink.stroke();
  const text = view.time.tick(view.cursor, Math.max(1, (view.range.end - view.range.begin) / place.height));
  ink.font = "bold 11px system-ui, sans-serif";
  const long = ink.measureText(text).width;
  const middle = Math.max(9, Math.min(place.height - 9, y));
  ink.fillRect(place.gutter - 12 - long, middle - 8, long + 10, 16);
  ink.fillStyle = view.colour("on-cursor");
  ink.textAlign = "left";
  ink.textBaseline = "middle";
  ink.fillText(text, place.gutter - 7 - long, middle + 0.5);
}

// Draws into any canvas of this size, in CSS pixels; scale is pixels of the canvas for each.
function paint(ink, w, h, scale) {
  const place = placeOf(w, h);
  ink.setTransform(scale, 0, 0, scale, 0, 0);
  ink.fillStyle = view.colour("paper");
  ink.fillRect(0, 0, w, h);
  view.gutter.drawTicks(ink, place);
  view.gutter.drawPauses(ink, place);
  drawLifeLines(ink, place);
  const {lines, isThin} = view.arrows.draw(ink, place);
  view.gutter.drawPauseWords(ink, place);
  const signs = view.notes.draw(ink, place);
  drawCursor(ink, place);
  return {lines, isThin, signs, place};
}

function draw() {
  if (!view.lane || width === 0) return;
  drawn = paint(pen, width, height, window.devicePixelRatio || 1);
  const hidden = drawn.isThin ?
      `${view.count(drawn.lines.all, "packet")} here: zoom in for labels (+), or choose Readable (1)` :
      "";
  const hint = view.lane.size + view.lane.note.length === 0 ?
      "There is no packet here that this page can show." :
      hidden;
  view.byId("hint").textContent = hint;
  const times = view.range.times();
  const begin = Math.max(times[0], view.lane.first),
        end = Math.max(begin, Math.min(times[1], view.lane.last));
  view.byId("range-text").textContent = `${view.time.duration(end - begin)} of ${
      view.time.duration(view.lane.last - view.lane.first)} shown, ${view.count(drawn.lines.all, "packet")}`;
  drawNames(drawn.place);
  if (firstDraw === undefined) firstDraw = performance.now();
}

// Names of both ends over the life lines.
function drawNames(place) {
  const box = view.byId("ends");
  if (box.dataset.of !== String(view.chosen)) {
    box.dataset.of = view.chosen;
    box.replaceChildren(...view.lane.connection.ends.map(
        (end, at) => view.element(
            "div", {class: `end end-${"ab"[at]}`}, view.element("span", {class: "letter"}, "AB"[at]),
            ` ${end.address || (view.lane.connection.source.isRest ? "no connection" : "?")}`,
            end.qp === undefined ? "" : ` QP ${view.qp(end.qp)}`,
            view.element("span", {class: "where"}, whereOf(end)))));
  }
  [place.a, place.b].forEach((x, at) => {
    const one = box.children[at];
    const half = Math.min(one.offsetWidth / 2, at === 0 ? x : place.width - x + 40);
    one.style.left = `${
        Math.round(
            at === 0 ? Math.max(4, x - half) :
                       Math.min(x - one.offsetWidth + half, place.width + 40 - one.offsetWidth))}px`;
  });
}

function whereOf(end) {
  const file = view.data.files[end.file];
  return file === undefined ? "not recorded" : `recorded: ${file.name}`;
}

function resize() {
  const box = view.byId("ladder");
  const ratio = window.devicePixelRatio || 1;
  width = box.clientWidth;
  height = box.clientHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  // A canvas of another size is black until something is drawn, and a screenshot may be of this frame.
  draw();
  view.tell("resize");
}

function distance(x, y, one) {
  const dx = one.x2 - one.x1, dy = one.y2 - one.y1;
  const part = Math.max(0, Math.min(1, ((x - one.x1) * dx + (y - one.y1) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - one.x1 - part * dx, y - one.y1 - part * dy);
}

// What is at this place of the ladder: {packet} or {note}, or undefined.
function hit(x, y) {
  for (const sign of drawn.signs) {
    const isOnWords =
        sign.words && Math.abs(y - sign.y) < 7 && x >= sign.words.x && x <= sign.words.x + sign.words.width;
    if (isOnWords || Math.hypot(x - sign.x, y - sign.y) < 8) return {note: sign.note};
  }
  let best, bestDistance = 7;
  for (const one of drawn.lines) {
    const away = distance(x, y, one) + (view.filter.isShown[one.at] ? 0 : 2);
    if (away < bestDistance) [best, bestDistance] = [one, away];
  }
  return best && {packet: best.packet};
}

// Where a packet's arrow is drawn, in pixels of the window, at this part of its length; for tests.
function whereIs(packet, part) {
  const one = drawn.lines.find((line) => line.packet === packet);
  if (one === undefined) return undefined;
  const box = canvas.getBoundingClientRect(), at = part === undefined ? 0.5 : part;
  return {x: box.left + one.x1 + (one.x2 - one.x1) * at, y: box.top + one.y1 + (one.y2 - one.y1) * at};
}

function timeAt(y) {
  return view.scale.timeOf(
      view.range.begin + ((y - top) / (height - top)) * (view.range.end - view.range.begin));
}

function start() {
  canvas = view.byId("ladder-canvas");
  pen = canvas.getContext("2d", {alpha: false});
  new ResizeObserver(view.oncePerFrame(resize)).observe(view.byId("ladder"));
  const later = view.oncePerFrame(draw);
  view.listen("connection range scale cursor select filter search theme resize", "ladder", later);
  resize();
}

view.ladder = {
  start,
  draw,
  paint,
  hit,
  whereIs,
  timeAt,
  height: () => height,
  width: () => width,
  drawn: () => drawn,
  firstDraw: () => firstDraw,
};
})(window.view);
