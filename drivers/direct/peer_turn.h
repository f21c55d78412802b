// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PeerTurn: whether the process at the other end of a link only waits for its turn on a processor.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>

namespace urnic::drivers {

/// On a machine where many threads want few processors a process may not run for longer than a connection's
/// retries take. What was sent to it lies in memory, and is not lost. It is waited for as long as one of its
/// threads runs or wants to, and for 10 s at most: it may run, and never look.
class PeerTurn {
 public:
  /// Frames wait; `taken` others were taken before. Whether the process would take them if it had its turn.
  /// Asks the kernel, at most once a millisecond; false of 0, a process that is not known.
  bool is_awaited(pid_t process, std::uint64_t taken);

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr auto kLook = std::chrono::milliseconds(1);
  static constexpr auto kLongest = std::chrono::seconds(10);

  std::uint64_t taken_ = ~std::uint64_t{0};
  Clock::time_point since_{};  ///< nothing was taken
  Clock::time_point looked_at_{};
  bool wants_processor_ = false;
};

/// Whether a thread of the process runs or wants to. False of those that /proc does not show. Asks the kernel
/// without the C library's functions, which librspreload replaces.
bool wants_processor(pid_t process);

}  // namespace urnic::drivers
