// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Judges the message sequence numbers of a responder.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/conformance/check/models/exchange.h"
#include "tools/conformance/check/packets/seen.h"

namespace urnic::check {

/// What a responder did between two answers.
struct MessageCount {
  std::uint32_t completed = 0;     ///< messages, READs when they began to be answered (fact 20)
  std::uint32_t plain_writes = 0;  ///< of these messages: WRITEs without immediate
  std::uint32_t fetches = 0;       ///< of these messages: READs and atomics, whose response has data
};

/// Follows the MSN of one responder. The first one seen is believed.
class MsnModel {
 public:
  explicit MsnModel(Exchange& exchange) : exchange_(exchange) {}

  /// An ACK or NAK says that everything up to `psn` is executed, `count` more than was answered before. What
  /// it does to the MSN is judged here as far as a capture with holes tells, by on_msn() and restart() else.
  /// The other answers come here as well, for their `count`.
  void on_executed(const Seen& seen, Psn psn, const MessageCount& count);
  /// An answer that carries an MSN, `count` after the one before. It may be up to `ahead` messages further:
  /// with READs and repetitions the responder may have gone on with requests after the one answered.
  void on_msn(const Seen& seen, const MessageCount& count, std::uint32_t ahead);
  /// An answer without one.
  void on_progress(const MessageCount& count);
  /// How many messages an answer's MSN counts since the last one; nothing if there was none.
  std::optional<std::int32_t> counted_by(const Seen& seen) const;
  /// Believes this one, whatever came before; nullptr believes the next one.
  void restart(const Seen* seen);
  /// The queue pair begins again.
  void forget();
  /// The capture ends.
  void finish();

 private:
  /// Old rdma_rxe does not count WRITEs without immediate. One answer does not tell this from a wrong MSN.
  struct Doubt {
    std::uint64_t frame = 0;
    Psn psn;
    std::uint32_t expected = 0;
    std::uint32_t seen = 0;
  };
  /// The MSN of the last ACK or NAK, and what was answered since. Holes in a capture only add to that.
  struct Floor {
    std::uint64_t frame = 0;
    Psn psn;
    std::uint32_t msn = 0;
    MessageCount since;
  };
  std::uint32_t least_msn() const;
  void settle_doubt(bool is_habit);
  void complain(std::uint64_t frame, Psn psn, std::uint32_t expected, std::uint32_t msn);

  Exchange& exchange_;
  std::optional<std::uint32_t> msn_;
  std::optional<Doubt> doubt_;
  std::optional<Floor> floor_;
  std::uint64_t below_floor_frame_ = 0;  ///< of the last MSN that was less than it may be
  bool counts_writes_ = false;           ///< an MSN has shown that it does
  bool was_restarted_ = false;
  bool ignores_writes_ = false;
  std::uint32_t errors_ = 0;  ///< in a row
};

}  // namespace urnic::check
