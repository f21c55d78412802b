// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Short words for packets and notes, and what is trouble.
(function(view) {
const kinds = ["request", "response", "ack", "nak", "rnr", "cnp", "cm", "datagram", "other"];
const kindWords = {
  request: "requests",
  response: "responses",
  ack: "ACK",
  nak: "NAK",
  rnr: "RNR",
  cnp: "CNP",
  cm: "CM",
  datagram: "datagrams",
  other: "other",
};
const severities = ["violation", "unknown", "habit", "event"];
const severityWords = {
  violation: "breaks a rule",
  unknown: "not clear",
  habit: "a habit of some NICs",
  event: "nothing wrong, explained",
};

const kindOf = (packet) => (kinds.includes(packet.kind) ? packet.kind : "other");
const severityOf = (finding) => (severities.includes(finding.severity) ? finding.severity : "unknown");
const isSeriousFinding = (index) => {
  const finding = view.data.findings[index];
  return finding !== undefined && severityOf(finding) !== "event";
};

function isTrouble(packet) {
  return Boolean(packet.is_repeated || packet.is_lost || packet.is_dropped || packet.bad_icrc) ||
      ["nak", "rnr", "cnp"].includes(packet.kind) || view.list(packet.findings).some(isSeriousFinding);
}

function isTroubleNote(note) {
  const status = view.own(note.members, "status");
  return ["ack_timeout", "refusal", "posts_aborted"].includes(note.what) ||
      (note.what === "completion" && status !== undefined && status !== "SUCCESS") ||
      view.own(note.members, "state") === "ERR";
}

// What went differently with a packet: a list of words.
function flags(packet) {
  const words = [];
  if (packet.is_repeated) words.push("again");
  if (packet.is_lost) words.push("lost");
  if (packet.is_dropped) words.push("dropped");
  if (packet.bad_icrc) words.push("bad ICRC");
  return words;
}

const comments = (packet) => packet.seen.map((place) => place.comment).filter(Boolean);

function numbers(packet) {
  const words = [];
  if (view.isNumber(packet.psn)) words.push(`PSN ${packet.psn}`);
  if (packet.payload) words.push(view.bytes(packet.payload));
  return words.join("  ");
}

function say(index) {
  const packet = view.data.packets[index];
  const words = [
    `Packet ${index}`, packet.label || packet.kind, numbers(packet),
    view.endName(packet.connection, packet.from || 0, "from")
  ];
  return [...words, ...flags(packet), ...comments(packet)].filter(Boolean).join(", ");
}

const member = (note, name) => view.own(note.members, name);
const wr = (note) => (member(note, "wr_id") === undefined ? "" : ` ${member(note, "wr_id")}`);
const size = (note) => (view.isNumber(member(note, "bytes")) ? ` ${view.bytes(member(note, "bytes"))}` : "");

// isShort: without the size.
function noteWords(note, isShort) {
  switch (note.what) {
    case "post_send":
      return `post ${member(note, "operation") || "send"}${wr(note)}${isShort ? "" : size(note)}`;
    case "post_receive":
      return `post RECV${wr(note)}${isShort ? "" : size(note)}`;
    case "posts_aborted":
      return "posts aborted";
    case "completion": {
      const status = member(note, "status");
      if (status !== undefined && status !== "SUCCESS") return `${status}${wr(note)}`;
      return `done ${member(note, "opcode") || member(note, "queue") || ""}${wr(note)}`;
    }
    case "modify":
      return member(note, "state") === undefined ? "modify" : `modify: ${member(note, "state")}`;
    case "state":
      return `state ${member(note, "state") || ""}`;
    case "ack_timeout":
      return "no ACK in time";
    case "refusal":
      return `refused: ${member(note, "reason") || ""}`;
    default:
      return String(note.what);
  }
}

view.words = {
  kinds,
  kindWords,
  severities,
  severityWords,
  kindOf,
  severityOf,
  isTrouble,
  isTroubleNote,
  flags,
  comments,
  numbers,
  say,
  noteWords,
};
})(window.view);
