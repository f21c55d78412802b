// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The part of time that is visible, in places of the scale: begin and end.
(function(view) {
const shortest = 10;  // nanoseconds
const readable = 30;  // pixels for an arrow with its label
const range = {
  begin: 0,
  end: 1
};
let target = {begin: 0, end: 1};
let timer;

const isStill = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

function limit(begin, end) {
  const all = Math.max(view.scale.length, shortest);
  const span = Math.min(Math.max(end - begin, shortest), all * 1.12);
  const edge = Math.max(span * 0.06, (span - all) / 2);
  const first = Math.max(-edge, Math.min(begin + (end - begin - span) / 2, all + edge - span));
  return {begin: first, end: first + span};
}

function put(next) {
  range.begin = next.begin;
  range.end = next.end;
  view.tell("range");
}

function set(begin, end, isSlow) {
  if (timer) timer.stop();
  timer = undefined;
  target = limit(begin, end);
  if (!isSlow || isStill()) return put(target);
  const from = {begin: range.begin, end: range.end}, to = target;
  timer = d3.timer((elapsed) => {
    const part = d3.easeCubicOut(Math.min(1, elapsed / 180));
    put({begin: from.begin + (to.begin - from.begin) * part, end: from.end + (to.end - from.end) * part});
    if (elapsed >= 180) timer.stop();
  });
}

// anchor: the place that stays where it is.
function zoom(factor, anchor, isSlow) {
  const at = anchor === undefined ? (target.begin + target.end) / 2 : anchor;
  set(at - (at - target.begin) * factor, at + (target.end - at) * factor, isSlow);
}

function scroll(part, isSlow) {
  const by = (target.end - target.begin) * part;
  set(target.begin + by, target.end + by, isSlow);
}

function fit(isSlow) {
  const edge = Math.max(view.scale.length * 0.03, shortest / 2);
  set(-edge, view.scale.length + edge, isSlow);
}

// As long as arrows near this place have room for labels.
function toReadable(place, isSlow) {
  const {lane, scale} = view;
  const height = view.ladder.height() || 500;
  const many = Math.max(4, Math.floor(height / readable));
  if (lane.size <= many) return fit(isSlow);
  const middle =
      place === undefined ? 0 : Math.max(0, d3.bisectLeft(lane.begin, scale.timeOf(place)) - (many >> 1));
  const first = Math.min(middle, lane.size - many);
  const begin = first === 0 ? Math.min(0, scale.placeOf(lane.begin[0])) : scale.placeOf(lane.begin[first]);
  const end = scale.placeOf(lane.begin[Math.min(lane.size - 1, first + many - 1)]);
  const edge = (end - begin) * 0.04;
  set(begin - edge, end + edge, isSlow);
}

// Scrolls no more than needed to have these times on the screen.
function show(first, last, isSlow) {
  const begin = view.scale.placeOf(first), end = view.scale.placeOf(last);
  const span = target.end - target.begin, edge = span * 0.12;
  if (begin >= target.begin + edge && end <= target.end - edge) return;
  if (end - begin > span * 0.8) return set(begin - (end - begin) * 0.2, end + (end - begin) * 0.2, isSlow);
  if (begin < target.begin + edge && begin > target.begin - span / 2)
    return set(begin - edge, begin - edge + span, isSlow);
  if (end > target.end - edge && end < target.end + span / 2)
    return set(end + edge - span, end + edge, isSlow);
  set((begin + end - span) / 2, (begin + end + span) / 2, isSlow);
}

const times = () => [view.scale.timeOf(range.begin), view.scale.timeOf(range.end)];
const targetTimes = () => [view.scale.timeOf(target.begin), view.scale.timeOf(target.end)];
view.range = Object.assign(range, {set, zoom, scroll, fit, toReadable, show, times, targetTimes});
})(window.view);
