// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Doorbells: how posting threads that do not get the engine's lock tell its holder which queue pairs have new
// work.
#pragma once

#include <atomic>
#include <utility>

namespace urnic::nic {

class QueuePair;

/// A queue pair's doorbell.
class Doorbell {
 public:
  explicit Doorbell(QueuePair& owner) : owner_(owner) {}

 private:
  friend class DoorbellStack;

  QueuePair& owner_;
  std::atomic<bool> is_rung_{false};
  Doorbell* next_ = nullptr;  // of the thread that took or pushed it
};

/// The doorbells that rang. Any thread rings, one at a time takes (the engine lock's holder). A doorbell that
/// has rung must be taken before it is destroyed.
class DoorbellStack {
 public:
  void ring(Doorbell& bell) {
    // The thread that clears is_rung_ looks at the queue pair's work afterwards, so that nothing is lost when
    // it is set already.
    if (bell.is_rung_.exchange(true, std::memory_order_acq_rel)) return;
    Doorbell* first = first_.load(std::memory_order_relaxed);
    do {
      bell.next_ = first;
    } while (
        !first_.compare_exchange_weak(first, &bell, std::memory_order_release, std::memory_order_relaxed));
  }

  /// Calls `visit` with the queue pair of each doorbell that rang, first rung first.
  template <typename Visit>
  void take(Visit visit) {
    if (is_empty()) return;
    Doorbell* latest = first_.exchange(nullptr, std::memory_order_acq_rel);
    Doorbell* oldest = nullptr;
    while (latest != nullptr) {
      Doorbell* const next = std::exchange(latest->next_, oldest);
      oldest = std::exchange(latest, next);
    }
    while (oldest != nullptr) {
      Doorbell& bell = *std::exchange(oldest, oldest->next_);
      bell.is_rung_.exchange(false, std::memory_order_acq_rel);
      visit(bell.owner_);
    }
  }

  /// Whether a doorbell rang since the last take(), as far as we know yet.
  bool is_empty() const { return first_.load(std::memory_order_acquire) == nullptr; }

 private:
  std::atomic<Doorbell*> first_{nullptr};  // the latest
};

}  // namespace urnic::nic
