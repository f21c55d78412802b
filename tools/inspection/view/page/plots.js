// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// In flight, goodput, round trip and rate over the time that the ladder shows, or over all of it.
(function(view) {
const {element} = view;
const left = 54, right = 8, top = 18;
const barWidth = 5;  // pixels in which rates are measured
const plots = {
  isOpen: true,
  isWhole: false,
  toggle,
  toggleWhole,
  start,
  drawn: {}
};
let cells = [];

const bits = (value) => (value === 0 ? "0" : `${d3.format(".3~s")(value)}bit/s`);
const si = (value) => (value === 0 ? "0" : d3.format(".2~s")(value));
const kinds = [
  {name: "flight", title: "packets in flight", format: si, points: flightPoints},
  {
    name: "goodput",
    title: "goodput",
    format: bits,
    points: (series, end, x) => rates(series, end, x, (sums, a, b) => 8 * (sums.bytes[b] - sums.bytes[a]))
  },
  {
    name: "trip",
    title: "round trip time",
    format: (value) => (value === 0 ? "0" : view.time.duration(value)),
    points: tripPoints,
    isDots: true
  },
  {
    name: "rate",
    title: "packets per second",
    format: si,
    points: (series, end, x) => rates(series, end, x, (sums, a, b) => b - a)
  },
];

// The highest in each pixel column, as steps.
function flightPoints(series, end, x) {
  const {times, values} = series.flight[end];
  const [begin, finish] = x.times;
  let at = Math.max(0, d3.bisectRight(times, begin) - 1);
  const points = [];
  let column = -1;
  for (; at < times.length && times[at] <= finish; ++at) {
    const pixel = Math.max(x.left, x.of(times[at]));
    if (Math.floor(pixel) === column) {
      const last = points[points.length - 1];
      last.most = Math.max(last.most, values[at]);
      last.value = values[at];
    } else {
      points.push({x: pixel, most: values[at], value: values[at]});
      column = Math.floor(pixel);
    }
  }
  if (points.length)
    points.push({x: x.right, most: points[points.length - 1].value, value: points[points.length - 1].value});
  return points.map((point) => [point.x, point.most]);
}

function rates(series, end, x, take) {
  const sums = series.sums[end], points = [];
  if (sums.times.length === 0) return points;
  for (let pixel = x.left; pixel < x.right; pixel += barWidth) {
    const begin = x.timeOf(pixel), finish = x.timeOf(Math.min(x.right, pixel + barWidth));
    const seconds = (finish - begin) / 1e9;
    const value = seconds > 0 ?
        take(sums, d3.bisectLeft(sums.times, begin), d3.bisectLeft(sums.times, finish)) / seconds :
        0;
    points.push([pixel, value], [pixel + barWidth, value]);
  }
  return points;
}

function tripPoints(series, end, x) {
  const {times, values, ends} = series.trips;
  const points = [], taken = new Set();
  for (let at = d3.bisectLeft(times, x.times[0]); at < times.length && times[at] <= x.times[1]; ++at) {
    if (ends[at] !== end) continue;
    const pixel = x.of(times[at]), key = `${Math.round(pixel)} ${Math.round(Math.log2(values[at] + 1) * 12)}`;
    if (taken.has(key)) continue;
    taken.add(key);
    points.push([pixel, values[at]]);
  }
  return points;
}

// Small windows have low plots, and times only below the last row of them.
const heightOf = () => (window.innerHeight < 800 ? 40 : window.innerHeight < 960 ? 58 : 80);
const isLastRow = (parts) => cells.every((other) => other.cell.offsetTop <= parts.cell.offsetTop);

// Time to pixels, along the axis of the ladder.
function axisOf(width) {
  const {scale} = view;
  const [begin, end] = plots.isWhole ? [0, Math.max(scale.length, 1)] : [view.range.begin, view.range.end];
  const inner = width - left - right;
  return {
    left,
    right: width - right,
    times: [scale.timeOf(begin), scale.timeOf(end)],
    begin,
    end,
    of: (time) => left + ((scale.placeOf(time) - begin) / (end - begin)) * inner,
    ofPlace: (place) => left + ((place - begin) / (end - begin)) * inner,
    timeOf: (pixel) => scale.timeOf(begin + ((pixel - left) / inner) * (end - begin)),
  };
}

function make(kind) {
  const svg = d3.create("svg").attr("role", "img").attr("class", `plot ${kind.name}`);
  const parts = {kind, svg};
  parts.window = svg.append("rect").attr("class", "window");
  parts.grid = svg.append("g").attr("class", "grid");
  parts.time = svg.append("g").attr("class", "time");
  parts.lines = [0, 1].map(
      (end) => svg.append("path").attr("class", `line end-${"ab"[end]}${kind.isDots ? " dots" : ""}`));
  parts.cursor = svg.append("line").attr("class", "cursor");
  parts.title = svg.append("text").attr("class", "title").attr("x", left).attr("y", 12);
  svg.on("click", () => view.select.setCursor(axisOf(parts.width).timeOf(d3.mouse(svg.node())[0])));
  parts.cell = element("div", {class: "cell"});
  parts.cell.append(svg.node());
  return parts;
}

function drawOne(parts) {
  const {kind, svg} = parts;
  const width = parts.width = parts.cell.clientWidth;
  const high = parts.high = heightOf();
  parts.hasTimes = isLastRow(parts);
  const height = high + top + (parts.hasTimes ? 18 : 7);
  svg.attr("viewBox", `0 0 ${width} ${height}`).attr("height", height);
  const x = axisOf(width), series = view.seriesOf(view.chosen);
  const both = [0, 1].map((end) => kind.points(series, end, x));
  const most = d3.max(both.flat(), (point) => point[1]) || 0;
  plots.drawn[kind.name] = both.map((points) => points.length);
  const y = d3.scaleLinear([0, most || 1], [top + high, top]).nice(2);
  const draw = kind.isDots ?
      (points) => points.map(([px, value]) => `M${px.toFixed(1)} ${y(value).toFixed(1)}h0`).join("") :
      d3.line()
          .x((point) => point[0])
          .y((point) => y(point[1]))
          .curve(kind.name === "flight" ? d3.curveStepAfter : d3.curveLinear);
  parts.lines.forEach((path, end) => path.attr("d", draw(both[end]) || ""));
  parts.title.text(
      kind.title +
      (kind.name === "flight" && !series.flight.some((one) => one.isNoted) ? " (by packets)" : "") +
      (most ? "" : ": nothing to show"));
  svg.attr("aria-label", `${kind.title}: at most ${kind.format(most)}`);
  drawAxes(parts, x, y, width);
  drawWindow(parts, x);
}

function drawAxes(parts, x, y, width) {
  const {high} = parts;
  const ticks =
      y.ticks(parts.high < 50 ? 2 : 3)
          .filter(
              (value) => y(value) >= top - 1 && (parts.kind.name !== "flight" || Number.isInteger(value)));
  parts.grid.selectAll("line")
      .data(ticks)
      .join("line")
      .attr("x1", left)
      .attr("x2", width - right)
      .attr("y1", y)
      .attr("y2", y);
  parts.grid.selectAll("text")
      .data(ticks)
      .join("text")
      .attr("x", left - 6)
      .attr("y", y)
      .attr("dy", "0.32em")
      .text(parts.kind.format);
  const many = Math.max(2, Math.floor((width - left) / 130));
  const pixels =
      !parts.hasTimes ? [] : d3.range(many).map((at) => left + ((at + 0.5) / many) * (width - left - right));
  const step = Math.max(1, d3.tickStep(x.begin, x.end, many * 10));
  parts.time.selectAll("text")
      .data(pixels)
      .join("text")
      .attr("x", (pixel) => pixel)
      .attr("y", top + high + 13)
      .text((pixel) => view.time.tick(x.timeOf(pixel), step));
  parts.time.selectAll("line")
      .data(pixels)
      .join("line")
      .attr("x1", (pixel) => pixel)
      .attr("x2", (pixel) => pixel)
      .attr("y1", top + high)
      .attr("y2", top + high + 4);
}

function drawWindow(parts, x) {
  const from = Math.max(x.left, x.ofPlace(view.range.begin)),
        to = Math.min(x.right, x.ofPlace(view.range.end));
  parts.window.attr("x", from)
      .attr("y", top)
      .attr("width", Math.max(2, to - from))
      .attr("height", parts.high)
      .style("display", plots.isWhole ? null : "none");
  drawCursor(parts, x);
}

function drawCursor(parts, x) {
  const at = view.cursor === undefined ? -1 : x.of(view.cursor);
  const isIn = at >= x.left && at <= x.right;
  parts.cursor.attr("x1", at)
      .attr("x2", at)
      .attr("y1", top)
      .attr("y2", top + parts.high)
      .style("display", isIn ? null : "none");
}

function draw() {
  if (!view.lane || !plots.isOpen) return;
  for (const parts of cells) drawOne(parts);
}

function drawCursors() {
  if (!view.lane || !plots.isOpen) return;
  for (const parts of cells)
    if (parts.width) drawCursor(parts, axisOf(parts.width));
}

function drawBox() {
  const box = view.byId("plots");
  cells = plots.isOpen ? kinds.map(make) : [];
  const key = (end) => element(
      "span", {class: `key end-${"ab"[end]}`}, element("span", {class: "stroke"}),
      end === 0 ? "A sends" : "B sends");
  box.replaceChildren(
      element(
          "div", {class: "bar"},
          element(
              "button", {
                type: "button",
                class: "small",
                id: "plots-toggle",
                "aria-expanded": String(plots.isOpen),
                title: "Plots (p)",
                onclick: toggle
              },
              plots.isOpen ? "▾ Plots" : "▸ Plots"),
          plots.isOpen ? element(
                             "button", {
                               type: "button",
                               class: "small",
                               "aria-pressed": String(plots.isWhole),
                               title: "All of the connection, or what the ladder shows (o)",
                               onclick: toggleWhole
                             },
                             "whole connection") :
                         "",
          plots.isOpen ? key(0) : "", plots.isOpen ? key(1) : ""),
      element("div", {class: "cells"}, ...cells.map((parts) => parts.cell)));
  draw();
}

function toggle() {
  plots.isOpen = !plots.isOpen;
  drawBox();
}

function toggleWhole() {
  plots.isWhole = !plots.isWhole;
  drawBox();
}

function start() {
  // Where plots take long, they wait until the ladder stands still.
  let timer, took = 0;
  const timed = () => {
    const begin = performance.now();
    draw();
    took = performance.now() - begin;
  };
  const perFrame = view.oncePerFrame(timed);
  const later = () => {
    clearTimeout(timer);
    if (took < 6) return perFrame();
    timer = setTimeout(timed, 120);
  };
  view.listen("connection scale resize range filter", "plots", later);
  view.listen("cursor", "plots", view.oncePerFrame(drawCursors));
  drawBox();
}

view.plots = plots;
})(window.view);
