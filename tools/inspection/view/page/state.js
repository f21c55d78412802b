// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The state of both ends at the cursor: what the notes said last, and what packets showed.
(function(view) {
const {element} = view;
const made = new Map();
// In this order; members that are not here follow.
const order = [
  "state",
  "send_psn",
  "oldest_psn",
  "packets_in_flight",
  "receive_psn",
  "msn",
  "timer_ns",
  "retries_used",
  "rnr_retries_used",
  "waits_for_receiver",
  "sends_posted",
  "receives_posted",
  "reads_in_flight",
  "retry_count",
  "rnr_retry",
  "ack_timeout",
  "type",
  "peer_address",
  "peer_qp",
  "path_mtu"
];
const words = {
  state: "QP state",
  type: "type",
  peer_address: "peer",
  peer_qp: "peer QP",
  path_mtu: "path MTU",
  send_psn: "sends PSN next",
  oldest_psn: "oldest unacked",
  packets_in_flight: "in flight",
  receive_psn: "expects PSN",
  msn: "MSN",
  reads_in_flight: "READs in flight",
  sends_posted: "sends posted",
  receives_posted: "receives posted",
  timer_ns: "timer",
  retries_used: "retries used",
  retry_count: "retries allowed",
  rnr_retries_used: "RNR retries",
  rnr_retry: "RNR retries allowed",
  ack_timeout: "ACK timeout",
  waits_for_receiver: "waits (RNR)",
  sentPsn: "last PSN sent",
  ackedPsn: "last PSN acknowledged",
  expected: "last PSN received",
  answeredPsn: "last PSN answered",
  seenMsn: "MSN in answers",
};

// Every member of an end over time: name -> {times, values}.
function historyOf(connection, end) {
  const history = new Map();
  const put = (name, time, value) => {
    if (!history.has(name)) history.set(name, {times: [], values: []});
    const one = history.get(name);
    one.times.push(time);
    one.values.push(value);
  };
  const lane = view.laneOf(connection);
  for (const index of lane.note) {
    const note = view.data.notes[index];
    if ((note.end === 1 ? 1 : 0) !== end || !["modify", "state"].includes(note.what)) continue;
    for (const [name, value] of Object.entries(note.members || {})) put(name, note.time, value);
  }
  const isRecorded = history.size > 0;
  if (!isRecorded) byPackets(lane, end, put);
  return {history, isRecorded};
}

// Of an end without a recording, packets tell something.
function byPackets(lane, end, put) {
  for (let at = 0; at < lane.size; ++at) {
    const packet = view.data.packets[lane.packet[at]];
    if (!view.isNumber(packet.psn) || packet.is_lost || packet.kind === "cnp") continue;
    const isAnswer = ["ack", "response", "nak", "rnr"].includes(packet.kind);
    if (lane.from[at] === end) {
      put(isAnswer ? "answeredPsn" : "sentPsn", lane.sent[at], packet.psn);
      if (isAnswer && view.isNumber(packet.msn)) put("seenMsn", lane.sent[at], packet.msn);
    } else if (packet.kind === "ack" || packet.kind === "response")
      put("ackedPsn", lane.received[at], packet.psn);
    else if (!isAnswer)
      put("expected", lane.received[at], packet.psn);
  }
}

function historyFor(end) {
  const key = `${view.chosen} ${end}`;
  if (!made.has(key)) made.set(key, historyOf(view.chosen, end));
  return made.get(key);
}

// name -> {value, before, since} at this time.
function at(end, time) {
  const {history, isRecorded} = historyFor(end);
  const found = new Map();
  for (const [name, {times, values}] of history) {
    const place = d3.bisectRight(times, time) - 1;
    if (place < 0) continue;
    let changed = place;
    while (changed > 0 && changed > place - 2000 && values[changed - 1] === values[place]) --changed;
    found.set(
        name,
        {value: values[place], before: changed > 0 ? values[changed - 1] : undefined, since: times[changed]});
  }
  return {members: found, isRecorded};
}

// A timer is told as a time since 1970.
function timer(value, now) {
  if (value === null || value === undefined) return "off";
  let time = Number(value);
  if (Number.isNaN(time)) return String(value);
  const begin = view.data.begin_ns;
  if (time > 1e15 && /^\d{1,19}$/.test(String(begin)))
    time = Number(BigInt(typeof value === "number" ? Math.round(value) : String(value)) - BigInt(begin));
  const left = time - now;
  return left < 0 ? `${view.time.duration(-left)} ago` : `in ${view.time.duration(left)}`;
}

function textOf(name, member, time) {
  if (member === undefined) return "";
  if (name === "timer_ns") return timer(member.value, time);
  if (typeof member.value === "boolean") return member.value ? "yes" : "no";
  return view.valueText(name, member.value);
}

function cell(name, member, time, isNew) {
  const text = textOf(name, member, time);
  const before = isNew && member && member.before !== undefined && name !== "timer_ns" ?
      ` was ${textOf(name, {value: member.before}, time)}` :
      "";
  return element(
      "td", {
        class: isNew ? "value new" : "value",
        title: member ? `since ${view.time.exact(member.since)}` : undefined
      },
      text, before ? element("span", {class: "before"}, before) : "");
}

function pendingRow(queue, time) {
  const both = [0, 1].map((end) => view.pending.at(view.chosen, end, time, queue));
  if (both.every((posts) => posts.length === 0)) return "";
  const list = (posts) => {
    const names = posts.slice(0, 3).map((post) => String(view.own(post.note.members, "wr_id")));
    return posts.length ? names.join(", ") + (posts.length > 3 ? ` and ${posts.length - 3}` : "") : "none";
  };
  return element(
      "tr", {}, element("th", {scope: "row"}, queue === "send" ? "send queue" : "receive queue"),
      ...both.map(
          (posts, end) => element(
              "td", {
                class: "value",
                title: posts.slice(0, 40).map((post) => view.words.noteWords(post.note)).join("\n")
              },
              view.lane.hasNotes[end] ? list(posts) : "")));
}

// The packets around the window of one end: a box for each PSN.
function windowOf(members) {
  const oldest = (members.get("oldest_psn") || {}).value, next = (members.get("send_psn") || {}).value;
  if (!view.isNumber(oldest) || !view.isNumber(next)) return "";
  const flight = (next - oldest + 0x1000000) & 0xffffff;
  if (flight > 0x800000) return "";
  const shown = Math.min(flight, 12);
  const boxes =
      [["acked", oldest - 1], ...d3.range(shown).map((at) => ["flying", oldest + at]), ["free", next]];
  return element(
      "div", {class: "window", role: "img", "aria-label": `${flight} in flight, from PSN ${oldest}`},
      ...boxes.map(
          ([name, psn]) => element(
              "span", {
                class: name,
                title: `PSN ${psn & 0xffffff}: ${
                    {acked: "acknowledged", flying: "in flight", free: "next"}[name]}`
              },
              name === "flying" && flight > 4 && psn !== oldest ? "" : String(psn & 0xffffff))),
      flight > shown ? `+${flight - shown}` : "");
}

function draw() {
  const box = view.byId("state");
  if (!view.lane) return;
  // without a cursor: where the screen ends
  const time = view.cursor === undefined ? view.range.targetTimes()[1] : view.cursor;
  const both = [0, 1].map((end) => at(end, time));
  const names = [...new Set([
                  ...order, "sentPsn", "ackedPsn", "expected", "answeredPsn", "seenMsn",
                  ...both.flatMap(({members}) => [...members.keys()])
                ])].filter((name) => both.some(({members}) => members.has(name)));
  const rows = names.map(
      (name) => element(
          "tr", {"data-member": name}, element("th", {scope: "row"}, view.own(words, name) || name),
          ...both.map(({members, isRecorded}) => {
            const member = members.get(name);
            return cell(
                name, member, time,
                isRecorded && member !== undefined &&
                    member.since === d3.max([...members.values()], (one) => one.since));
          })));
  const title = (end) => element(
      "th", {scope: "col"}, element("span", {class: "letter"}, "AB"[end]),
      ` ${view.lane.connection.ends[end].address || ""}`,
      both[end].isRecorded ? "" : element("div", {class: "quiet"}, "not recorded: by its packets"));
  box.replaceChildren(
      element("h2", {}, "Both ends at ", element("span", {class: "at"}, view.time.exact(time))),
      element(
          "table", {class: "ends"},
          element("thead", {}, element("tr", {}, element("td", {}), title(0), title(1))),
          element(
              "tbody", {}, windowRow(both), ...rows, pendingRow("send", time), pendingRow("receive", time))));
}

function windowRow(both) {
  const made = both.map(({members}) => windowOf(members));
  return made.some(Boolean) ?
      element(
          "tr", {}, element("th", {scope: "row"}, "window"), ...made.map((one) => element("td", {}, one))) :
      "";
}

const later = view.oncePerFrame(draw);
view.listen("cursor connection", "state", later);
view.listen("range", "state", () => {
  if (view.cursor === undefined) later();
});
view.endStates = {
  at,
  draw,
  timer
};
})(window.view);
