// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Sanitizer: tells the user what the program does wrong, once of each object, and all of it at the end.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "verbs_api/sanitizer/call_stack.h"
#include "verbs_api/sanitizer/complaints.h"
#include "verbs_api/sanitizer/graveyard.h"
#include "verbs_api/sanitizer/ledgers/device_ledger.h"
#include "verbs_api/sanitizer/ledgers/failure_findings.h"
#include "verbs_api/sanitizer/settings.h"

namespace urnic::verbs_api {

/// One for the process. Off until use(). Any thread.
class Sanitizer final : public Complaints {
 public:
  Sanitizer() = default;
  Sanitizer(const Sanitizer&) = delete;
  Sanitizer& operator=(const Sanitizer&) = delete;

  /// From now on it looks.
  void use(const SanitizerSettings& settings);
  /// It does not look, but passes on what accounts find.
  void use_accounts();
  bool is_on() const { return is_on_.load(std::memory_order_acquire); }

  bool wants(Finding finding) const override {
    return (is_on() || has_accounts_.load(std::memory_order_acquire)) && settings_.wants(finding);
  }

  /// Of the process's device with that number; lives as long as the process.
  DeviceLedger& device(unsigned number);

  Graveyard& graveyard() { return graveyard_; }
  /// The program has destroyed the object, which is of no use any more. `abi` is its struct.
  template <typename Object, typename Abi>
  void end_object(Object& object, Abi& abi) {
    if (!is_on()) {
      delete &object;
      return;
    }
    graveyard_.bury(abi, [ended = &object] { delete ended; });
  }
  /// Is told about the failures of the device with that number.
  nic::FailureListener& listener(unsigned number);

  /// The program ends: writes the table, and the file, once. Returns with which exit code a program is to end
  /// that has ended with `exit_code`.
  int end(int exit_code);

  /// The program has called ibv_fork_init(), or asked whether it must.
  void note_fork_is_thought_of() { is_fork_thought_of_ = true; }
  /// It has forked, and this is the parent. Without the mutex.
  void check_fork();
  /// Held during a fork, so that the child finds it whole. Nothing waits under it.
  std::mutex& mutex() { return mutex_; }
  /// In the child of a fork, with the mutex held: it does not look any more.
  void abandon_in_child() { is_on_ = has_accounts_ = false; }

 private:
  struct Told {
    std::uint64_t times = 0;
    std::set<std::string> objects{};  ///< that were told, kMostTold at most
    bool has_more_objects = false;
    std::string first{};  ///< what happened then
  };

  bool count(Finding finding, const std::string& object, const CallPath* calls) override;
  void tell(Finding finding, const std::string& object, const std::string& what,
            const CallPath* calls) override;
  bool is_suppressed(Finding finding, const CallPath& calls);
  void write_file(const std::vector<std::pair<Finding, Told>>& told) const;

  std::atomic<bool> is_on_{false};
  std::atomic<bool> has_accounts_{false};
  std::atomic<bool> is_fork_thought_of_{false};
  SanitizerSettings settings_;  // before the two that let it speak
  Graveyard graveyard_{*this};
  std::mutex mutex_;  // guards what follows
  std::unordered_map<unsigned, std::unique_ptr<DeviceLedger>> devices_;
  std::unordered_map<unsigned, std::unique_ptr<FailureFindings>> listeners_;
  std::array<Told, kFindingCount> told_{};
  std::map<std::pair<Finding, CallPath>, bool> suppressed_;  // what was looked up
};

/// The process's. device/process_devices.cc has it.
Sanitizer& sanitizer();

}  // namespace urnic::verbs_api
