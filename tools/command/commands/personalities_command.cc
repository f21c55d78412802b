// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/personalities_command.h"

#include <fmt/core.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "nic/personality/table.h"
#include "tools/command/console.h"
#include "verbs_api/config/environment_values.h"

namespace urnic::tools {
namespace {

using nic::Cell;
using nic::Column;
using nic::Row;
using nic::Standing;

constexpr const char* kPersonalitiesFooter =
    R"(A personality is what 'urnic run --like NAME' makes of the NIC: room in queues, errors of posts,
fields of completions, limits, and times. Where no source tells what a NIC does, urnic does as by default.

  urnic personalities                  every behaviour, and which NIC has which
  urnic personalities connectx6        one NIC, with what each row stands on
  urnic personalities e810 --json      for programs

PERSONALITIES.md, below share/doc/urnic, says what the words mean.

Exit code: 0, or 2 for a name that there is not.)";

std::vector<Column> all_columns() {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < nic::kColumnCount; ++i) columns.push_back(static_cast<Column>(i));
  return columns;
}

const Cell& cell_of(const Row& row, Column column) {
  return row.cells[static_cast<std::size_t>(column)];
}

/// What the device does; and what the NIC does, where that is more.
std::string value_text(const Row& row, Column column) {
  const std::uint64_t value = value_of(row, column);
  const std::uint64_t granted = granted_value(row, column);
  if (value == granted) return row.words(value);
  return fmt::format("{}; urnic grants {}", row.words(value), row.words(granted));
}

std::string standing_text(const Row& row, Column column) {
  const Cell& cell = cell_of(row, column);
  switch (cell.standing) {
    case Standing::kOwn:
      return column == Column::kDefault ? "urnic" : "urnic's choice";
    case Standing::kUnknown:
      return "unknown: as urnic by default";
    case Standing::kAs:
      return fmt::format("as {}", name_of(static_cast<Column>(cell.value)));
    case Standing::kSmallest:
      return std::string(cell.source);
    default:
      return fmt::format("{}: {}", name_of(cell.standing), cell.source);
  }
}

nlohmann::ordered_json json_of(Column column) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  nic::for_each_row([&](const Row& row) {
    const Cell& cell = cell_of(row, column);
    nlohmann::ordered_json one = {{"name", row.name},
                                  {"meaning", row.meaning},
                                  {"value", row.words(value_of(row, column))},
                                  {"granted", row.words(granted_value(row, column))},
                                  {"standing", name_of(cell.standing)},
                                  {"source", standing_text(row, column)}};
    rows.push_back(std::move(one));
  });
  return {{"name", name_of(column)}, {"rows", rows}};
}

nlohmann::ordered_json json_of(const std::vector<Column>& columns) {
  nlohmann::ordered_json personalities = nlohmann::ordered_json::array();
  for (const Column column : columns) personalities.push_back(json_of(column));
  nlohmann::ordered_json missing = nlohmann::ordered_json::array();
  for (const nic::NotImitated& each : nic::not_imitated()) {
    missing.push_back({{"name", each.name}, {"what", each.what}});
  }
  return {{"personalities", personalities}, {"not_imitated", missing}};
}

void print_not_imitated() {
  fmt::print("\nnot imitated, and as urnic by default in all of them:\n");
  for (const nic::NotImitated& each : nic::not_imitated()) {
    fmt::print("  {:<30} {}\n", each.name, each.what);
  }
}

void print_column(Column column) {
  nic::for_each_row([&](const Row& row) {
    fmt::print("{}\n  {} {}\n  {}\n", row.name, row.meaning, value_text(row, column),
               standing_text(row, column));
  });
  print_not_imitated();
}

void print_table() {
  nic::for_each_row([](const Row& row) {
    fmt::print("{}: {}\n", row.name, row.meaning);
    for (const Column column : all_columns()) {
      const bool is_unknown = cell_of(row, column).standing == Standing::kUnknown;
      fmt::print("  {:<10} {}{}\n", name_of(column), value_text(row, column),
                 is_unknown ? " (unknown: as by default)" : "");
    }
  });
  print_not_imitated();
}

}  // namespace

PersonalitiesCommand::PersonalitiesCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = app.add_subcommand(
      "personalities", "Show which NICs urnic can be like, and in what: urnic personalities [NAME]");
  command->footer(kPersonalitiesFooter);
  command->add_option("name", name_, "One of them; all beside each other without it")->type_name("NAME");
  command->add_flag("--json", json_, "Print it as JSON, for programs");
  command->callback([this, &invocation] { invocation.exit_code = run(); });
}

int PersonalitiesCommand::run() const {
  if (name_.empty()) {
    if (!json_) print_table();
    if (json_) fmt::print("{}\n", json_of(all_columns()).dump(1));
    return 0;
  }
  const auto column = verbs_api::parse_personality(name_);
  if (!column) {
    complain(fmt::format("'{}' is {}", name_, column.error().message));
    return kExitUsage;
  }
  if (!json_) print_column(column.value());
  if (json_) fmt::print("{}\n", json_of(std::vector{column.value()}).dump(1));
  return 0;
}

}  // namespace urnic::tools
