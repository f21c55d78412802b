// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the reader must know about the page: what it leaves out, which file ended early.
(function(view) {
const {element} = view;

function fileText(file) {
  const parts = [
    file.name || "?", view.isNumber(file.frames) ? view.count(file.frames, "frame") : "",
    file.has_notes ? "with the NIC's notes" : "frames only"
  ];
  return parts.filter(Boolean).join(", ");
}

function draw() {
  const {data} = view;
  view.byId("title").textContent = document.title;
  view.byId("files").replaceChildren(...data.files.map(
      (file) => element(
          "span", {
            class: file.has_notes ? "file notes" : "file",
            title: [
              fileText(file), file.program && `program: ${file.program}`,
              file.interface && `interface: ${file.interface}`
            ].filter(Boolean)
                       .join("\n")
          },
          file.name || "?", file.has_notes ? "" : element("span", {class: "plain"}, " frames only"))));
  const lines = [];
  if (data.omitted) {
    lines.push(element(
        "p", {id: "omitted"},
        element("b", {}, `This page leaves out ${view.count(Number(data.omitted.packets) || 0, "packet")}`),
        data.omitted.why ? `: ${data.omitted.why}` : "."));
  }
  for (const file of data.files)
    if (file.others)
      lines.push(element(
          "p", {class: "others"},
          element("b", {}, `${file.name}: ${view.count(Number(file.others.connections) || 0, "connection")}`),
          ` of others not shown, with ${view.count(Number(file.others.packets) || 0, "packet")} and ${
              view.count(Number(file.others.findings) || 0, "finding")}`));
  for (const file of data.files)
    if (file.error)
      lines.push(
          element("p", {}, element("b", {}, `${file.name} was not read to its end: `), String(file.error)));
  view.byId("banners").replaceChildren(...lines);
}

view.banners = {draw};
})(window.view);
