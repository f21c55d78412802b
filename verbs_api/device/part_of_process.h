// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PartOfProcess: what the process has of urnic beside its device.
#pragma once

#include <mutex>

namespace urnic::verbs_api {

/// A fork must find it whole, and the end of the process must know whether the program still uses it.
class PartOfProcess {
 public:
  virtual ~PartOfProcess() = default;

  /// Held during a fork, so that the child finds a whole picture. Never held with another lock otherwise.
  virtual std::mutex& mutex() = 0;
  /// In the child of a fork, with the mutex held: what the parent has is dead there.
  virtual void abandon_in_child() = 0;
  /// Whether the program has nothing open of it.
  virtual bool is_empty() const = 0;
};

}  // namespace urnic::verbs_api
