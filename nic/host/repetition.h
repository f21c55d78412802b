// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Repetition: when a frame is sent that a process has left.
#pragma once

#include <chrono>

#include "nic/port/last_words.h"

namespace urnic::nic {

/// One that has an answer is sent a few times, the time counted that its process has sent it; one without,
/// once. Time is an argument.
class Repetition {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Repetition(const LastWords::Delivery& delivery, unsigned most, Time now)
      : pause_(delivery.pause), left_(most), due_(now) {
    if (pause_ == std::chrono::milliseconds::zero()) {
      left_ = 1;
    } else if (delivery.was_sent) {
      on_sent(now);
    }
  }

  Time due() const { return due_; }
  bool is_over() const { return left_ == 0; }
  void on_sent(Time now) {
    --left_;
    due_ = now + pause_;
  }

 private:
  std::chrono::milliseconds pause_;
  unsigned left_;
  Time due_;
};

}  // namespace urnic::nic
