// AwaitedAck: the acknowledgement that has to leave before the program sees a completion.
#pragma once

#include "transport/time.h"
#include "transport/types.h"

namespace urnic::transport {

/// What a responder has acknowledged to its peer: each PSN up to one of them, since a packet that acknowledges a
/// request acknowledges all before it, too.
class SentAcks {
 public:
  /// Nothing from `first` on is acknowledged.
  void start(Psn first) { newest_ = first - 1; }
  /// A packet was sent that acknowledges `psn`, or such a packet will never be sent.
  void note(Psn psn) {
    if (distance(newest_, psn) > 0) newest_ = psn;
  }
  bool cover(Psn psn) const { return distance(newest_, psn) <= 0; }

 private:
  Psn newest_;
};

/// A program that has seen the completion of a receive may destroy its queue pair or end at once. Its peer then
/// still needs the acknowledgement of the packet that completed the receive. Of that packet only: responses to
/// later READs may be long in coming. The completion queue holds completions back meanwhile.
struct AwaitedAck {
  const SentAcks* sent = nullptr;  ///< of the responder, and as long-lived; null: none is awaited
  Psn psn;                         ///< of the packet that completed the receive
  Time since{};                    ///< when that packet came

  bool has_left() const { return sent == nullptr || sent->cover(psn); }
};

}  // namespace urnic::transport
