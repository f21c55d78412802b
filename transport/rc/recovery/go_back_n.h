// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// GoBackN: everything from the oldest packet in flight on is sent again.
#pragma once

#include <utility>

#include "transport/rc/recovery/loss_recovery.h"

namespace urnic::transport {

class GoBackN final : public LossRecovery {
 public:
  void on_progress(Psn) override { is_going_back_ = false; }
  void on_executed(Psn, bool) override {}
  bool has_executed(Psn) const override { return false; }
  Report on_held(Psn, HeldPsns::Bitmap) override { return Report::kOld; }
  bool on_loss(Loss loss, const InFlight&) override {
    const bool is_reported = loss == Loss::kRequest || loss == Loss::kAnswer;
    return !std::exchange(is_going_back_, is_reported) || !is_reported;
  }

  bool wants(Psn, RequestPart) const override { return true; }
  void on_sent_again(Psn, Psn, Psn) override {}

  std::uint32_t held_before(Psn) const override { return 0; }
  bool holds(Psn) const override { return false; }

 private:
  /// Everything from the oldest PSN on is being sent again and nothing of it was acknowledged yet: what
  /// arrives meanwhile because of the same loss must not restart it.
  bool is_going_back_ = false;
};

}  // namespace urnic::transport
