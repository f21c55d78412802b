// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LockStep: how time goes on for a NIC whose wire grants it.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "nic/port/granted_time.h"
#include "nic/process/descriptor.h"
#include "transport/result.h"
#include "transport/time.h"

namespace urnic::nic {

class Engine;

/// Time stands still while the program computes, and goes on where it waits. That is: in a poll for which the
/// engine finds nothing to do at the present time; and while all threads of the program sleep, in
/// ibv_get_cq_event() or wherever else. In the latter case the NIC's thread does what the program's polls
/// would do, until something has happened that may have woken the program.
///
/// So a program of one thread that polls, or sleeps until an event of ours comes, does everything at the same
/// virtual times, however long the machine takes. That cannot be so for a program that other events wake: the
/// thread only goes as far as what is under way, or the peer, needs. Nor for one that watches its memory: it
/// is known by the processor time that it uses without calling a verb.
class LockStep {
 public:
  LockStep(Engine& engine, GrantedTime& time) : engine_(engine), time_(time) {}
  ~LockStep() { stop(); }
  LockStep(const LockStep&) = delete;
  LockStep& operator=(const LockStep&) = delete;

  /// Starts the thread. The error is the thread's.
  Result<void, Error> start();
  void stop();

  // --- The program's threads, without the engine's lock ---

  /// It calls a verb.
  void note_call() { calls_.fetch_add(1, std::memory_order_relaxed); }

  /// It polls, and there was nothing for it.
  void on_poll();
  /// A verb waits for what the engine does.
  void step();

 private:
  void run();
  bool is_program_away();
  void go_on();
  void tell_of_loss();
  void wait() const;
  transport::Time next_due();

  Engine& engine_;
  GrantedTime& time_;
  Descriptor wake_;  // an eventfd
  std::thread thread_;
  std::atomic<bool> is_stopping_{false};
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint32_t> waiting_{0};  // the program's threads in step()
  std::atomic<bool> has_told_{false};      // that the peer is gone

  // The NIC's thread's own:
  std::uint64_t calls_seen_ = 0;
  transport::Duration used_then_{};  // processor time, when the program called last
  int sleeping_looks_ = 0;           // in a row
  int steps_until_look_ = 0;
};

}  // namespace urnic::nic
