// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Words for times, which are nanoseconds from the beginning.
(function(view) {
const units = [[1e9, "s", 9], [1e6, "ms", 6], [1e3, "µs", 3], [1, "ns", 0]];
const unitOf = (ns) => units.find(([size]) => Math.abs(ns) >= size) || units[3];
const narrowSpace = "\u202f";

// 12 345.678: the digits after the point in groups of three.
function group(text) {
  const [whole, part] = text.split(".");
  if (!part) return whole;
  return `${whole}.${part.match(/.{1,3}/g).join(narrowSpace)}`;
}

// Every nanosecond of it.
function exact(ns) {
  const [size, name, digits] = unitOf(ns);
  return `${group((ns / size).toFixed(digits))} ${name}`;
}

// Three digits are enough for how long something took.
function duration(ns) {
  const [size, name] = unitOf(ns);
  return `${d3.format(".3~r")(ns / size)} ${name}`;
}

// As many digits as tell neighbours apart whose distance is step.
function tick(ns, step) {
  const [size, name] = unitOf(Math.max(Math.abs(ns), step));
  const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
  return `${group((ns / size).toFixed(Math.min(digits, 12)))} ${name}`;
}

// The time of day in UTC; begin is the text begin_ns.
function ofDay(ns, begin) {
  if (!/^\d{1,19}$/.test(String(begin))) return "";
  const all = BigInt(begin) + BigInt(Math.round(ns));
  const date = new Date(Number(all / 1000000n));
  if (isNaN(date)) return "";
  const part = String(all % 1000000000n).padStart(9, "0");
  return `${date.toISOString().slice(0, 19).replace("T", " ")}.${part} UTC`;
}

view.time = {
  exact,
  duration,
  tick,
  ofDay
};
})(window.view);
