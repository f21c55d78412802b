// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The captured bytes in rows of sixteen. A byte leads to its field, a field to its bytes.
(function(view) {
const perRow = 16;

function cellOf(hex, at, choose) {
  const cell = view.element("span", {class: "byte", "data-at": at}, hex.slice(at * 2, at * 2 + 2));
  cell.addEventListener("click", () => choose(at));
  return cell;
}

// headers and icrc are hexadecimal text; choose(byte) is called on a click.
function make(headers, icrc, payload, choose) {
  const box = view.element("div", {class: "hex", role: "group", "aria-label": "Captured bytes"});
  const size = Math.floor(headers.length / 2);
  for (let row = 0; row < size; row += perRow) {
    const cells = d3.range(row, Math.min(row + perRow, size)).map((at) => cellOf(headers, at, choose));
    cells.forEach((cell, at) => {
      if (at === 8) cell.classList.add("half");
    });
    box.append(view.element(
        "div", {class: "row"}, view.element("span", {class: "offset"}, row.toString(16).padStart(4, "0")),
        ...cells));
  }
  if (payload)
    box.append(view.element(
        "div", {class: "left-out"},
        `${view.count(payload, "byte")} of payload and padding are not in this page`));
  if (icrc) {
    box.append(view.element(
        "div", {class: "row"}, view.element("span", {class: "offset"}, "ICRC"),
        ...(icrc.match(/../g) || []).map((text) => view.element("span", {class: "byte icrc"}, text))));
  }
  return box;
}

// Marks bytes first to last, and the bytes of the header around them more faintly.
function mark(box, first, last, headerFirst, headerLast) {
  for (const cell of box.querySelectorAll("[data-at]")) {
    const at = Number(cell.dataset.at);
    cell.classList.toggle("chosen", at >= first && at <= last);
    cell.classList.toggle("near", at >= headerFirst && at <= headerLast);
  }
}

view.hex = {
  make,
  mark
};
})(window.view);
