// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DeviceFacts: what does not change while a device lives, for its queues.
#pragma once

#include <atomic>

#include "nic/clock.h"
#include "nic/config.h"
#include "nic/path/gid_table.h"
#include "transport/dma.h"

namespace urnic::nic {

class Adversary;
class MemoryTable;
class PostObserver;

/// Any thread, without a lock.
class DeviceFacts {
 public:
  DeviceFacts(const DeviceConfig& config, const Clock& clock, const GidTable& gids)
      : config_(config), clock_(clock), gids_(gids) {}
  DeviceFacts(const DeviceFacts&) = delete;
  DeviceFacts& operator=(const DeviceFacts&) = delete;

  const DeviceConfig& config() const { return config_; }
  const Clock& clock() const { return clock_; }
  const GidTable& gids() const { return gids_; }
  /// Null for most devices.
  PostObserver* post_observer() const { return post_observer_; }
  /// Null for most devices.
  Adversary* adversary() const { return adversary_; }
  /// Null for most devices.
  const transport::WithdrawnKeys* withdrawn_keys() const { return withdrawn_keys_; }
  /// Of a device with an adversary, which stands between queue pairs and memory.
  MemoryTable& memory() const { return *memory_; }

  /// In the child of a fork: the device belongs to the parent, and no verb may touch a lock of it.
  void abandon() { is_abandoned_.store(true, std::memory_order_relaxed); }
  bool is_abandoned() const { return is_abandoned_.load(std::memory_order_relaxed); }

 protected:
  ~DeviceFacts() = default;
  /// Before there are queues.
  void use(PostObserver& observer) { post_observer_ = &observer; }
  void use(const transport::WithdrawnKeys& keys) { withdrawn_keys_ = &keys; }
  void use(Adversary& adversary, MemoryTable& memory) {
    adversary_ = &adversary;
    memory_ = &memory;
  }

 private:
  const DeviceConfig& config_;
  const Clock& clock_;
  const GidTable& gids_;
  PostObserver* post_observer_ = nullptr;
  Adversary* adversary_ = nullptr;
  MemoryTable* memory_ = nullptr;
  const transport::WithdrawnKeys* withdrawn_keys_ = nullptr;
  std::atomic<bool> is_abandoned_{false};
};

}  // namespace urnic::nic
