// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PlayedBench: the bench's end of a wire, whose messages the test writes and reads byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "drivers/descriptor.h"

namespace urnic::drivers::test {

using Bytes = std::vector<std::uint8_t>;

/// Writes messages as BENCH.md has them, not by the code that it tests.
struct Written {
  static Bytes hello(std::uint64_t latency_ps, std::uint16_t mtu = 9000, std::uint32_t version = 1);
  static Bytes grant(std::uint64_t time_ps);
  static Bytes frame(std::uint64_t time_ps, const Bytes& frame);
};

class PlayedBench {
 public:
  /// A socket pair; the other end is the link's.
  PlayedBench();

  Descriptor take_link_end() { return std::move(link_end_); }
  int socket() const { return own_end_.get(); }
  void send(const Bytes& message) const;
  /// The next message that has come; empty if none has.
  Bytes read() const;
  /// Until a grant of that time comes; what stands before it.
  std::vector<Bytes> read_until_grant(std::uint64_t time_ps) const;
  void hang_up() { own_end_.reset(); }

 private:
  Descriptor own_end_;
  Descriptor link_end_;
};

}  // namespace urnic::drivers::test
