// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Light or dark: as the system says, or as the reader chose.
(function(view) {
const key = "urnic-view-theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");
let chosen;
try {
  chosen = localStorage.getItem(key) || undefined;
} catch (error) {
  chosen = undefined;
}

const isDark = () => (chosen ? chosen === "dark" : system.matches);

function apply() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  view.byId("theme").textContent = isDark() ? "☀" : "☾";
  colours.clear();
  view.tell("theme");
}

// Colours are named in page.css: --request and so on.
const colours = new Map();
view.colour = function(name) {
  if (!colours.has(name))
    colours.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return colours.get(name);
};

function change() {
  chosen = isDark() ? "light" : "dark";
  try {
    localStorage.setItem(key, chosen);
  } catch (error) { /* a page from a file may have no storage */
  }
  apply();
}

// For paper: light while action runs.
function inLight(isOn) {
  document.documentElement.dataset.theme = isOn ? "light" : isDark() ? "dark" : "light";
  colours.clear();
}

system.addEventListener("change", apply);
view.theme = {
  apply,
  change,
  isDark,
  inLight
};
})(window.view);
