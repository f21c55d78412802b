// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Time to place and back. A place is a time from which pauses may have been cut: the ladder and the plots
// share it.
(function(view) {
// A pause longer than so many usual steps, or flights, is cut to that length.
const pauseInSteps = 5, pauseInFlights = 2;

// One piece: nothing is cut.
function real(lane) {
  return make([{begin: lane.first, end: lane.last, place: 0}], 0);
}

// Stretches of time in which something happens, with pauses of one length between them.
function cut(lane) {
  const steps = [];
  for (let at = 1; at < lane.size; ++at) {
    const step = lane.begin[at] - lane.begin[at - 1];
    if (step > 0) steps.push(step);
  }
  const usual = pauseInSteps * view.median(steps);
  const pause = Math.max(
      1, Math.round(lane.flight > 0 ? Math.min(usual || Infinity, pauseInFlights * lane.flight) : usual));
  const spans = [];
  const add = (begin, end) => {
    const last = spans[spans.length - 1];
    if (last !== undefined && begin - last.end <= pause)
      last.end = Math.max(last.end, end);
    else
      spans.push({begin, end});
  };
  let note = 0;
  for (let at = 0; at <= lane.size; ++at) {
    const until = at < lane.size ? lane.begin[at] : Infinity;
    for (; note < lane.note.length && lane.noteTime[note] <= until; ++note)
      add(lane.noteTime[note], lane.noteTime[note]);
    if (at < lane.size) add(lane.begin[at], lane.end[at]);
  }
  if (spans.length === 0) return real(lane);
  let place = 0;
  for (const span of spans) {
    span.place = place;
    place += span.end - span.begin + pause;
  }
  return make(spans, pause);
}

function make(spans, pause) {
  const times = spans.map((span) => span.begin), places = spans.map((span) => span.place);
  const last = spans[spans.length - 1];
  spans.forEach((span, at) => {
    span.next = spans[at + 1];
  });
  const length = last.place + last.end - last.begin;
  // Inside of a pause, time runs faster.
  function placeOf(time) {
    const at = Math.max(0, d3.bisectRight(times, time) - 1), span = spans[at];
    if (time <= span.end || at === spans.length - 1) return span.place + time - span.begin;
    const next = spans[at + 1];
    return span.place + span.end - span.begin + ((time - span.end) / (next.begin - span.end)) * pause;
  }
  function timeOf(place) {
    const at = Math.max(0, d3.bisectRight(places, place) - 1), span = spans[at];
    const inside = place - span.place, long = span.end - span.begin;
    if (inside <= long || at === spans.length - 1) return span.begin + inside;
    const next = spans[at + 1];
    return span.end + ((inside - long) / pause) * (next.begin - span.end);
  }
  // Spans that touch these places.
  function spansIn(begin, end) {
    const first = Math.max(0, d3.bisectRight(places, begin) - 1);
    return spans.slice(first, Math.max(first + 1, d3.bisectRight(places, end)));
  }
  return {spans, pause, length, placeOf, timeOf, spansIn};
}

// Real time is shown first, unless pauses are most of it: then one would see a line, and nothing beside it.
function isCutBetter(lane, shortened) {
  return lane.size > 1 && lane.last - lane.first > 4 * shortened.length;
}

// wanted: true, false, or undefined for what is better.
view.setCut = function(wanted) {
  const shortened = cut(view.lane);
  view.isCut = wanted === undefined ? isCutBetter(view.lane, shortened) : wanted;
  view.scale = view.isCut ? shortened : real(view.lane);
  view.tell("scale");
};
})(window.view);
