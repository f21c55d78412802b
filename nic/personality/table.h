// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The table of personalities: one row a behaviour, one column a NIC, and in each cell from where it is known.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nic/personality/personality.h"

namespace urnic::nic {

/// What a cell stands on.
enum class Standing : std::uint8_t {
  kOwn,         ///< urnic's own behaviour; of the first column only
  kMeasured,    ///< on the NIC, by the source
  kRead,        ///< in the source code of the driver or of the library, by us
  kDocumented,  ///< by the vendor, or in a manual page
  kReported,    ///< by users
  kUnknown,     ///< urnic has found no source, and behaves as by default
  kSmallest,    ///< the smallest of the other columns
  kAs,          ///< as another column: of "strict" only
};

std::string_view name_of(Standing standing);

struct Cell {
  std::uint64_t value = 0;  ///< of kAs the column
  Standing standing = Standing::kUnknown;
  std::string_view source{};
};

/// Cells of one column after the other, in the order of Column.
using Cells = std::array<Cell, kColumnCount>;

struct Row {
  std::string_view name;     ///< as people write it: "send-room"
  std::string_view meaning;  ///< a sentence's beginning: "the room of a send comes back"
  Cells cells;
  std::uint64_t most;  ///< of a number: what urnic itself can
  void (*set)(Personality& personality, std::uint64_t value);
  std::string (*words)(std::uint64_t value);
};

/// In the order in which people are shown them.
std::span<const Row> behaviour_rows();
std::span<const Row> number_rows();

/// Calls `visit` with each row.
template <typename Visit>
void for_each_row(Visit visit) {
  for (const Row& row : behaviour_rows()) visit(row);
  for (const Row& row : number_rows()) visit(row);
}

/// What the cell says: the default's if nothing is known.
std::uint64_t value_of(const Row& row, Column column);
/// What urnic does then: the same, or less where it cannot do as much.
inline std::uint64_t granted_value(const Row& row, Column column) {
  return std::min(value_of(row, column), row.most);
}

/// What programs may notice of a NIC and urnic does not imitate, in any column.
struct NotImitated {
  std::string_view name;
  std::string_view what;
};
std::span<const NotImitated> not_imitated();

/// The column of that name.
std::optional<Column> column_named(std::string_view name);

}  // namespace urnic::nic
