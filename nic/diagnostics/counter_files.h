// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CounterFiles: adds what a device counts to the files that show it, which several processes may share.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

#include "nic/diagnostics/kernel_counters.h"
#include "nic/process/descriptor.h"

namespace urnic::nic {

/// Plain files with one decimal number each, counters/NAME and hw_counters/NAME in the folder of a port
/// (`urnic run` makes them). All processes that share a NIC add to the same files: each what it has counted
/// since it last did. So a file shows the sum of all, and does not go backwards when one ends. A process
/// that is killed has added what it counted up to the last time.
///
/// Nothing here waits longer than kPatienceMs. Any thread.
class CounterFiles {
 public:
  /// How often a process adds what is new.
  static constexpr int kPeriodMs = 1000;
  /// How long one call waits for other processes that write: one that was stopped meanwhile holds all up.
  static constexpr int kPatienceMs = 20;

  /// `port_folder` is the device's ".../ports/1", and has the files of that list. A file that is not there,
  /// or is no plain file, is passed over.
  CounterFiles(std::string port_folder, CounterNames names)
      : folder_(std::move(port_folder)), counters_(kernel_counters(names)) {}

  /// Adds what `values` have more than at the last call. What cannot be written is added by a later call.
  void add(const CounterValues& values);

 private:
  bool is_locked(const Descriptor& file) const;
  bool add_to_file(const KernelCounter& counter, std::uint64_t more) const;
  Descriptor open(const KernelCounter& counter) const;

  const std::string folder_;
  const std::span<const KernelCounter> counters_;
  std::mutex mutex_;
  std::unordered_map<const KernelCounter*, std::uint64_t> added_;
};

}  // namespace urnic::nic
