// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Work requests as values, and short names for making them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/qp_packets.h"
#include "transport/types.h"
#include "transport/work_request.h"

namespace urnic::transport::test {

/// A send work request, signaled unless said otherwise. Without elements or inline data its message is empty.
struct SendWr {
  SendRequest request;
  std::vector<Sge> sges;
  std::optional<Bytes> inline_data;

  SendWr unsignaled() const;
  SendWr solicited() const;
  SendWr fenced() const;
  SendWr with_immediate(std::uint32_t immediate) const;
  SendWr from_elements(std::vector<Sge> elements) const;
  SendWr with_inline(Bytes data) const;
  SendWr to(Remote remote) const;
};

/// Memory of our own: sent from by default, and read into.
inline constexpr std::uint64_t kLocalAddress = 0x10000;
inline constexpr Lkey kLocalKey{0xa0};
/// Memory that posted receives point to.
inline constexpr std::uint64_t kReceiveAddress = 0x30000;
inline constexpr Lkey kReceiveKey{0xc0};

/// `length` bytes at the start of our own memory.
constexpr Sge local(std::uint32_t length, std::uint64_t offset = 0) {
  return {.address = kLocalAddress + offset, .length = length, .lkey = kLocalKey};
}

SendWr send_wr(std::uint64_t wr_id, std::uint32_t length);
SendWr write_wr(std::uint64_t wr_id, std::uint32_t length, Remote to = kShared);
SendWr read_wr(std::uint64_t wr_id, std::uint32_t length, Remote from = kShared);

}  // namespace urnic::transport::test
