// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the signs mean. The strip below the ladder has those that this connection shows; the help has all.
(function(view) {
const arrows = [
  ["request", "request", {kind: "request"}],
  ["again", "again", {kind: "request", is_repeated: true}],
  ["lost", "lost", {kind: "request", is_lost: true}],
  ["dropped", "dropped", {kind: "request", is_dropped: true}],
  ["nak", "NAK", {kind: "nak"}],
  ["rnr", "RNR", {kind: "rnr"}],
  ["cnp", "CNP", {kind: "cnp"}],
  ["icrc", "bad ICRC", {kind: "request", bad_icrc: true}],
  ["ack", "ACK", {kind: "ack"}],
  ["response", "response", {kind: "response"}],
  ["datagram", "datagram", {kind: "datagram"}],
  ["cm", "CM", {kind: "cm"}],
];
const notes = [
  ["clock", "timeout"],
  ["failed", "failed"],
  ["refused", "refused"],
  ["send", "send posted"],
  ["receive", "receive posted"],
  ["done", "completed"],
  ["change", "modified"],
  ["dot", "state changed"],
];

function has(name) {
  const {connection} = view.lane;
  if (name === "again") return connection.repeated > 0;
  if (name === "lost") return connection.lost > 0;
  if (name === "dropped") return connection.dropped > 0;
  if (name === "icrc") return connection.packets.some((index) => view.data.packets[index].bad_icrc);
  return connection.kinds.has(name);
}

function picture(width, drawIt) {
  const ratio = Math.max(2, window.devicePixelRatio || 1);
  const canvas = view.element("canvas", {width: width * ratio, height: 18 * ratio, "aria-hidden": "true"});
  canvas.style.width = `${width}px`;
  canvas.style.height = "18px";
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  drawIt(pen);
  return canvas;
}

const arrow = (packet) => picture(36, (pen) => {
  const style = view.marks.styleOf(packet), colour = view.colour(style.colour);
  const end = style.end === "arrow" ? 34 : 24;
  pen.setLineDash(style.dash);
  pen.lineWidth = style.width;
  pen.strokeStyle = colour;
  pen.beginPath();
  pen.moveTo(2, 9);
  pen.lineTo(end, 9);
  pen.stroke();
  if (style.end === "lost")
    view.marks.cross(pen, end, 9, 5, view.colour("lost"));
  else if (style.end === "dropped")
    view.marks.ring(pen, end + 4, 9, view.colour("lost"));
  else
    view.marks.head(pen, end, 9, 0, colour, style.colour === "ack");
  if (style.sign) view.marks.sign(pen, style.sign, 15, 9, colour);
});

const item = (made, words) => view.element("span", {class: "meaning"}, made, words);

function items(isShown, hasNote) {
  return [
    ...arrows.filter(([name]) => isShown(name)).map(([, words, packet]) => item(arrow(packet), words)),
    ...notes.filter(([name]) => hasNote(name))
        .map(([name, words]) => item(picture(16, (pen) => view.marks.note(pen, name, 8, 9, 1)), words)),
  ];
}

function draw() {
  if (!view.lane) return;
  const signs =
      new Set(view.lane.connection.notes.map((index) => view.marks.noteSign(view.data.notes[index])));
  view.byId("legend").replaceChildren(...items(has, (name) => signs.has(name)));
  view.byId("legend").title = "All signs: ?";
}

const all = () => items(() => true, () => true);
view.listen("connection theme", "legend", draw);
view.legend = {
  all,
  draw
};
})(window.view);
