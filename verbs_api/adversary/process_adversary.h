// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ProcessAdversary: what the adversaries of the process's devices share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "nic/adversary/adversary.h"
#include "transport/result.h"
#include "verbs_api/fault/call_faults.h"

namespace urnic::verbs_api {

/// The seed is the process's, its calls are, and so is the log of what was done. Any thread.
class ProcessAdversary final : public CallListener {
 public:
  /// From now on. Again in the child of a fork. The error: the log's file cannot be written.
  Result<void, Error> use(const nic::AdversarySettings& settings);
  bool is_on() const { return is_on_.load(std::memory_order_acquire); }
  /// For one more device.
  std::unique_ptr<nic::Adversary> make() { return std::make_unique<nic::Adversary>(settings_, log_); }

  /// Lets a call that makes, changes or ends something take its time.
  void before(Verb verb) override;

  /// The program ends with this code. If that is not 0, says on stderr what was done last.
  void end(int exit_code);

  /// Held during a fork. Nothing waits under it.
  std::mutex& mutex() { return log_.mutex(); }

 private:
  std::atomic<bool> is_on_{false};
  nic::AdversarySettings settings_;
  nic::ActLog log_;
  std::unique_ptr<nic::Adversary> of_calls_;
};

}  // namespace urnic::verbs_api
