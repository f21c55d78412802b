// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The opcodes of the packets that a message with a payload is cut into.
#pragma once

#include <cstddef>
#include <iterator>

#include "transport/wire/opcode.h"
#include "transport/work_request.h"

namespace urnic::transport {

/// What the messages of one operation consist of.
struct DataOpcodes {
  wire::Opcode first, middle, last, only;
};

/// RC's opcodes for an operation that carries a payload: SEND and WRITE in their forms. Null for any other.
/// wire::with_service() makes the opcodes of UC and XRC from them.
inline const DataOpcodes* find_data_opcodes(SendOperation operation) {
  using enum wire::Opcode;
  // In the order of SendOperation, of which they are the first.
  static constexpr DataOpcodes kRows[] = {
      {kRcSendFirst, kRcSendMiddle, kRcSendLast, kRcSendOnly},
      {kRcSendFirst, kRcSendMiddle, kRcSendLastWithImmediate, kRcSendOnlyWithImmediate},
      {kRcSendFirst, kRcSendMiddle, kRcSendLastWithInvalidate, kRcSendOnlyWithInvalidate},
      {kRcWriteFirst, kRcWriteMiddle, kRcWriteLast, kRcWriteOnly},
      {kRcWriteFirst, kRcWriteMiddle, kRcWriteLastWithImmediate, kRcWriteOnlyWithImmediate},
  };
  constexpr std::size_t kCount = static_cast<std::size_t>(SendOperation::kWriteWithImmediate) + 1;
  static_assert(std::size(kRows) == kCount, "a row for each operation that carries a payload, and no other");
  return operation <= SendOperation::kWriteWithImmediate ? &kRows[static_cast<std::size_t>(operation)]
                                                         : nullptr;
}

constexpr wire::Opcode opcode_at(const DataOpcodes& opcodes, bool is_first, bool is_last) {
  if (is_first) return is_last ? opcodes.only : opcodes.first;
  return is_last ? opcodes.last : opcodes.middle;
}

}  // namespace urnic::transport
