// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QpHistory: what happened last on one queue pair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/opcode.h"

namespace urnic::nic {

/// A packet or a timeout; or several successive packets that did the same.
struct QpHistoryEvent {
  enum class Kind : std::uint8_t {
    kSent,
    kNotSent,  ///< made and thrown away: the peer's MAC is not known
    kReceived,
    kAckTimeout,
  };

  transport::Time at{};  ///< of the first packet
  Kind kind = Kind::kSent;
  transport::wire::Opcode first_opcode{};  ///< of packets, as what follows
  transport::Psn first_psn{};
  bool has_syndrome = false;
  std::uint8_t syndrome = 0;
  std::uint8_t retries_used = 0;  ///< of a timeout: before it
  std::uint32_t packets = 1;
  std::uint64_t all_payload_bytes = 0;
  transport::wire::Opcode opcode{};  ///< of the last packet, as what follows
  transport::Psn psn{};
  std::uint32_t payload_bytes = 0;
  transport::Time until{};
};

/// A ring of the last ones, and what has to be known of those before.
class QpHistory {
 public:
  static constexpr std::size_t kKept = 16;

  /// Of one packet or timeout.
  void add(QpHistoryEvent event) {
    event.first_opcode = event.opcode;
    event.first_psn = event.psn;
    event.all_payload_bytes = event.payload_bytes;
    event.until = event.at;
    ++count_;
    if (entries_ == 0 || !goes_on(ring_[(entries_ - 1) % kKept], event)) {
      ring_[entries_++ % kKept] = event;
      return;
    }
    QpHistoryEvent& before = ring_[(entries_ - 1) % kKept];
    ++before.packets;
    before.all_payload_bytes += event.payload_bytes;
    before.opcode = event.opcode;
    before.psn = event.psn;
    before.payload_bytes = event.payload_bytes;
    before.until = event.at;
  }

  /// Calls visit(const QpHistoryEvent&) for those that are kept, oldest first.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::uint64_t i = entries_ > kKept ? entries_ - kKept : 0; i < entries_; ++i) {
      visit(ring_[i % kKept]);
    }
  }
  /// How many packets and timeouts there were ever.
  std::uint64_t count() const { return count_; }

  std::uint64_t received = 0;          ///< packets, ever
  std::uint64_t received_answers = 0;  ///< acknowledgements, NAKs and responses among them
  std::uint64_t foreign_answers = 0;   ///< among those, for a PSN that no request had
  transport::Psn foreign_psn{};        ///< of the last of these
  transport::Psn first_request{};      ///< the PSN that requests begin with
  transport::Psn last_request{};       ///< the latest PSN of one that was sent
  transport::Time last_received{};
  std::uint32_t rnr_naks = 0;       ///< since the last acknowledgement or response
  transport::Time first_rnr_nak{};  ///< of those
  std::uint8_t rnr_timer_code = 0;  ///< of the last of them
  std::uint32_t sequence_naks = 0;  ///< since the last acknowledgement or response

 private:
  /// The same again, with a later PSN: what repeats something earlier is an event of its own.
  static bool goes_on(const QpHistoryEvent& before, const QpHistoryEvent& now) {
    using transport::wire::info;
    return before.kind == now.kind && now.kind != QpHistoryEvent::Kind::kAckTimeout &&
           info(before.opcode).operation == info(now.opcode).operation &&
           before.has_syndrome == now.has_syndrome && before.syndrome == now.syndrome &&
           distance(before.psn, now.psn) > 0;
  }

  std::array<QpHistoryEvent, kKept> ring_{};
  std::uint64_t entries_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace urnic::nic
