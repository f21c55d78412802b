// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// NotificationObserver: judges when CNPs are sent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "tools/simulation/kernel/clock.h"
#include "tools/simulation/seeds/scenario/options.h"

namespace urnic::sim {

/// A host sends no more CNPs to another than it took marked packets from there (fact 50), and those to one
/// queue pair are spaced.
class NotificationObserver {
 public:
  /// `at` took a packet of a connection from `from`, and it was marked.
  void on_marked(HostId at, HostId from) { ++counts_[key_of(at, from)].owed; }

  /// What is wrong with a CNP that `by` sends to this queue pair of `to` now.
  std::optional<std::string> on_sent(HostId by, HostId to, std::uint32_t qp_number, Time now);

  std::uint64_t sent() const { return sent_; }

 private:
  /// From one host to another.
  struct Counts {
    std::uint64_t owed = 0;
    std::unordered_map<std::uint32_t, Time> last;  // by queue pair
  };
  static std::uint64_t key_of(HostId by, HostId to) { return std::uint64_t{index(by)} << 32 | index(to); }

  std::unordered_map<std::uint64_t, Counts> counts_;
  std::uint64_t sent_ = 0;
};

}  // namespace urnic::sim
