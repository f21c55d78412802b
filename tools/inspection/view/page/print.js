// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// For paper: the ladder as it is on the screen, sharp and light, then details and state.
(function(view) {
const width = 1000, sharpness = 3;
let image;

function before() {
  view.theme.inLight(true);
  const height = Math.max(500, Math.min(1250, view.ladder.height() * (width / view.ladder.width())));
  image = view.element("canvas", {id: "print-ladder", width: width * sharpness, height: height * sharpness});
  view.ladder.paint(image.getContext("2d", {alpha: false}), width, height, sharpness);
  view.byId("ladder-box").append(image);
  const [begin, end] = view.range.times();
  view.byId("ends").dataset.printed = `${view.time.exact(begin)} to ${view.time.exact(end)}`;
  view.legend.draw();
}

function after() {
  if (image) image.remove();
  image = undefined;
  view.theme.inLight(false);
  view.tell("theme");
}

function start() {
  window.addEventListener("beforeprint", before);
  window.addEventListener("afterprint", after);
  view.byId("print").addEventListener("click", () => window.print());
}

view.print = {
  start,
  before,
  after
};
})(window.view);
