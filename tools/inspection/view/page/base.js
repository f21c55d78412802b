// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The one global name of the page, and what every other file needs: making elements, telling others.
"use strict";
window.view = {};

(function(view) {
// Captures are hostile: text goes into the page as text only. No file of the page writes HTML from data.
view.element = function(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on"))
      made.addEventListener(name.slice(2), value);
    else if (name === "class")
      made.className = value;
    else
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return made;
};

view.byId = (id) => document.getElementById(id);

// Names in data may be "__proto__" or "constructor".
view.own = (object, name) =>
    object && Object.prototype.hasOwnProperty.call(object, name) ? object[name] : undefined;

view.list = (value) => (Array.isArray(value) ? value : []);
view.isNumber = (value) => typeof value === "number" && Number.isFinite(value);

// Code that changes something tells it here; code that shows it listens.
view.events =
    d3.dispatch("connection", "range", "scale", "cursor", "select", "filter", "search", "theme", "resize");
view.tell = (what) => view.events.call(what);
view.listen = (what, name, action) => {
  for (const word of what.split(" ")) view.events.on(`${word}.${name}`, action);
};

// Runs the action once before the next frame, however often it is requested.
view.oncePerFrame = function(action) {
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      action();
    });
  };
};

view.say = (text) => {
  view.byId("say").textContent = text;
};
// A queue pair's number as Wireshark and ibv_rc_pingpong write it; a file may hold anything.
view.qp = (number) => view.isNumber(number) ? `0x${number.toString(16).padStart(6, "0")}` : String(number);
// The value of a note's member.
view.valueText = function(name, value) {
  if (name === "qp" || name === "peer_qp") return view.qp(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};
view.count = (number, one, many) =>
    `${number.toLocaleString("en")} ${number === 1 ? one : many || `${one}s`}`;

view.bytes = function(number) {
  if (number < 10000) return `${number} B`;
  return `${d3.format(".3~s")(number)}B`;
};
})(window.view);
