// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ExactFault: what happens to certain packets, as the user wrote it, as a value.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/fault/packet_choice.h"
#include "drivers/fault/packet_field.h"
#include "transport/result.h"
#include "transport/time.h"

namespace urnic::drivers {

/// Written "drop:kind=ack:psn=7": an action, then what it needs and which packets it is for, in any order,
/// each at most once. drivers/fault/FAULTS.md has all words.
struct ExactFault {
  enum class Action : std::uint8_t { kDrop, kDuplicate, kReorder, kDelay, kCorrupt, kMarkCe, kSet };

  struct FieldValue {
    const PacketField* field = nullptr;
    std::uint64_t value = 0;
  };

  static constexpr std::uint64_t kAlways = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint32_t kMaxBehind = 64;
  static constexpr transport::Duration kMaxDelay = std::chrono::seconds(10);

  Action action{};
  PacketChoice packets{};
  std::uint64_t nth = 1;    ///< of the packets that fit, from which one on
  std::uint64_t times = 1;  ///< how many of them; kAlways is the default where `probability` is given
  double probability = 1;   ///< 0 to 1, for each of them

  std::uint32_t behind = 3;           ///< kReorder: how many later frames go first, 1 to kMaxBehind
  transport::Duration delay{};        ///< kDelay: how much later it goes, above 0 and up to kMaxDelay
  bool is_icrc_right = false;         ///< kCorrupt, kSet: the ICRC is made to fit what the packet has become
  std::optional<std::size_t> byte{};  ///< kCorrupt: from the BTH's first one; drawn otherwise
  std::vector<FieldValue> fields{};   ///< kSet

  std::string text{};  ///< as it was written

  /// Whether `item` begins as an exact fault does, so that parse() has the say.
  static bool is_one(std::string_view item);
  /// The error says what is wrong and what there is.
  static Result<ExactFault, Error> parse(std::string_view text);
};

}  // namespace urnic::drivers
