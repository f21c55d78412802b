// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Draws the notes of both ends outside of the life lines: a sign at its time, and words where there is room.
(function(view) {
const lineHeight = 13;

const rank = {
  failed: 0,
  clock: 0,
  refused: 0,
  change: 1,
  done: 2,
  send: 2,
  receive: 3,
  other: 3,
  dot: 9
};

const manySigns = 400;  // from here on a thin mark for all but trouble

function visible(place) {
  const {lane, filter} = view;
  const [begin, end] = view.range.times();
  const first = d3.bisectLeft(lane.noteTime, begin), last = d3.bisectRight(lane.noteTime, end);
  const signs = [], taken = new Set();
  if (filter.hidesNotes) return signs;
  for (let at = first; at < last; ++at) {
    const y = place.y(lane.noteTime[at]), side = lane.noteEnd[at];
    const pixel = ((Math.round(y / 2) + 9) * 2 + side) * 16 + lane.noteSign[at];
    const isDouble = taken.has(pixel);
    // Of very many, one for each place.
    if (isDouble && last - first > manySigns) continue;
    const isShown = filter.isNoteShown(view.data.notes[lane.note[at]]);
    if (!isShown && filter.isHiding) continue;
    taken.add(pixel);
    const name = view.marks.noteSigns[lane.noteSign[at]];
    const isThin = last - first > manySigns && !["failed", "clock", "refused", "change"].includes(name);
    signs.push(
        {note: lane.note[at], name, end: side, y, isShown, isDouble, isThin, x: place.noteX(side, name)});
  }
  return signs;
}

function shorten(pen, note, room) {
  const long = view.words.noteWords(note);
  if (pen.measureText(long).width <= room) return long;
  const text = view.words.noteWords(note, true);
  if (pen.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > room) --length;
  return `${text.slice(0, length)}…`;
}

// Words of what matters most come first; the others where they are free. "+3": so many of the kind have no
// words of their own.
function placeWords(signs) {
  const placed = [];
  const free = (sign) => placed.every((other) => Math.abs(other.y - sign.y) >= lineHeight);
  const sorted = signs.filter((sign) => sign.name !== "dot" && sign.isShown && !sign.isThin)
                     .sort((a, b) => rank[a.name] - rank[b.name] || a.y - b.y);
  for (const sign of sorted) {
    sign.more = 0;
    if (free(sign))
      placed.push(sign);
    else {
      const beside =
          placed.find((other) => other.name === sign.name && Math.abs(other.y - sign.y) < lineHeight);
      if (beside) ++beside.more;
    }
  }
  return placed;
}

function drawWords(pen, place, end, signs) {
  const room = place.noteWidth[end] - 30;
  if (room < 30) return;
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = end === 0 ? "right" : "left";
  pen.textBaseline = "middle";
  for (const sign of placeWords(signs)) {
    const more = sign.more ? ` +${sign.more}` : "";
    const isTrouble = ["failed", "clock", "refused"].includes(sign.name);
    pen.font = `${isTrouble ? "bold " : ""}11px system-ui, sans-serif`;
    const text = shorten(pen, view.data.notes[sign.note], room - pen.measureText(more).width) + more;
    pen.fillStyle = view.colour(isTrouble ? "lost-ink" : "note-ink");
    const x = place.wordsX(end);
    pen.fillText(text, x, sign.y + 0.5);
    sign.words = {x: end === 0 ? x - pen.measureText(text).width : x, width: pen.measureText(text).width};
  }
}

function draw(pen, place) {
  const signs = visible(place);
  const selected = view.selected && view.selected.note;
  for (const sign of signs) {
    if (sign.note === selected || view.search.noteMatches.has(sign.note)) {
      pen.beginPath();
      pen.arc(sign.x, sign.y, 9, 0, 2 * Math.PI);
      pen.fillStyle = view.colour(sign.note === selected ? "chosen" : "match");
      pen.fill();
    } else if (sign.isDouble)
      continue;
    pen.globalAlpha = sign.isShown ? 1 : 0.2;
    if (sign.isThin) {
      pen.fillStyle = view.colour("life");
      pen.fillRect(sign.x - 3, sign.y - 0.5, 6, 1);
      continue;
    }
    view.marks.note(pen, sign.name, sign.x, sign.y, sign.end === 0 ? 1 : -1);
  }
  pen.globalAlpha = 1;
  for (const end of [0, 1]) drawWords(pen, place, end, signs.filter((sign) => sign.end === end));
  return signs;
}

view.notes = {draw};
})(window.view);
