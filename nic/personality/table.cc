// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/personality/table.h"

#include <algorithm>

namespace urnic::nic {
namespace {

constexpr std::array<std::string_view, kColumnCount> kColumnNames = {"default", "connectx5", "connectx6",
                                                                     "e810",    "rxe",       "strict"};

constexpr NotImitated kNotImitated[] = {
    {"identity", "names stay urnic's; vendor_id, fw_ver and board_id do unless --like says NAME,identity"},
    {"capability-flags", "device_cap_flags, and the operations that can use on-demand paging"},
    {"clock", "the rate of hca_core_clock"},
    {"moving-gids", "a ConnectX may have an address at another index after its link was down"},
    {"virtual-lanes", "max_vl_num, which ConnectX leaves at 0"},
    {"members-of-all-groups", "max_total_mcast_qp_attach, since urnic counts members of groups"},
    {"uncounted", "counters of a driver's list that urnic does not count; that mlx5's counters wrap at 2^32"},
    {"congestion-notifications", "how often each NIC sends them, and which it counts"},
    {"migration-bit", "MigReq of E810 in each packet"},
    {"data-in-completions", "mlx5 may copy short messages out of the completion when it is polled"},
    {"quanta", "E810 takes more room for large requests, and pads"},
};

Personality make(Column column) {
  Personality personality;
  for_each_row([&](const Row& row) { row.set(personality, granted_value(row, column)); });
  return personality;
}

}  // namespace

std::string_view name_of(Column column) {
  return kColumnNames[static_cast<std::size_t>(column)];
}

std::optional<Column> column_named(std::string_view name) {
  const auto* const found = std::ranges::find(kColumnNames, name);
  if (found == kColumnNames.end()) return std::nullopt;
  return static_cast<Column>(found - kColumnNames.begin());
}

std::string_view name_of(Standing standing) {
  switch (standing) {
    case Standing::kOwn:
      return "urnic";
    case Standing::kMeasured:
      return "measured";
    case Standing::kRead:
      return "read";
    case Standing::kDocumented:
      return "documented";
    case Standing::kReported:
      return "reported";
    case Standing::kUnknown:
      return "unknown";
    case Standing::kSmallest:
      return "smallest";
    case Standing::kAs:
      return "as";
  }
  return "";
}

std::uint64_t value_of(const Row& row, Column column) {
  const Cell& cell = row.cells[static_cast<std::size_t>(column)];
  const auto others = std::span(row.cells).first<kColumnCount - 1>();
  switch (cell.standing) {
    case Standing::kUnknown:
      return row.cells.front().value;
    case Standing::kSmallest: {
      std::uint64_t least = others.front().value;
      for (const Cell& other : others) {
        if (other.standing != Standing::kUnknown) least = std::min(least, other.value);
      }
      return least;
    }
    case Standing::kAs:
      return value_of(row, static_cast<Column>(cell.value));
    default:
      return cell.value;
  }
}

std::span<const NotImitated> not_imitated() {
  return kNotImitated;
}

const Personality& personality_of(Column column) {
  static const std::array<Personality, kColumnCount> all = {
      make(Column::kDefault), make(Column::kConnectX5), make(Column::kConnectX6),
      make(Column::kE810),    make(Column::kRxe),       make(Column::kStrict)};
  return all[static_cast<std::size_t>(column)];
}

}  // namespace urnic::nic
