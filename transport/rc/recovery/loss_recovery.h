// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LossRecovery: what of the packets in flight a requester sends again.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/qp_config.h"
#include "transport/rc/recovery/held_psns.h"
#include "transport/types.h"

namespace urnic::transport {

/// What is known to be lost.
enum class Loss : std::uint8_t {
  kRequest,  ///< the peer has not got the packet that it expects
  kAnswer,   ///< the peer has answered something after a request that has no answer
  kUnknown,  ///< the peer is silent: anything
  kRefused,  ///< nothing; but the peer was not ready for the oldest packet, and may have dropped later ones
};

/// PSNs that were sent and are not acknowledged.
struct InFlight {
  Psn oldest;
  Psn end;  ///< one past the last one
};

/// What a report of held packets tells.
enum class Report : std::uint8_t {
  kOld,      ///< nothing: a later one came before
  kSame,     ///< where the peer is, and holds nothing further ahead than it did before
  kFurther,  ///< the peer holds a packet further ahead than ever since it began to expect what it expects
};

/// The place of a packet in its request.
enum class RequestPart : std::uint8_t {
  kData,    ///< a packet of a SEND or WRITE
  kAsks,    ///< a request that has a response of its own
  kGoesOn,  ///< the rest of a READ that was answered in part
};

/// After a loss the requester goes through the packets in flight once more, from the oldest on, and sends
/// those that are wanted.
class LossRecovery {
 public:
  virtual ~LossRecovery() = default;

  /// Everything before `oldest` is acknowledged and answered; it was not before.
  virtual void on_progress(Psn oldest) = 0;
  /// The peer has executed everything before `end`; if it `misses` that one, it does not hold it either.
  virtual void on_executed(Psn end, bool misses) = 0;
  /// The peer, which expects `expected`, holds these besides.
  virtual Report on_held(Psn expected, HeldPsns::Bitmap bitmap) = 0;
  /// Whether the peer has executed `psn`, as far as is remembered: it acknowledged `psn` after a request
  /// without an answer.
  virtual bool has_executed(Psn psn) const = 0;
  /// Whether to go through the packets in flight again; not when that is being done on account of the same
  /// loss.
  virtual bool on_loss(Loss loss, const InFlight& in_flight) = 0;

  /// Whether the request packet `psn`, which is in flight, has to be sent again.
  virtual bool wants(Psn psn, RequestPart part) const = 0;
  /// The packet `psn` was sent again; of a request that has a response, up to `end`. The next one to be sent
  /// for the first time is `next`.
  virtual void on_sent_again(Psn psn, Psn end, Psn next) = 0;

  /// How many packets before `psn` the peer holds without having executed them, and whether that one is among
  /// them.
  virtual std::uint32_t held_before(Psn psn) const = 0;
  virtual bool holds(Psn psn) const = 0;
};

/// As both ends agreed; `first` is the first PSN that will be sent.
std::unique_ptr<LossRecovery> make_loss_recovery(Recovery recovery, Psn first);

}  // namespace urnic::transport
