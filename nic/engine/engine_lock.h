// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// EngineLock: the one lock of a device, and the question that a thread which does not get it leaves for the
// holder.
#pragma once

#include <atomic>
#include <cstdint>

namespace urnic::nic {

/// A mutex whose holder cannot be cancelled. A thread that only tries it leaves it alone while another thread
/// waits for it: a program that polls in a loop would otherwise keep control verbs out for long. Meets the
/// standard's Lockable, for std::unique_lock.
///
/// A thread that wants the holder to look at something (a doorbell) makes that visible and then asks. Lock
/// and question are one word. So either the asking thread finds a holder, and the holder sees the question
/// when it unlocks, at the latest; or the asking thread finds no holder, and has to look itself.
class EngineLock {
 public:
  /// Waits: for control verbs and the NIC's thread; bounded by one round of the engine per waiter.
  void lock();
  /// For the data path. May fail although the lock is free.
  bool try_lock();
  /// Whether the question was asked, and not taken yet; then the caller has to look, or the thread that gets
  /// the lock before it.
  bool unlock();

  /// Any thread. Whether the lock has a holder, which will see the question.
  bool ask() { return (word_.fetch_or(kAsked) & kHeld) != 0; }
  /// Any thread: whether the question was asked and not taken yet.
  bool is_asked() const { return (word_.load() & kAsked) != 0; }
  /// The holder will look now at what there is.
  void take_question() {
    if (is_asked()) word_.fetch_and(~kAsked);
  }

 private:
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kAsked = 2;

  bool try_take() {
    return (word_.load(std::memory_order_relaxed) & kHeld) == 0 && (word_.fetch_or(kHeld) & kHeld) == 0;
  }

  std::atomic<std::uint32_t> word_{0};
  std::atomic<std::uint32_t> waiting_{0};
  int cancel_state_ = 0;  // of the holder, before it got the lock
};

}  // namespace urnic::nic
