// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CallFaults: which of this process's calls fail, and which events come.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "transport/result.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/fault/call_fault.h"
#include "verbs_api/fault/fault_list.h"
#include "verbs_api/fault/verb.h"

namespace urnic::verbs_api {

class FaultClock;

/// Is told of every call before it does anything, and may take its time.
class CallListener {
 public:
  virtual void before(Verb verb) = 0;

 protected:
  ~CallListener() = default;
};

/// Counts calls, and says what happens to each. Every verb asks before it does anything. Any thread that
/// holds no lock of the device, the registry or the process: an event may be raised within.
class CallFaults {
 public:
  CallFaults();
  ~CallFaults();
  CallFaults(const CallFaults&) = delete;
  CallFaults& operator=(const CallFaults&) = delete;

  /// From now on. Called once, and again in the child of a fork.
  void use(const FaultList& list);
  /// `listener` outlives this.
  void use(CallListener& listener) { listener_.store(&listener, std::memory_order_release); }
  /// The process has opened the device: the time of events begins. Only the first call counts. The error is
  /// the thread's.
  Result<void, Error> start_clock();
  /// No event is raised afterwards. Waits for one that is being raised. Returns what people are told, once: a
  /// line for each fault, when it fired or why it did not.
  std::vector<std::string> end();

  /// Whether there are any faults. Otherwise nothing is counted.
  bool has_any() const { return has_any_.load(std::memory_order_acquire); }
  /// Whether a fault has to do with calls of `verb`, so that they must be counted, or may fail.
  bool concerns(Verb verb) const;
  /// Whether a fault gives completions a status.
  bool has_statuses() const;

  /// What happens to one call; null: nothing special. `to` is the state that ibv_modify_qp was given, if any.
  /// Valid as long as the process.
  const CallFault* strike(Verb verb, std::optional<ibv_qp_state> to = std::nullopt);
  /// The same for a completion that the program polls.
  std::optional<ibv_wc_status> strike_completion(bool is_receive);

  /// From now on the device is as after DEVICE_FATAL: calls that need it fail.
  void kill_device() { is_device_dead_.store(true); }

  /// Held during a fork, so that the child finds it whole. Nothing waits under it.
  std::mutex& mutex() { return mutex_; }
  /// In the child of a fork, with the mutex held: there are no faults any more.
  void abandon_in_child();

 private:
  friend class FaultClock;

  struct CallLine {
    CallFault fault;
    std::uint64_t fitting = 0;
    std::uint64_t hits = 0;
    std::uint64_t first_hit = 0;  ///< which call of the verb, from 1
  };
  struct EventLine {
    AsyncFault fault;
    std::uint64_t calls = 0;  ///< of fault.call
    bool is_due = false;      ///< its time came
    std::string failure{};    ///< why it could not be raised then
  };

  bool hits(CallLine& line, std::uint64_t number);
  void raise(std::size_t line, bool is_end);
  std::string describe(const CallLine& line) const;
  std::string describe(const EventLine& line) const;

  std::atomic<CallListener*> listener_{nullptr};
  std::atomic<bool> has_any_{false};
  std::atomic<bool> is_device_dead_{false};
  mutable std::mutex mutex_;  // guards all that follows
  std::vector<CallLine> calls_;
  std::vector<EventLine> events_;
  std::array<std::uint64_t, kVerbCount> counts_{};
  std::uint64_t completions_ = 0;
  std::mt19937_64 random_{1};
  std::optional<std::chrono::steady_clock::time_point> opened_at_;
  std::unique_ptr<FaultClock> clock_;
};

/// The process's. device/process_device.cc has it.
CallFaults& call_faults();

/// 0, or the errno value with which this call of `verb` is to fail before it does anything.
int injected_error(Verb verb);

}  // namespace urnic::verbs_api
