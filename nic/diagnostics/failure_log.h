// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FailureLog: failures that wait to be explained.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "nic/diagnostics/failure_report.h"
#include "nic/process/descriptor.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"
#include "transport/wire/encapsulation.h"

namespace urnic::nic {

/// Bounded: what does not fit is counted. The engine adds under its lock, which takes no longer than a copy;
/// one reader, on any thread, takes. Nothing allocates after construction.
class FailureLog {
 public:
  static constexpr std::size_t kMost = 32;

  FailureLog();
  FailureLog(const FailureLog&) = delete;
  FailureLog& operator=(const FailureLog&) = delete;

  /// Readable while there is something to take; the reader clears it with take(). -1: the system has no more
  /// descriptors.
  int fd() const { return event_.get(); }

  void add(FailureReport report);
  /// A host sends requests to a queue pair that is not here. It will repeat them: one is reported each
  /// second.
  void add_stray(transport::QpNumber to, const transport::wire::Gid& from, transport::Time now);
  /// What is for that queue pair from that peer comes from another address; a connection request is for none,
  /// 0. As above, one is reported each second.
  void add_translated(transport::QpNumber to, const transport::wire::Gid& peer,
                      const transport::wire::Gid& seen_as, transport::Time now);
  /// What that peer sends to that queue pair comes so, and the queue pair sends otherwise. As above.
  void add_otherwise_encapsulated(transport::QpNumber to, const transport::wire::Gid& peer,
                                  transport::wire::Encapsulation came_as, transport::Time now);

  /// The oldest, or nothing.
  std::optional<FailureReport> take();

 private:
  void add_unwanted(const FailureReport& report);

  Descriptor event_;
  std::mutex mutex_;
  std::vector<FailureReport> reports_;  // a ring
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::uint64_t left_out_ = 0;
  std::optional<transport::Time> last_unwanted_{};
};

}  // namespace urnic::nic
