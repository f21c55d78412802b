// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What `urnic check` says, by rule. A finding leads to its packet.
(function(view) {
const {element} = view;
const inOneRule = 100;

function go(finding) {
  const packets = view.list(finding.packets).filter((index) => view.data.packets[index] !== undefined);
  if (packets.length === 0) return view.say("It belongs to no packet of this page.");
  // Again on the same finding: its next packet.
  const at = packets.indexOf(view.selected ? view.selected.packet : -1);
  view.select.packet(packets[(at + 1) % packets.length]);
}

// Each capture is judged by itself, and what is true at one end need not be at the other.
const inFile = (finding) =>
    (view.data.files.length > 1 && view.data.files[finding.file] ? `${view.data.files[finding.file].name}: ` :
                                                                   "");

function where(finding) {
  const index = view.list(finding.packets)[0];
  const packet = view.data.packets[index];
  if (packet === undefined) return inFile(finding) + (finding.seen || "all of the capture");
  return inFile(finding) +
      `${view.time.duration(packet.seen[0].time)}  ${packet.label || packet.kind}${
             view.isNumber(packet.psn) ? ` PSN ${packet.psn}` : ""}`;
}

function group({severity, title, rule, found}) {
  const items = found.slice(0, inOneRule)
                    .map(
                        (finding) => element(
                            "li", {},
                            element(
                                "button", {
                                  type: "button",
                                  title: [
                                    finding.expected && `expected: ${finding.expected}`,
                                    finding.seen && `seen: ${finding.seen}`
                                  ].filter(Boolean)
                                             .join("\n"),
                                  onclick: () => go(finding)
                                },
                                where(finding))));
  if (found.length > inOneRule)
    items.push(
        element("li", {class: "quiet"}, `and ${view.count(found.length - inOneRule, "more", "more")}`));
  return element(
      "details", {class: `group ${severity}`, open: found.length < 6 && severity !== "event"},
      element(
          "summary", {title: `${rule}: ${view.words.severityWords[severity]}`},
          element("span", {class: "sign"}, view.severitySign(severity)),
          element("span", {class: "title"}, title || rule),
          element("span", {class: "number"}, found.length.toLocaleString("en"))),
      element("ul", {}, ...items));
}

function draw() {
  const groups = new Map();
  for (const finding of view.data.findings) {
    const severity = view.words.severityOf(finding), key = `${severity} ${finding.rule}`;
    if (!groups.has(key)) groups.set(key, {severity, title: finding.title, rule: finding.rule, found: []});
    groups.get(key).found.push(finding);
  }
  const sorted = [...groups.values()].sort(
      (a, b) => view.words.severities.indexOf(a.severity) - view.words.severities.indexOf(b.severity) ||
          b.found.length - a.found.length);
  const serious = view.data.findings.filter((finding) => view.words.severityOf(finding) !== "event").length;
  view.byId("findings")
      .replaceChildren(
          element(
              "h2", {}, serious === 0 ? "No rule is broken" : view.count(serious, "finding"),
              element("span", {class: "quiet"}, " urnic check")),
          ...sorted.map(group));
}

view.findings = {
  draw,
  inFile
};
})(window.view);
