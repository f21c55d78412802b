// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How the sheet looks, on paper and on a screen.
#pragma once

namespace urnic::sheet {

inline constexpr const char* kStyle = R"css(
:root { --ink: #000; --paper: #fff; --line: #888; --soft: #ddd; --ones: #e4e4e4; color-scheme: light dark; }
* { box-sizing: border-box; }
html { font: 13px/1.3 "Liberation Sans", Arial, Helvetica, "DejaVu Sans Condensed", sans-serif; color: var(--ink); background: var(--paper); }
body { max-width: 96em; margin: 0 auto; padding: 1em; }
h1 { font-size: 1.7em; margin: 0 0 .2em; }
h2 { font-size: 1.25em; margin: 1em 0 .35em; border-bottom: 1px solid var(--ink); break-after: avoid; }
p { margin: .4em 0; break-after: avoid; }
table { border-collapse: collapse; width: 100%; margin: 0 0 .7em; }
caption { text-align: left; font-weight: bold; padding: .15em 0; }
th, td { text-align: left; vertical-align: baseline; padding: .1em .8em .1em 0; font-weight: normal; }
thead th { font-weight: bold; border-bottom: 1px solid var(--line); }
tbody tr + tr > * { border-top: 1px solid var(--soft); }
table.codes td, table.codes thead th { text-align: right; vertical-align: bottom; font-variant-numeric: tabular-nums; }
table.codes tr > :first-child { text-align: left; }
table.codes th, table.codes td { padding-right: .4em; }
.code { white-space: nowrap; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

.header { display: grid; grid-template-columns: minmax(0, 47fr) minmax(0, 53fr); gap: 0 1.2em; }
table.bits { table-layout: fixed; height: min-content; }
table.bits thead th { border: 0; padding: 0; text-align: center; font-weight: normal; font-size: .62em; color: var(--ink); }
table.bits tr > th:first-child { width: 5%; padding: 0 .3em 0 0; text-align: right; vertical-align: middle; font-size: .75em; border: 0; }
table.bits thead th:first-child { font-size: .62em; }
table.bits tbody td { border: 1px solid var(--ink); padding: .15em 0; text-align: center; vertical-align: middle; font-size: .85em; line-height: 1.1; }
table.bits td.ones { background: var(--ones); }
.upright { display: inline-block; writing-mode: vertical-rl; transform: rotate(180deg); white-space: nowrap; line-height: 1; }
table.fields { align-self: start; }
table.fields thead th:nth-child(1) { width: 22%; }
table.fields thead th:nth-child(2) { width: 10%; }
table.fields td { text-wrap: pretty; }
table.fields td:nth-child(2) { white-space: nowrap; }

.quarters { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 0 1.6em; align-items: start; }
.opcodes { columns: 2; column-gap: 1.6em; }
.opcodes th, .opcodes td { padding-right: .5em; }
.opcodes thead th:nth-child(1) { width: 9%; }
.opcodes thead th:nth-child(3) { width: 28%; }
.opcodes thead th:nth-child(4), .opcodes thead th:nth-child(5) { width: 10%; }
table.attributes thead th:nth-child(1) { width: 24%; }
table.attributes thead th:nth-child(2) { width: 6%; }
table.attributes thead th:nth-child(3) { width: 36%; }
.needed { font-weight: bold; }

@media screen and (max-width: 60em) {
  section { overflow-x: auto; }
  .header, .quarters { display: block; }
  .opcodes { columns: 1; }
}
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #16181c; --line: #888; --soft: #3a3d44; --ones: #3b3f49; }
}
@media print {
  @page { size: A4 portrait; margin: 11mm 10mm; @bottom-right { content: counter(page) " / " counter(pages); font: 7pt sans-serif; } }
  :root { color-scheme: light; }
  html { font-size: 7pt; line-height: 1.22; }
  body { max-width: none; padding: 0; }
  .header, tr, .opcodes, .opcodes table, table.attributes, .quarters, .whole { break-inside: avoid; }
  thead { display: table-header-group; }
  table.bits td.ones { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";

}  // namespace urnic::sheet
