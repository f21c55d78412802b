// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Credits: how many receives the peer says it has posted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "transport/send_queue.h"
#include "transport/types.h"

namespace urnic::transport {

/// A responder may put credits into its acknowledgements: the receives posted beyond the message that the MSN
/// names. They only ever hold back what consumes a receive, and never all of it: without credits one such
/// request at a time goes out, which an RNR NAK may answer (fact 19).
class Credits {
 public:
  void start() { is_limited_ = false; }

  /// What the code (0..31) of an ACK says; nothing for 31.
  static constexpr std::optional<std::uint32_t> of_code(std::uint8_t code) {
    if (code == kNoInformation) return std::nullopt;
    return kCredits[code];
  }

  /// An ACK came with `code` (0..31) and `msn`.
  void on_acknowledge(std::uint8_t code, std::uint32_t msn) {
    const std::optional<std::uint32_t> credits = of_code(code);
    is_limited_ = credits.has_value();
    if (credits) limit_ = (msn + *credits) & Psn::kMask;
  }

  /// Whether the peer has a receive for this work request, for all that it told.
  bool cover(const SendWqe& wqe) const {
    return !is_limited_ || distance(Psn(wqe.message_number), Psn(limit_)) >= 0;
  }

 private:
  static constexpr std::uint8_t kNoInformation = 31;
  // The encoding of the InfiniBand specification's credit count as the rdmavt driver of Linux has it (rc.c).
  static constexpr std::array<std::uint32_t, 31> kCredits = {
      0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
      256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

  bool is_limited_ = false;
  std::uint32_t limit_ = 0;
};

}  // namespace urnic::transport
