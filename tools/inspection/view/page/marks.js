// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Signs for packets and notes. Each has a form of its own beside its colour, so that no reader has to tell
// colours apart.
(function(view) {
// How a packet is drawn: a colour of page.css, a dash, a width, a sign in a frame, and how its arrow ends.
function styleOf(packet) {
  const kind = view.words.kindOf(packet);
  const style = {colour: kind, dash: [], width: 1.6, sign: "", end: "arrow"};
  if (kind === "ack") style.width = 1.1;
  if (kind === "nak") Object.assign(style, {width: 2.2, sign: "N"});
  if (kind === "rnr") Object.assign(style, {width: 2.2, sign: "R"});
  if (kind === "cnp") Object.assign(style, {width: 2.2, sign: "C", dash: [2, 3]});
  if (kind === "cm") Object.assign(style, {sign: "M"});
  if (packet.is_repeated) {
    if (!["nak", "rnr", "cnp"].includes(kind)) style.colour = "again";
    style.dash = [7, 4];
    style.width = 2;
  }
  if (packet.bad_icrc) style.sign = "!";
  if (packet.is_dropped) style.end = "dropped";
  if (packet.is_lost) style.end = "lost";
  return style;
}

// Few looks, many packets: each look is one object, with a number.
const looks = [], lookNumbers = new Map();
function lookOf(packet) {
  const style = styleOf(packet),
        key = `${style.colour} ${style.end} ${style.sign} ${style.dash.length} ${style.width}`;
  if (!lookNumbers.has(key)) {
    lookNumbers.set(key, looks.length);
    style.isTrouble =
        style.end !== "arrow" || style.sign === "!" || ["again", "nak", "rnr", "cnp"].includes(style.colour);
    looks.push(style);
  }
  return lookNumbers.get(key);
}

function polygon(pen, points) {
  pen.beginPath();
  points.forEach(([x, y], at) => (at === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y)));
  pen.closePath();
}

const around = (x, y, size, corners, turn) => d3.range(corners).map((at) => {
  const angle = ((at + turn) / corners) * 2 * Math.PI - Math.PI / 2;
  return [x + size * Math.cos(angle), y + size * Math.sin(angle)];
});

// The frames of the letters: NAK a diamond, RNR a triangle, CNP a circle, CM a square, a wrong ICRC a
// hexagon.
function frame(pen, sign, x, y) {
  pen.beginPath();
  if (sign === "N")
    polygon(pen, around(x, y, 10, 4, 0));
  else if (sign === "R")
    polygon(pen, around(x, y + 1.5, 11, 3, 0));
  else if (sign === "M")
    polygon(pen, around(x, y, 10, 4, 0.5));
  else if (sign === "!")
    polygon(pen, around(x, y, 9, 6, 0));
  else
    pen.arc(x, y, 8, 0, 2 * Math.PI);
}

function sign(pen, letter, x, y, colour) {
  frame(pen, letter, x, y);
  pen.fillStyle = colour;
  pen.strokeStyle = view.colour("paper");
  pen.lineWidth = 1.5;
  pen.setLineDash([]);
  pen.fill();
  pen.stroke();
  pen.fillStyle = view.colour("on-sign");
  pen.font = "bold 10px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(letter, x, y + (letter === "R" ? 2.5 : 0.5));
}

function head(pen, x, y, angle, colour, isOpen) {
  pen.setLineDash([]);
  pen.beginPath();
  pen.moveTo(x - 8 * Math.cos(angle - 0.42), y - 8 * Math.sin(angle - 0.42));
  pen.lineTo(x, y);
  pen.lineTo(x - 8 * Math.cos(angle + 0.42), y - 8 * Math.sin(angle + 0.42));
  if (isOpen) {
    pen.lineWidth = 1.3;
    pen.strokeStyle = colour;
    return pen.stroke();
  }
  pen.closePath();
  pen.fillStyle = colour;
  pen.fill();
}

function cross(pen, x, y, size, colour) {
  for (const [width, ink] of [[6, view.colour("paper")], [2.8, colour]]) {
    pen.beginPath();
    pen.setLineDash([]);
    pen.lineWidth = width;
    pen.strokeStyle = ink;
    pen.moveTo(x - size, y - size);
    pen.lineTo(x + size, y + size);
    pen.moveTo(x + size, y - size);
    pen.lineTo(x - size, y + size);
    pen.stroke();
  }
}

// It came, and was thrown away: an open ring with a bar.
function ring(pen, x, y, colour) {
  pen.beginPath();
  pen.setLineDash([]);
  pen.arc(x, y, 6, 0, 2 * Math.PI);
  pen.fillStyle = view.colour("paper");
  pen.fill();
  pen.lineWidth = 2;
  pen.strokeStyle = colour;
  pen.stroke();
  pen.beginPath();
  pen.moveTo(x - 4, y + 4);
  pen.lineTo(x + 4, y - 4);
  pen.stroke();
}

const noteSigns = ["send", "receive", "done", "failed", "clock", "refused", "change", "dot", "other"];

// What a note looks like.
function noteSign(note) {
  const failed = view.words.isTroubleNote(note);
  switch (note.what) {
    case "post_send":
      return "send";
    case "post_receive":
      return "receive";
    case "completion":
      return failed ? "failed" : "done";
    case "ack_timeout":
      return "clock";
    case "refusal":
    case "posts_aborted":
      return "refused";
    case "modify":
      return "change";
    case "state":
      return "dot";
    default:
      return "other";
  }
}

// inwards: 1 where the life line is to the right of the sign, -1 where it is to the left.
function note(pen, name, x, y, inwards) {
  const ink = view.colour("ink"), paper = view.colour("paper");
  pen.setLineDash([]);
  pen.lineWidth = 1.4;
  pen.strokeStyle = ink;
  pen.fillStyle = paper;
  const point = 5 * inwards;
  switch (name) {
    case "send":
      polygon(pen, [[x - point, y - 4.5], [x + point, y], [x - point, y + 4.5]]);
      pen.fill();
      return pen.stroke();
    case "receive":
      polygon(pen, [[x - 5, y - 4], [x + 5, y - 4], [x, y + 5]]);
      pen.fill();
      return pen.stroke();
    case "done":
      pen.beginPath();
      pen.arc(x, y, 4.6, 0, 2 * Math.PI);
      pen.fillStyle = view.colour("done");
      return pen.fill();
    case "failed":
      return cross(pen, x, y, 4, view.colour("lost"));
    case "clock":
      pen.beginPath();
      pen.arc(x, y, 6, 0, 2 * Math.PI);
      pen.strokeStyle = view.colour("lost");
      pen.lineWidth = 1.8;
      pen.fill();
      pen.stroke();
      pen.beginPath();
      pen.moveTo(x, y - 4);
      pen.lineTo(x, y);
      pen.lineTo(x + 3, y + 1.5);
      return pen.stroke();
    case "refused":
      return ring(pen, x, y, view.colour("lost"));
    case "change":
      polygon(pen, around(x, y, 5.5, 4, 0));
      pen.fillStyle = view.colour("note");
      return pen.fill();
    case "dot":
      pen.beginPath();
      pen.moveTo(x - 3, y);
      pen.lineTo(x + 3, y);
      pen.strokeStyle = view.colour("quiet");
      return pen.stroke();
    default:
      pen.strokeRect(x - 4, y - 4, 8, 8);
  }
}

view.marks = {
  styleOf,
  lookOf,
  looks,
  sign,
  head,
  cross,
  ring,
  note,
  noteSign,
  noteSigns
};
})(window.view);
