// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Shows the results of urnic conform.
"use strict";

(function() {
const report = JSON.parse(document.getElementById("data").textContent);
const verdicts = ["FAIL", "HABIT", "UNKNOWN", "PASS"];
const words = {
  PASS: "passed",
  FAIL: "failed",
  HABIT: "habits",
  UNKNOWN: "unknown"
};
const shown = new Set(["FAIL", "HABIT"]);

// What a peer says is hostile: it goes into the page as text only.
function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
}

function verdictOf(result) {
  const made = element("span", {className: "verdict"}, result.verdict);
  made.style.setProperty("--verdict", `var(--${result.verdict})`);
  return made;
}

function factsOf(result) {
  const place = result.line ? `line ${result.line}: ${result.statement}` : result.statement;
  const habit = result.habit_of && `${result.habit_of} (${result.habit_source})`;
  const textOf = (lines) => lines.map((line) => `line ${line.line}: ${line.reason}`).join("\n");
  const list = element("dl", {className: "facts"});
  for (const [name, text] of [
           ["where", place], ["what", result.reason], ["rule", result.rule], ["source", result.source],
           ["habit of", habit], ["also", textOf(result.excused.slice(1))],
           ["not judged", textOf(result.not_judged)], ["packets", result.capture]]) {
    if (text) list.append(element("dt", {}, name), element("dd", {}, text));
  }
  return list;
}

// The page of `urnic view` inside of this one, with the packets of this case.
function ladderOf(result) {
  const text = result.name.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  const data = JSON.stringify(result.trace).replace(/</g, "\\u003c");
  const [head, ...rest] = report.view.split("@TITLE@");
  const [middle, ...tail] = rest.join("@TITLE@").split("@DATA@");
  return element(
      "iframe",
      {title: `Packets of ${result.name}`, srcdoc: head + text + middle + data + tail.join("@DATA@")});
}

function lineOf(result) {
  return [
    verdictOf(result), " ", element("span", {className: "name"}, result.name), " ",
    element("span", {className: "rule"}, result.rule)
  ];
}

function caseOf(result) {
  const hasMore = result.verdict !== "PASS" || result.not_judged.length > 0;
  if (!hasMore) return element("div", {className: "flat"}, ...lineOf(result));
  const made = element("details", {}, element("summary", {}, ...lineOf(result)));
  made.addEventListener("toggle", () => {
    if (!made.open || made.children.length > 1) return;
    made.append(factsOf(result));
    if (result.trace) made.append(ladderOf(result));
    if (result.ladder.length > 0) made.append(element("pre", {}, result.ladder.join("\n")));
  });
  return made;
}

const search = document.getElementById("search");
const rows = report.cases.map((result) => ({
                                result,
                                row: caseOf(result),
                                text: [result.name, result.rule, result.reason].join("\n").toLowerCase(),
                              }));

function show() {
  const wanted = search.value.trim().toLowerCase();
  for (const {result, row, text} of rows) row.hidden = !shown.has(result.verdict) || !text.includes(wanted);
  document.getElementById("none").hidden = rows.some(({row}) => !row.hidden);
}

document.getElementById("title").textContent = `urnic conform ${report.peer}`;
for (const verdict of verdicts) {
  const count = report.cases.filter((result) => result.verdict === verdict).length;
  const button = element("button", {type: "button", disabled: count === 0}, `${count} ${words[verdict]}`);
  button.dataset.verdict = verdict;
  button.style.setProperty("--verdict", `var(--${verdict})`);
  const press = () => button.setAttribute("aria-pressed", String(shown.has(verdict)));
  button.addEventListener("click", () => {
    if (!shown.delete(verdict)) shown.add(verdict);
    press();
    show();
  });
  press();
  document.getElementById("counts").append(button);
}
search.addEventListener("input", show);
if (!report.cases.some((result) => shown.has(result.verdict)))
  document.querySelector("[data-verdict=PASS]").click();
document.getElementById("cases").append(...rows.map(({row}) => row));
show();
}());
