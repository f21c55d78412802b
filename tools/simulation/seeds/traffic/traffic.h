// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Traffic: something that applications do with queue pairs of their own.
#pragma once

#include <string>

#include "tools/simulation/seeds/core/event.h"
#include "transport/completion.h"

namespace urnic::sim {

class Traffic {
 public:
  virtual ~Traffic() = default;

  /// Makes the first connections and schedules what the applications do.
  virtual void begin() = 0;
  virtual void on_event(const Event& event) = 0;
  /// Takes a completion that was polled on `host`; false when its queue pair belongs to no application here.
  virtual bool on_completion(HostId host, const transport::Completion& completion) = 0;
  /// All completions that are visible on `host` were handed over.
  virtual void on_polled(HostId host) = 0;
  /// Whether everything planned was posted and has ended.
  virtual bool is_done() const = 0;
  /// For a failure message: what is outstanding.
  virtual std::string describe() const = 0;
};

}  // namespace urnic::sim
