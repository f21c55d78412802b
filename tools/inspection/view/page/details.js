// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What is known of the selected packet or note: where it was seen, verdicts, jumps, every field with its
// bytes.
(function(view) {
const {element} = view;
let fieldName = "BTH.PSN";  // stays chosen from packet to packet
let explains = false;
const foldedHeaders = new Set(["Ethernet", "IPv4", "IPv6", "UDP"]);

const badge = (text, name) => element("span", {class: `badge ${name || ""}`}, text);
const jump = (text, index, key) => element(
    "button", {type: "button", class: "jump", onclick: () => view.select.packet(index)},
    key ? element("kbd", {}, key) : "", text);

function nameOf(index) {
  const packet = view.data.packets[index];
  if (packet === undefined) return `packet ${index}, which is left out`;
  return [packet.label || packet.kind, view.isNumber(packet.psn) ? `PSN ${packet.psn}` : ""]
      .filter(Boolean)
      .join(" ");
}

function head(packet, index) {
  const [sent, received] = view.timesOf(packet);
  const from = packet.from === 1 ? 1 : 0;
  const kindWord = {nak: "NAK", rnr: "RNR", cnp: "CNP"}[packet.kind];
  return element(
      "header", {},
      element(
          "h2", {}, packet.label || packet.kind || "packet", " ",
          element("span", {class: "number"}, `#${index}`)),
      element(
          "p", {class: "badges"}, kindWord ? badge(kindWord, packet.kind) : "",
          ...view.words.flags(packet).map((word) => badge(word, word.replace(/ .*/, "")))),
      element(
          "p", {class: "way"}, view.endName(packet.connection, from) || "unknown", " → ",
          view.endName(packet.connection, 1 - from) || "unknown"),
      element(
          "p", {class: "when"}, element("b", {}, view.time.exact(sent)),
          sent === received ? "" :
                              ` → ${view.time.exact(received)}, took ${view.time.duration(received - sent)}`,
          element("span", {class: "day"}, view.time.ofDay(sent, view.data.begin_ns))));
}

function places(packet) {
  return element(
      "ul", {class: "places"},
      ...packet.seen.map(
          (place) => element(
              "li", {}, view.isNumber(place.frame) ? element("b", {}, `frame ${place.frame}`) : "", " of ",
              (view.data.files[place.file] || {}).name || "?", place.way ? `, ${place.way}` : "",
              ` at ${view.time.exact(Number(place.time) || 0)}`,
              place.comment ? element("div", {class: "comment"}, place.comment) : "")));
}

function jumps(packet) {
  const buttons = [];
  const add = (words, indices, key) => view.list(indices).slice(0, 20).forEach(
      (index, at) => buttons.push(element(
          "li", {}, element("span", {class: "what"}, at === 0 ? words : ""),
          jump(nameOf(index), index, at === 0 ? key : ""))));
  add("answers", packet.request === undefined ? [] : [packet.request], "q");
  add("answered by", packet.answers, "a");
  add("repeats", packet.repeats === undefined ? [] : [packet.repeats],
      view.list(packet.repeated_by).length ? "" : "r");
  add("repeated by", packet.repeated_by, "r");
  return buttons.length ? element("ul", {class: "jumps"}, ...buttons) : "";
}

function verdicts(packet) {
  const found = view.list(packet.findings).map((index) => view.data.findings[index]).filter(Boolean);
  if (found.length === 0) return "";
  return element("div", {class: "verdicts"}, ...found.map((finding) => {
    const severity = view.words.severityOf(finding);
    return element(
        "div", {class: `verdict ${severity}`},
        element(
            "p", {}, element("span", {class: "sign"}, view.severitySign(severity)), " ",
            element("b", {}, finding.title || finding.rule),
            element(
                "span", {class: "rule"},
                ` ${view.findings.inFile(finding)}${finding.rule || ""}: ${
                    view.words.severityWords[severity]}`)),
        finding.expected ?
            element("p", {}, element("span", {class: "what"}, "expected"), String(finding.expected)) :
            "",
        finding.seen ? element("p", {}, element("span", {class: "what"}, "seen"), String(finding.seen)) : "");
  }));
}

const bytesOf = (hex, field) => (hex.slice(field.first * 2, field.last * 2 + 2).match(/../g) || []).join(" ");
const cut = (text) => (text.length > 24 ? `${text.slice(0, 23)}…` : text);
const bitsOf = (field) => {
  const begin = field.begin % 8, isWhole = begin === 0 && field.length % 8 === 0;
  return isWhole ?
      `byte ${field.first}${field.last > field.first ? `-${field.last}` : ""}` :
                                                       `byte ${field.first}, ${
          field.length === 1 ? `bit ${7 - begin}` : `${field.length} bits from bit ${7 - begin}`                                                 }`;
};

function fieldRow(header, field, hex) {
  const id = `${header.name}.${field.name}`;
  return element(
      "tr", {
        class: "field",
        tabindex: "0",
        "data-field": id,
        "data-first": field.first,
        "data-last": field.last,
        title: field.meaning || undefined
      },
      element("th", {scope: "row"}, field.name),
      element(
          "td", {class: field.isThere ? "value" : "value absent"}, field.text,
          field.word ? element("span", {class: "word"}, field.word) : ""),
      element("td", {class: "bytes", title: bitsOf(field)}, field.isThere ? cut(bytesOf(hex, field)) : ""));
}

function fields(packet) {
  const {headers: hex, icrc} = view.fields.split(packet);
  const headers = view.fields.ofPacket(packet);
  if (!hex) return element("p", {class: "quiet"}, "The bytes of this packet are not in this page.");
  const table =
      element("table", {class: explains ? "fields explains" : "fields", "aria-label": "Header fields"});
  const end = Math.floor(hex.length / 2);
  const payload =
      view.isNumber(packet.length) ? Math.max(0, packet.length - end - (icrc ? 4 : 0)) : packet.payload;
  const box = view.hex.make(hex, icrc, payload, (at) => chooseByte(at));
  const choose = (row, focus) => {
    if (!row) return;
    for (const other of table.querySelectorAll(".chosen")) other.classList.remove("chosen");
    row.classList.add("chosen");
    fieldName = row.dataset.field;
    const own = headers.find((header) => fieldName.startsWith(`${header.name}.`));
    view.hex.mark(
        box, Number(row.dataset.first), Number(row.dataset.last), d3.min(own.fields, (one) => one.first),
        d3.max(own.fields, (one) => one.last));
    if (focus) row.scrollIntoView({block: "nearest"});
  };
  function chooseByte(at) {
    const rows = [...table.querySelectorAll(".field")].filter(
        (row) => at >= Number(row.dataset.first) && at <= Number(row.dataset.last));
    if (rows.length === 0) return;
    const next = rows[(rows.findIndex((row) => row.classList.contains("chosen")) + 1) % rows.length];
    unfold(next.closest("tbody"), true);
    choose(next, true);
  }
  for (const header of headers) table.append(headerBody(header, hex));
  table.addEventListener("click", (event) => choose(event.target.closest(".field")));
  table.addEventListener("focusin", (event) => choose(event.target.closest(".field")));
  choose(
      [...table.querySelectorAll(".field")].find((row) => row.dataset.field === fieldName) ||
      table.querySelector(".field"));
  return element(
      "div", {},
      element(
          "h3", {}, "Header fields",
          element(
              "button", {
                type: "button",
                class: "small",
                id: "explain",
                "aria-pressed": String(explains),
                title: "What each field is (e)",
                onclick: explain
              },
              "explain")),
      table, element("h3", {}, "Bytes"), box);
}

function headerBody(header, hex) {
  const body = element("tbody", {"data-header": header.name});
  const toggle = element(
      "button",
      {type: "button", class: "fold", onclick: () => unfold(body, body.classList.contains("folded"))},
      header.name);
  body.append(
      element(
          "tr", {class: "header"},
          element("th", {colspan: 3}, toggle, element("span", {class: "summary"}, summary(header)))),
      ...header.fields.flatMap(
          (field) =>
              [fieldRow(header, field, hex),
               ...(field.meaning ?
                       [element("tr", {class: "meaning-of"}, element("td", {colspan: 3}, field.meaning))] :
                       [])]));
  unfold(body, !foldedHeaders.has(header.name));
  return body;
}

// A header that is folded still says the most important: its first words.
function summary(header) {
  const addresses = header.fields.filter((field) => /^(mac|ipv[46])$/.test(field.kind));
  const told = addresses.length ? addresses : header.fields.filter((field) => field.word);
  return (told.length ? told : header.fields)
      .slice(0, 2)
      .map((field) => (told.length ? field.word || field.text : `${field.name} ${field.text}`))
      .join(", ");
}

function unfold(body, isOpen) {
  body.classList.toggle("folded", !isOpen);
  body.querySelector(".fold").setAttribute("aria-expanded", String(isOpen));
  if (isOpen)
    foldedHeaders.delete(body.dataset.header);
  else
    foldedHeaders.add(body.dataset.header);
}

function explain() {
  explains = !explains;
  draw();
}

function ofPacket(index) {
  const packet = view.data.packets[index];
  return [head(packet, index), verdicts(packet), jumps(packet), places(packet), fields(packet)];
}

function ofNote(index) {
  const note = view.data.notes[index];
  const rows = Object.entries(note.members || {})
                   .map(
                       ([name, value]) => element(
                           "tr", {}, element("th", {scope: "row"}, name),
                           element(
                               "td", {class: "value"},
                               name === "timer_ns" ? view.endStates.timer(value, note.time) :
                                                     view.valueText(name, value))));
  return [
    element(
        "header", {},
        element("h2", {}, view.words.noteWords(note), " ", element("span", {class: "number"}, "note")),
        element(
            "p", {class: "way"}, `told by the NIC of ${view.endName(note.connection, note.end || 0)}`,
            (view.data.files[note.file] || {}).name ? `, ${view.data.files[note.file].name}` : ""),
        element(
            "p", {class: "when"}, element("b", {}, view.time.exact(note.time)),
            element("span", {class: "day"}, view.time.ofDay(note.time, view.data.begin_ns)))),
    note.packet === undefined ? element("p", {class: "quiet"}, "The program, or time, led to it.") :
                                element(
                                    "ul", {class: "jumps"},
                                    element(
                                        "li", {}, element("span", {class: "what"}, "because of"),
                                        jump(nameOf(note.packet), note.packet))),
    pair(index),
    element("table", {class: "fields members", "aria-label": "Members"}, element("tbody", {}, ...rows))
  ];
}

// A post leads to its completion, and back.
function pair(index) {
  const other = view.pending.partner(index);
  if (other === undefined) return "";
  return element(
      "ul", {class: "jumps"},
      element(
          "li", {},
          element(
              "span", {class: "what"}, view.data.notes[other].what === "completion" ? "completed" : "posted"),
          element(
              "button", {type: "button", class: "jump", onclick: () => view.select.note(other)},
              view.time.exact(view.data.notes[other].time))));
}

const empty = () =>
    [element("p", {class: "empty"}, "Choose a packet: click an arrow, or press ↓."),
     element(
         "p", {class: "quiet"},
         "Choose a note with shift and ↓. The cursor is where you click between them.")];

function draw() {
  const box = view.byId("details");
  const {selected} = view;
  box.replaceChildren(...(selected === undefined            ? empty() :
                              selected.packet !== undefined ? ofPacket(selected.packet) :
                                                              ofNote(selected.note))
                          .filter(Boolean));
  box.scrollTop = 0;
}

view.listen("select", "details", view.oncePerFrame(draw));
view.details = {
  draw,
  explain
};
})(window.view);
