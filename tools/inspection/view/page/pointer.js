// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Mouse, pen and finger over the ladder: choose, scroll, zoom, move the cursor.
(function(view) {
let pressed;

const inside = (event) => {
  const box = view.byId("ladder").getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};
const placeAt = (y) => view.range.begin + (y / view.ladder.height()) * (view.range.end - view.range.begin);
const isInGutter = (x) => x < view.gutter.width;

function wheel(event) {
  event.preventDefault();
  const pixels = event.deltaMode === 1 ? event.deltaY * 16 :
      event.deltaMode === 2            ? event.deltaY * 400 :
                                         event.deltaY;
  if (event.ctrlKey || event.metaKey)
    return view.range.zoom(Math.exp(Math.max(-60, Math.min(60, pixels)) * 0.006), placeAt(inside(event)[1]));
  view.range.scroll(pixels / view.ladder.height());
}

function down(event) {
  if (event.button !== 0) return;
  const [x, y] = inside(event);
  pressed = {x, y, begin: view.range.begin, end: view.range.end, isCursor: isInGutter(x)};
  view.byId("ladder").setPointerCapture(event.pointerId);
  if (pressed.isCursor) view.select.setCursor(view.ladder.timeAt(y));
  hideTip();
}

function move(event) {
  const [x, y] = inside(event);
  if (pressed === undefined) return showTip(x, y);
  if (pressed.isCursor) return view.select.setCursor(view.ladder.timeAt(y));
  if (Math.abs(y - pressed.y) > 4) pressed.isDrag = true;
  if (!pressed.isDrag) return;
  const by = ((y - pressed.y) / view.ladder.height()) * (pressed.end - pressed.begin);
  view.range.set(pressed.begin - by, pressed.end - by);
}

function up(event) {
  if (pressed === undefined) return;
  const {isDrag, isCursor} = pressed;
  pressed = undefined;
  if (isDrag || isCursor) return;
  const [x, y] = inside(event);
  const found = view.ladder.hit(x, y);
  if (found === undefined) {
    view.select.clear();
    view.select.setCursor(view.ladder.timeAt(y));
  } else if (found.packet !== undefined)
    view.select.packet(found.packet);
  else
    view.select.note(found.note);
}

function tipLines(found) {
  if (found.note !== undefined) {
    const note = view.data.notes[found.note];
    return [
      view.words.noteWords(note), view.time.exact(note.time),
      ...(note.members ? Object.entries(note.members)
                             .slice(0, 5)
                             .map(([name, value]) => `${name}: ${view.valueText(name, value)}`) :
                         [])
    ];
  }
  const packet = view.data.packets[found.packet];
  const [sent, received] = view.timesOf(packet);
  const times = sent === received ? view.time.exact(sent) :
                                    `${view.time.exact(sent)}, took ${view.time.duration(received - sent)}`;
  return [
    packet.label || packet.kind, view.words.numbers(packet), times, view.words.flags(packet).join(", "),
    ...view.words.comments(packet)
  ];
}

function showTip(x, y) {
  const found = view.ladder.hit(x, y);
  const tip = view.byId("tip");
  view.byId("ladder").style.cursor = found ? "pointer" : isInGutter(x) ? "row-resize" : "default";
  if (found === undefined) return hideTip();
  tip.replaceChildren(...tipLines(found).filter(Boolean).map((text) => view.element("div", {}, text)));
  tip.hidden = false;
  const left = Math.min(x + 14, view.ladder.width() - tip.offsetWidth - 4);
  const above = y + 16 + tip.offsetHeight > view.ladder.height();
  tip.style.transform = `translate(${Math.max(2, left)}px, ${above ? y - tip.offsetHeight - 10 : y + 16}px)`;
}

function hideTip() {
  view.byId("tip").hidden = true;
}

function start() {
  const ladder = view.byId("ladder");
  ladder.addEventListener("wheel", wheel, {passive: false});
  ladder.addEventListener("pointerdown", down);
  ladder.addEventListener("pointermove", move);
  ladder.addEventListener("pointerup", up);
  ladder.addEventListener("pointercancel", () => {
    pressed = undefined;
  });
  ladder.addEventListener("pointerleave", hideTip);
  view.listen("range", "tip", hideTip);
}

view.pointer = {start};
})(window.view);
