// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The list of connections: choose one.
(function(view) {
const {element} = view;
const inOnePart = 300;
let order = "first", shown = inOnePart;

const orders = {
  first: ["in order", (a, b) => a.index - b.index],
  trouble: [
    "most trouble",
    (a, b) => b.trouble + 1000 * serious(b) - a.trouble - 1000 * serious(a) || a.index - b.index
  ],
  packets: ["most packets", (a, b) => b.packets.length - a.packets.length || a.index - b.index],
};

const serious =
    (connection) => [...connection.findings]
                        .filter((index) => view.words.severityOf(view.data.findings[index] || {}) !== "event")
                        .length;

function endLine(connection, end) {
  const {address, qp} = connection.ends[end];
  return element(
      "div", {class: "end"}, element("span", {class: "letter"}, "AB"[end]), ` ${address || "?"}`,
      qp === undefined ? "" : element("span", {class: "qp"}, ` QP ${view.qp(qp)}`));
}

function facts(connection) {
  const made = [];
  const add = (number, sign, one, name, many) => {
    if (number)
      made.push(element(
          "span", {class: `fact ${name}`, title: view.count(number, one, many)},
          `${sign} ${number.toLocaleString("en")}`));
  };
  add(connection.repeated, "↻", "packet was sent again", "again", "packets were sent again");
  add(connection.lost, "✕", "packet was lost", "lost", "packets were lost");
  add(connection.dropped, "⊘", "packet was dropped", "lost", "packets were dropped");
  add(serious(connection), "⚠", "finding", "finding");
  return made;
}

function row(connection) {
  const {packets, source} = connection;
  const made = element(
      "button", {
        type: "button",
        role: "option",
        class: "connection",
        "data-connection": connection.index,
        onclick: () => view.select.choose(connection.index)
      },
      element(
          "div", {class: "line"},
          element("span", {class: "service"}, source.isRest ? "rest" : connection.service),
          element("span", {class: "packets"}, view.count(packets.length, "packet")),
          source.bytes ? element("span", {class: "size"}, view.bytes(source.bytes)) : ""),
      source.isRest ? element("div", {class: "end"}, "without a connection") : endLine(connection, 0),
      source.isRest ? "" : endLine(connection, 1), element("div", {class: "facts"}, ...facts(connection)));
  return made;
}

function sorted() {
  return view.connections.slice().sort(orders[order][1]);
}

function draw() {
  const all = sorted();
  const select = element(
      "select", {
        "aria-label": "Order of connections",
        onchange: (event) => {
          order = event.target.value;
          draw();
        }
      },
      ...Object.entries(orders).map(
          ([name, [text]]) => element("option", {value: name, selected: name === order}, text)));
  const rows = all.slice(0, shown).map(row);
  const more = all.length > shown ? element(
                                        "button", {
                                          type: "button",
                                          class: "more",
                                          onclick: () => {
                                            shown += inOnePart;
                                            draw();
                                          }
                                        },
                                        `${view.count(all.length - shown, "more", "more")}`) :
                                    "";
  view.byId("connections")
      .replaceChildren(
          element("h2", {}, view.count(view.connections.length, "connection"), all.length > 2 ? select : ""),
          element("div", {class: "list", role: "listbox", "aria-label": "Connections"}, ...rows), more);
  mark();
}

function mark() {
  for (const button of view.byId("connections").querySelectorAll(".connection")) {
    const isChosen = Number(button.dataset.connection) === view.chosen;
    button.setAttribute("aria-selected", String(isChosen));
    if (isChosen) button.scrollIntoView({block: "nearest"});
  }
}

// The next one in the order that is shown.
function step(by) {
  const all = sorted();
  const at = all.findIndex((connection) => connection.index === view.chosen) + by;
  if (at >= 0 && at < all.length) {
    view.select.choose(all[at].index);
    view.say(`Connection ${at + 1} of ${all.length}: ${view.endName(all[at].index, 0)}, ${
        view.endName(all[at].index, 1)}`);
  }
}

view.listen("connection", "connections", mark);
view.connectionList = {
  draw,
  step
};
})(window.view);
