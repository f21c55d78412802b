// EngineLock: the one lock of a device.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace urnic::nic {

/// A mutex whose holder cannot be cancelled. A thread that only tries it leaves it alone while another thread
/// waits for it: a program that polls in a loop would otherwise keep control verbs out for long. Meets the
/// standard's Lockable, for std::unique_lock.
class EngineLock {
 public:
  /// Waits: for control verbs and the NIC's thread; bounded by one round of the engine per waiter.
  void lock();
  /// For the data path. May fail although the lock is free.
  bool try_lock();
  void unlock();

 private:
  std::mutex mutex_;
  std::atomic<std::uint32_t> waiting_{0};
  int cancel_state_ = 0;  // of the holder, before it got the lock
};

}  // namespace urnic::nic
