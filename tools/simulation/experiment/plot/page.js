// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

"use strict";
// One panel for each metric; all have the same time axis, zoom and cursor.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const PANELS = [
    ["queue_bytes", "Longest queue", "bytes; of a port and priority, in each interval"],
    ["rate_bps", "Allowed rate", "b/s; what the congestion controller of a connection allows"],
    ["window_bytes", "Allowed window", "bytes in flight; likewise"],
    ["goodput_bps", "Goodput", "b/s of payload that was acknowledged"],
    ["round_trip_us", "Round trip", "µs; the last one measured"],
    ["packets_in_flight", "In flight", "packets that are not acknowledged"],
    ["marks", "ECN marks", "packets marked in each interval"],
    ["cnps_sent", "CNPs sent", "in each interval"],
    ["cnps_handled", "CNPs obeyed", "in each interval"],
    ["paused_us", "Paused", "µs of each interval in which the port was not to send"],
    ["drops", "Drops", "packets in each interval"],
    ["retries", "Retries", "times that a connection sent again, in each interval"],
  ];
  const MOST_LINES = 12;
  // Okabe and Ito's colours, which people with any kind of colour vision can tell apart; then the same, dashed.
  const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
  const WIDTH = 1100, HEIGHT = 190, LEFT = 62, RIGHT = 24, TOP = 8, BOTTOM = 22;

  document.getElementById("title").textContent = document.title;
  document.getElementById("report").textContent = data.report;

  const end = Math.max(data.end_us, 1e-3);
  const x = d3.scaleLinear().domain([0, end]).range([LEFT, WIDTH - RIGHT]);
  const number = d3.format(".4~s");
  const panels = [];

  function valueAt(samples, time) {
    const next = d3.bisector((sample) => sample[0]).right(samples, time);
    return next === 0 ? 0 : samples[next - 1][1];
  }

  // What lies in the visible time, with the value at its left edge; of many samples in one pixel the extremes.
  function visible(samples) {
    const [from, to] = x.domain();
    const bisect = d3.bisector((sample) => sample[0]);
    const first = Math.max(0, bisect.right(samples, from) - 1), last = bisect.right(samples, to);
    const shown = samples.slice(first, last);
    if (shown.length > 0) shown.push([to, shown[shown.length - 1][1]]);
    if (shown.length < 4 * WIDTH) return shown;
    const kept = [];
    for (let i = 0; i < shown.length;) {
      const column = Math.floor(x(shown[i][0]));
      let lowest = i, highest = i, next = i;
      for (; next < shown.length && Math.floor(x(shown[next][0])) === column; ++next) {
        if (shown[next][1] < shown[lowest][1]) lowest = next;
        if (shown[next][1] > shown[highest][1]) highest = next;
      }
      for (const at of [...new Set([i, lowest, highest, next - 1])].sort((one, other) => one - other))
        kept.push(shown[at]);
      i = next;
    }
    return kept;
  }

  function makePanel([metric, title, unit]) {
    const all = data.series.filter((one) => one.metric === metric);
    if (all.length === 0) return;
    const byHighest =
        [...all].sort((a, b) => d3.max(b.samples, (s) => s[1]) - d3.max(a.samples, (s) => s[1]));
    const kept = new Set(byHighest.slice(0, MOST_LINES));
    const lines = all.filter((one) => kept.has(one)).map((one, i) => ({
                                                           ...one,
                                                           colour: COLOURS[i % COLOURS.length],
                                                           dash: i < COLOURS.length ? null : "5 3",
                                                           isShown: true,
                                                         }));
    const panel = d3.select("#panels").append("section").attr("class", "panel").attr("data-metric", metric);
    panel.append("h2").text(title);
    panel.append("p").attr("class", "unit").text(unit);
    const svg = panel.append("svg")
                    .attr("viewBox", `0 0 ${WIDTH} ${HEIGHT}`)
                    .attr("role", "img")
                    .attr("aria-label", title);
    const self = {
      lines,
      svg,
      y: d3.scaleLinear().range([HEIGHT - BOTTOM, TOP]),
      xAxis: svg.append("g").attr("class", "axis").attr("transform", `translate(0,${HEIGHT - BOTTOM})`),
      yAxis: svg.append("g").attr("class", "axis").attr("transform", `translate(${LEFT},0)`),
      cursor: svg.append("line")
                  .attr("class", "cursor")
                  .attr("y1", TOP)
                  .attr("y2", HEIGHT - BOTTOM)
                  .style("display", "none"),
      brush: svg.append("rect")
                 .attr("class", "brush")
                 .attr("y", TOP)
                 .attr("height", HEIGHT - TOP - BOTTOM)
                 .attr("width", 0),
    };
    svg.append("clipPath")
        .attr("id", `clip-${metric}`)
        .append("rect")
        .attr("x", LEFT)
        .attr("y", 0)
        .attr("width", WIDTH - LEFT - RIGHT)
        .attr("height", HEIGHT);
    self.paths = svg.append("g")
                     .attr("clip-path", `url(#clip-${metric})`)
                     .selectAll("path")
                     .data(lines)
                     .join("path")
                     .attr("class", "line")
                     .attr("stroke", (line) => line.colour)
                     .attr("stroke-dasharray", (line) => line.dash);
    const legend = panel.append("div").attr("class", "legend");
    self.names = legend.selectAll("button")
                     .data(lines)
                     .join("button")
                     .attr("type", "button")
                     .attr("aria-pressed", "true")
                     .on("click", function(line) {
                       line.isShown = !line.isShown;
                       d3.select(this).attr("aria-pressed", String(line.isShown));
                       draw(self);
                     });
    self.names.append("svg")
        .attr("width", 22)
        .attr("height", 8)
        .append("line")
        .attr("x2", 22)
        .attr("y1", 4)
        .attr("y2", 4)
        .attr("stroke", (line) => line.colour)
        .attr("stroke-width", 2)
        .attr("stroke-dasharray", (line) => line.dash);
    self.names.append("span").text((line) => line.of);
    self.values = self.names.append("span").attr("class", "value");
    if (all.length > lines.length) {
      panel.append("p")
          .attr("class", "more")
          .text(`${
              all.length -
              lines.length} more with lower peaks are not drawn; the file of --series has them.`);
    }
    listen(self);
    panels.push(self);
  }

  function draw(self) {
    const shown = self.lines.filter((line) => line.isShown).map((line) => visible(line.samples));
    self.y.domain([0, d3.max(shown, (samples) => d3.max(samples, (sample) => sample[1])) || 1]).nice(4);
    const path =
        d3.line().x((sample) => x(sample[0])).y((sample) => self.y(sample[1])).curve(d3.curveStepAfter);
    self.paths.attr("d", (line) => (line.isShown ? path(visible(line.samples)) : null));
    const unit = end >= 2e6 ? [1e6, "s"] : end >= 2e3 ? [1e3, "ms"] : [1, "µs"];
    self.xAxis.call(
        d3.axisBottom(x).ticks(8).tickFormat((time) => `${+ (time / unit[0]).toPrecision(6)} ${unit[1]}`));
    self.yAxis.call(d3.axisLeft(self.y).ticks(4).tickFormat(number));
  }

  const drawAll = () => panels.forEach(draw);
  function zoom(from, to) {
    x.domain([Math.max(0, from), Math.min(end, to)]);
    drawAll();
  }

  function showCursor(time) {
    for (const panel of panels) {
      panel.cursor.style("display", null).attr("x1", x(time)).attr("x2", x(time));
      panel.values.text((line) => number(valueAt(line.samples, time)));
    }
  }

  function listen(self) {
    const svg = self.svg;
    let from = null;
    const timeOf = () => Math.min(x.domain()[1], Math.max(x.domain()[0], x.invert(d3.mouse(svg.node())[0])));
    svg.on("mousedown",
           () => {
             from = timeOf();
             d3.event.preventDefault();
           })
        .on("mousemove",
            () => {
              const time = timeOf();
              showCursor(time);
              if (from !== null)
                self.brush.attr("x", x(Math.min(from, time))).attr("width", Math.abs(x(time) - x(from)));
            })
        .on("dblclick", () => zoom(0, end));
    d3.select(window).on(`mouseup.${svg.attr("aria-label").replace(/\s/g, "")}`, () => {
      if (from === null) return;
      const to = timeOf(), begun = from;
      from = null;
      self.brush.attr("width", 0);
      if (Math.abs(x(to) - x(begun)) > 4) zoom(Math.min(begun, to), Math.max(begun, to));
    });
  }

  PANELS.forEach(makePanel);
  d3.select(window).on("keydown", () => {
    if (d3.event.key === "Escape") zoom(0, end);
  });
  drawAll();
})();
