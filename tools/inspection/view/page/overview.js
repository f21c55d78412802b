// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The strip beside the ladder: all of the connection, with its trouble, and what part is on the screen.
(function(view) {
let canvas, pen, width = 0, height = 0, base;
// Each kind of trouble has a column of its own, in this order, and a form.
const columns = ["again", "nak", "rnr", "cnp", "lost"];

const y = (place) => ((place + edge()) / (view.scale.length + 2 * edge())) * height;
const placeAt = (pixel) => (pixel / height) * (view.scale.length + 2 * edge()) - edge();
const edge = () => Math.max(view.scale.length * 0.01, 5);

function columnsOf(packet) {
  const found = [];
  if (packet.is_repeated) found.push(0);
  const kind = columns.indexOf(packet.kind);
  if (kind > 0 && kind < 4) found.push(kind);
  if (packet.is_lost || packet.is_dropped || packet.bad_icrc) found.push(4);
  return found;
}

function drawBase() {
  const ratio = window.devicePixelRatio || 1;
  base = document.createElement("canvas");
  base.width = canvas.width;
  base.height = canvas.height;
  const ink = base.getContext("2d");
  ink.scale(ratio, ratio);
  ink.fillStyle = view.colour("panel");
  ink.fillRect(0, 0, width, height);
  const {lane, scale} = view;
  const bins = new Float64Array(Math.ceil(height / 2) + 1);
  for (let at = 0; at < lane.size; ++at)
    bins[Math.max(0, Math.min(bins.length - 1, Math.floor(y(scale.placeOf(lane.begin[at])) / 2)))]++;
  const most = d3.max(bins) || 1;
  ink.fillStyle = view.colour("density");
  bins.forEach((number, at) => {
    if (number) ink.fillRect(0, at * 2, 3 + (width - 3) * Math.sqrt(number / most) * 0.55, 2);
  });
  const step = (width - 8) / columns.length;
  for (let at = 0; at < lane.size; ++at) {
    if (!view.filter.isShown[at]) continue;
    const packet = view.data.packets[lane.packet[at]];
    const found = columnsOf(packet), isMatch = view.search.matches.has(lane.packet[at]);
    if (found.length === 0 && !isMatch) continue;
    const middle = y(scale.placeOf(lane.begin[at]));
    for (const column of found) {
      ink.fillStyle = view.colour(columns[column]);
      ink.fillRect(5 + column * step, middle - 1.5, step - 1, 3);
    }
    if (isMatch) {
      ink.fillStyle = view.colour("match-edge");
      ink.fillRect(0, middle - 1, 5, 2);
    }
  }
}

function draw() {
  if (!view.lane || height === 0) return;
  if (base === undefined) drawBase();
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.drawImage(base, 0, 0);
  const ratio = window.devicePixelRatio || 1;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  const from = y(view.range.begin), to = Math.max(y(view.range.end), from + 4);
  pen.fillStyle = view.colour("window");
  pen.fillRect(0, from, width, to - from);
  pen.strokeStyle = view.colour("window-edge");
  pen.lineWidth = 1.5;
  pen.strokeRect(0.75, from, width - 1.5, to - from);
  if (view.cursor === undefined) return;
  pen.fillStyle = view.colour("cursor");
  pen.fillRect(0, y(view.scale.placeOf(view.cursor)) - 0.75, width, 1.5);
}

function resize() {
  const ratio = window.devicePixelRatio || 1;
  width = canvas.clientWidth;
  height = canvas.clientHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  base = undefined;
}

function goTo(event) {
  if (event.buttons !== 1) return;
  const place = placeAt(event.clientY - canvas.getBoundingClientRect().top);
  const half = (view.range.end - view.range.begin) / 2;
  view.range.set(place - half, place + half);
}

function start() {
  canvas = view.byId("overview");
  pen = canvas.getContext("2d");
  resize();
  const later = view.oncePerFrame(draw);
  const anew = () => {
    base = undefined;
    later();
  };
  view.listen("connection scale filter search theme", "overview", anew);
  view.listen("range cursor", "overview", later);
  view.listen("resize", "overview", () => {
    resize();
    later();
  });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    goTo(event);
  });
  canvas.addEventListener("pointermove", goTo);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    view.range.scroll(event.deltaY / 400);
  }, {passive: false});
}

view.overview = {start};
})(window.view);
