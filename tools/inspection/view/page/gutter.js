// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The time axis of the ladder: ticks with times, lines across, and marks where a pause is cut.
(function(view) {
const room = 62;  // pixels between ticks

// A round step: 1, 2 or 5 times a power of ten nanoseconds.
function stepFor(span, pixels) {
  return Math.max(1, d3.tickStep(0, span, Math.max(1, pixels / room)));
}

function ticksOf(place) {
  const {scale, range} = view;
  const step = stepFor(range.end - range.begin, place.height - place.top);
  const found = [];
  for (const span of scale.spansIn(range.begin, range.end)) {
    const isLast = span === scale.spans[scale.spans.length - 1], isFirst = span === scale.spans[0];
    const begin = Math.max(isFirst ? -Infinity : span.begin, scale.timeOf(range.begin));
    const end = Math.min(isLast ? Infinity : span.end, scale.timeOf(range.end));
    if (end - begin > step * 400) continue;
    for (let time = Math.ceil(begin / step) * step; time <= end; time += step)
      found.push({time, y: place.y(time)});
    // After a pause, the time of the first thing is shown even where no tick is.
    if (!isFirst && span.begin >= begin)
      found.push({time: span.begin, y: place.y(span.begin), isBegin: true});
  }
  // The begin of a stretch is worth more than a round number beside it.
  found.sort((a, b) => (b.isBegin ? 1 : 0) - (a.isBegin ? 1 : 0) || a.y - b.y);
  const kept = [];
  for (const tick of found) {
    if (kept.every((other) => Math.abs(other.y - tick.y) >= 20)) kept.push(tick);
  }
  return {step, ticks: kept};
}

function drawTicks(pen, place) {
  const {step, ticks} = ticksOf(place);
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  pen.lineWidth = 1;
  pen.setLineDash([]);
  for (const {time, y, isBegin} of ticks) {
    const line = Math.round(y) + 0.5;
    pen.strokeStyle = view.colour("grid");
    pen.beginPath();
    pen.moveTo(place.gutter - 4, line);
    pen.lineTo(place.width, line);
    pen.stroke();
    pen.fillStyle = view.colour("quiet");
    pen.fillText(
        isBegin ? view.time.tick(time, Math.min(step, 100)) : view.time.tick(time, step), place.gutter - 8,
        y);
  }
}

// A band with wavy edges, and how long the pause is.
function drawPauses(pen, place) {
  const {scale, range} = view;
  if (!scale.pause) return;
  const spans = scale.spansIn(range.begin, range.end);
  const height = (scale.pause / (range.end - range.begin)) * (place.height - place.top);
  if (height < 3) return;
  spans.forEach((span) => {
    const {next} = span;
    if (next === undefined) return;
    const top = place.y(span.end), bottom = place.y(next.begin);
    if (bottom < place.top || top > place.height) return;
    const middle = (top + bottom) / 2, half = Math.min(8, height * 0.3);
    pen.fillStyle = view.colour("pause");
    pen.strokeStyle = view.colour("pause-edge");
    pen.lineWidth = 1;
    pen.setLineDash([]);
    wave(pen, place, middle - half, middle + half);
    if (height >= 12)
      place.pauses.push({y: middle, words: `${view.time.duration(next.begin - span.end)} idle`});
  });
}

// How long the pauses are: where labels leave room.
function drawPauseWords(pen, place) {
  pen.font = "italic 11px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (const {y, words} of place.pauses) {
    const half = pen.measureText(words).width / 2 + 3;
    const isFree = (x) => place.taken.every(
        (other) =>
            x + half < other.left || x - half > other.right || y + 5 < other.top || y - 5 > other.bottom);
    const part =
        [0.5, 0.6, 0.4, 0.7, 0.3, 0.8, 0.2].find((one) => isFree(place.a + one * (place.b - place.a)));
    if (part === undefined) continue;
    const x = place.a + part * (place.b - place.a);
    pen.lineWidth = 3;
    pen.lineJoin = "round";
    pen.strokeStyle = view.colour("pause");
    pen.strokeText(words, x, y);
    pen.fillStyle = view.colour("quiet");
    pen.fillText(words, x, y);
  }
}

function wave(pen, place, top, bottom) {
  const left = place.gutter, right = place.width, step = 8;
  const y = (x, base) => base + (Math.round((x - left) / step) % 2 ? 2 : -2);
  pen.beginPath();
  for (let x = left; x <= right; x += step) pen.lineTo(x, y(x, top));
  pen.lineTo(right, bottom);
  for (let x = left + Math.floor((right - left) / step) * step; x >= left; x -= step)
    pen.lineTo(x, y(x, bottom));
  pen.closePath();
  pen.fill();
  pen.stroke();
}

view.gutter = {
  drawTicks,
  drawPauses,
  drawPauseWords
};
})(window.view);
