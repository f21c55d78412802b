// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Puts the page together.
(function(view) {
// For tests and scripts: what the page shows. The state of the ends at the cursor is in `ends`.
function report() {
  const drawn = view.ladder.drawn();
  const [begin, end] = view.range.targetTimes();
  const ends = [0, 1].map((one) => Object.fromEntries([
    ...view.endStates.at(one, view.cursor === undefined ? end : view.cursor).members
  ].map(([name, member]) => [name, member.value])));
  return {
    packet: view.selected ? view.selected.packet : undefined,
    note: view.selected ? view.selected.note : undefined,
    connection: view.chosen,
    cursor: view.cursor,
    begin,
    end,
    isCut: view.isCut,
    isDark: view.theme.isDark(),
    ends,
    shown: d3.sum(view.filter.isShown),
    drawn: drawn.lines.length,
    isThin: drawn.isThin,
    notes: drawn.signs.length,
    matches: view.search.results.length,
    plots: view.plots.drawn,
    firstDraw: view.ladder.firstDraw(),
  };
}

function firstConnection() {
  return view.connections
      .reduce((best, one) => (one.packets.length > 0 && best.packets.length === 0 ? one : best))
      .index;
}

function start() {
  const source = view.byId("data");
  try {
    view.load(source.textContent);
  } catch (error) {
    view.byId("banners").textContent = `The data of this page cannot be read: ${error.message}`;
    return;
  }
  source.textContent = "";
  view.theme.apply();
  view.banners.draw();
  view.connectionList.draw();
  view.findings.draw();
  for (const part of [view.ladder, view.overview, view.pointer, view.search, view.keyboard, view.print])
    part.start();
  view.select.choose(firstConnection());
  view.ladder.draw();
  view.plots.start();
}

view.state = report;
start();
})(window.view);
