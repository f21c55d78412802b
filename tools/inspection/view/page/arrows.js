// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Draws the packets of the ladder.
(function(view) {
const manyArrows = 260;  // from here on thin lines without labels
const grey = 0.16;

// Where the arrow of one packet begins and ends on the screen.
function line(lane, at, place) {
  const isFromA = lane.from[at] === 0;
  const made = {
    at,
    packet: lane.packet[at],
    style: view.marks.looks[lane.look[at]],
    x1: isFromA ? place.a : place.b,
    y1: place.y(lane.sent[at]),
    x2: isFromA ? place.b : place.a,
    y2: place.y(lane.received[at]),
  };
  if (made.style.end === "lost") {
    made.x2 = (made.x1 + made.x2) / 2;
    made.y2 = (made.y1 + made.y2) / 2;
  }
  return made;
}

// All that are visible. Of very many, one for each pixel and look: the others lie below it.
function visible(place) {
  const {lane, filter} = view;
  const [begin, end] = view.range.times();
  const [first, last] = view.between(lane, begin, end);
  const isMany = last - first > 1500;
  const taken = new Set();
  const lines = [];
  for (let at = first; at < last; ++at) {
    if (lane.end[at] < begin || (filter.isHiding && !filter.isShown[at])) continue;
    if (isMany) {
      const key = ((Math.round(place.y(lane.sent[at])) * 2 + lane.from[at]) * 2 + filter.isShown[at]) * 256 +
          lane.look[at];
      if (taken.has(key)) continue;
      taken.add(key);
    }
    lines.push(line(lane, at, place));
  }
  lines.all = last - first;
  return lines;
}

// Thin lines: one path for each colour.
function drawThin(pen, lines) {
  const paths = new Map();
  for (const one of lines) {
    const isShown = view.filter.isShown[one.at], key = one.style.colour + isShown;
    if (!paths.has(key)) paths.set(key, {path: new Path2D(), style: one.style, isShown});
    const {path} = paths.get(key);
    path.moveTo(one.x1, one.y1);
    path.lineTo(one.x2, one.y2);
  }
  pen.setLineDash([]);
  for (const {path, style, isShown} of [...paths.values()].sort(
           (a, b) => a.style.isTrouble - b.style.isTrouble)) {
    pen.globalAlpha = isShown ? (style.isTrouble ? 1 : 0.55) : grey * 0.6;
    pen.lineWidth = style.isTrouble ? 1.4 : 0.7;
    pen.strokeStyle = view.colour(style.colour);
    pen.stroke(path);
  }
  pen.globalAlpha = 1;
  // Trouble keeps its sign, one for some pixels.
  let lastY = -Infinity;
  for (const one of lines) {
    if ((!one.style.sign && one.style.end === "arrow") || !view.filter.isShown[one.at] || one.y1 - lastY < 15)
      continue;
    lastY = one.y1;
    drawEnd(pen, one, one.style, 1);
  }
}

// Near the receiver: the label stands near the sender.
function signPlace(one) {
  const part = one.style.end === "lost" ? 0.55 : 0.87;
  return {x: one.x1 + (one.x2 - one.x1) * part, y: one.y1 + (one.y2 - one.y1) * part};
}

function drawEnd(pen, one, style, sizeOfHead) {
  const angle = Math.atan2(one.y2 - one.y1, one.x2 - one.x1);
  const colour = view.colour(style.colour);
  if (style.end === "lost")
    view.marks.cross(pen, one.x2, one.y2, 6, view.colour("lost"));
  else if (style.end === "dropped")
    view.marks.ring(pen, one.x2 - 7 * Math.cos(angle), one.y2 - 7 * Math.sin(angle), view.colour("lost"));
  else if (sizeOfHead > 1)
    view.marks.head(pen, one.x2, one.y2, angle, colour, style.colour === "ack");
  if (!style.sign) return;
  const {x, y} = signPlace(one);
  view.marks.sign(pen, style.sign, x, y, colour);
}

function drawLine(pen, one, style, width) {
  pen.beginPath();
  pen.setLineDash(style.dash);
  pen.lineWidth = width;
  pen.strokeStyle = view.colour(style.colour);
  pen.moveTo(one.x1, one.y1);
  pen.lineTo(one.x2, one.y2);
  pen.stroke();
  pen.setLineDash([]);
}

function halo(pen, one, colour, width) {
  pen.beginPath();
  pen.setLineDash([]);
  pen.lineCap = "round";
  pen.lineWidth = width;
  pen.strokeStyle = view.colour(colour);
  pen.moveTo(one.x1, one.y1);
  pen.lineTo(one.x2, one.y2);
  pen.stroke();
  pen.lineCap = "butt";
}

// The boxes that words beside the line fill, from and to along it: short ones, because a long one that
// leans is mostly empty.
function boxesOf(one, angle, from, to, beside) {
  const pieces = Math.max(1, Math.ceil((Math.abs(to - from) * Math.abs(Math.sin(angle))) / 4));
  return d3.range(pieces).map(
      (at) => boxOf(
          one, angle, from + ((to - from) * at) / pieces, from + ((to - from) * (at + 1)) / pieces, beside));
}

function boxOf(one, angle, from, to, beside) {
  const along = Math.cos(angle), side = Math.sin(angle);
  const x = [from, to].map((at) => one.x1 + at * along - beside * side),
        y = [from, to].map((at) => one.y1 + at * side + beside * along);
  return {left: Math.min(...x), right: Math.max(...x), top: Math.min(...y) - 5, bottom: Math.max(...y) + 5};
}

const areFree = (boxes, taken) => boxes.every(
    (box) => taken.every(
        (other) => box.left >= other.right || box.right <= other.left || box.top >= other.bottom ||
            box.bottom <= other.top));

// The words of a label, what matters most first: text, font, colour.
function labelOf(packet, isStrong) {
  const family = "system-ui, sans-serif";
  const flags = view.words.flags(packet).map((word) => (word === "dropped" ? droppedWords(packet) : word));
  const findings = view.list(packet.findings).map((index) => view.data.findings[index]).filter(Boolean);
  return [
    [packet.label || packet.kind, `${isStrong ? "bold" : "600"} 11.5px ${family}`, "ink"],
    ...flags.map((text) => [text, `bold 11px ${family}`, text === "again" ? "again-ink" : "lost-ink"]),
    [view.isNumber(packet.psn) ? `PSN ${packet.psn}` : "", `11px ${family}`, "ink"],
    [findings.length ? view.findingSign(findings) : "", `bold 11px ${family}`, "finding"],
    [packet.payload ? view.bytes(packet.payload) : "", `11px ${family}`, "quiet"]
  ].filter(([text]) => text);
}

// Stands beside the line, near the sender, and leans as the line does unless that is too steep. Answers
// have it below: what they answer comes in above.
function drawLabel(pen, place, one, isStrong) {
  const packet = view.data.packets[one.packet];
  const isRight = one.x2 > one.x1, towards = isRight ? 1 : -1;
  let angle = Math.atan2(one.y2 - one.y1, one.x2 - one.x1);
  if (!isRight) angle -= Math.PI;
  if (angle < -Math.PI) angle += 2 * Math.PI;
  if (Math.abs(angle) > 0.9) return;
  const isBelow = ["ack", "nak", "rnr"].includes(packet.kind);
  const raise = packet.is_lost ? 4 : 0;  // above its cross
  // The line of a lost one is half as long.
  const room = Math.hypot(one.x2 - one.x1, one.y2 - one.y1) * (packet.is_lost ? 2 : 1) - 26;
  const words = [];
  let total = 0, boxes;
  for (const [text, font, colour] of labelOf(packet, isStrong)) {
    pen.font = font;
    const width = pen.measureText(text).width;
    const wanted =
        boxesOf(one, angle, 12 * towards, (12 + total + width) * towards, isBelow ? 8 + raise : -8 - raise);
    if (total + width > room || !areFree(wanted, place.taken)) break;
    words.push({text, font, colour, x: total});
    total += width + 7;
    boxes = wanted;
  }
  if (words.length === 0) return;
  place.taken.push(...boxes);
  pen.save();
  pen.translate(one.x1, one.y1);
  pen.rotate(angle);
  pen.textAlign = "left";
  pen.textBaseline = "alphabetic";
  pen.lineWidth = 3.5;
  pen.lineJoin = "round";
  pen.strokeStyle = view.colour("paper");
  const begin = isRight ? 12 : -12 - (total - 7), y = isBelow ? 12.5 + raise : -4 - raise;
  for (const {text, font, x} of words) {
    pen.font = font;
    pen.strokeText(text, begin + x, y);
  }
  for (const {text, font, colour, x} of words) {
    pen.font = font;
    pen.fillStyle = view.colour(colour);
    pen.fillText(text, begin + x, y);
  }
  pen.restore();
}

const droppedWords =
    (packet) => ["dropped", ...view.words.comments(packet).filter((text) => /^rx_/.test(text))].join(": ");

const severitySigns = {
  violation: "⚠",
  unknown: "?",
  habit: "◇",
  event: "ℹ"
};
view.severitySign = (severity) => severitySigns[severity] || "?";
view.findingSign = function(findings) {
  const worst = d3.min(findings, (finding) => view.words.severities.indexOf(view.words.severityOf(finding)));
  return view.severitySign(view.words.severities[worst]);
};

// Draws all of them and tells how: {lines, isThin}.
function draw(pen, place) {
  const lines = visible(place);
  const isThin = lines.all > manyArrows || lines.all > (place.height - place.top) / 4;
  const selected = view.selected && view.selected.packet;
  const related = view.select.related(), matches = view.search.matches;
  for (const one of lines) {
    if (one.packet === selected)
      halo(pen, one, "chosen", 11);
    else if (related.has(one.packet))
      halo(pen, one, "related", 9);
    else if (!isThin && matches.has(one.packet))
      halo(pen, one, "match", 7);
  }
  if (isThin) {
    drawThin(pen, lines);
    const chosen = lines.find((one) => one.packet === selected);
    if (chosen) drawAll(pen, place, [chosen], selected);
  } else
    drawAll(pen, place, lines, selected);
  return {lines, isThin};
}

function drawAll(pen, place, lines, selected) {
  for (const one of lines) {
    const {style} = one;
    pen.globalAlpha = view.filter.isShown[one.at] ? 1 : grey;
    drawLine(pen, one, style, one.packet === selected ? style.width + 1.4 : style.width);
    drawEnd(pen, one, style, 2);
  }
  pen.globalAlpha = 1;
  // No word stands on a sign. What is greyed out has no label.
  for (const one of lines) {
    const {style} = one;
    if (style.end !== "arrow")
      place.taken.push({left: one.x2 - 7, right: one.x2 + 7, top: one.y2 - 7, bottom: one.y2 + 7});
    if (!style.sign) continue;
    const {x, y} = signPlace(one);
    place.taken.push({left: x - 9, right: x + 9, top: y - 9, bottom: y + 9});
  }
  // Where room is short, the selected one has its label first, then trouble.
  const isTrouble = (one) => view.words.isTrouble(view.data.packets[one.packet]);
  const chosen = lines.find((one) => one.packet === selected);
  if (chosen) drawLabel(pen, place, chosen, true);
  const shown = lines.filter((one) => one !== chosen && view.filter.isShown[one.at]);
  for (const one of shown.filter(isTrouble)) drawLabel(pen, place, one, false);
  for (const one of shown.filter((other) => !isTrouble(other))) drawLabel(pen, place, one, false);
}

view.arrows = {
  draw,
  line
};
})(window.view);
