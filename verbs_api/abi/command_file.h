// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CommandFile: what the contexts of one command descriptor share and can import.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "nic/memory/device_memory.h"
#include "nic/memory/protection_domain.h"
#include "verbs_api/abi/descriptor_identity.h"

namespace urnic::verbs_api {

struct Registration;

/// Objects by the handles that programs hand around. Does not keep them alive. Any thread.
template <typename Object>
class ImportableObjects {
 public:
  void add(std::uint32_t handle, const std::shared_ptr<Object>& object) {
    const std::lock_guard lock(mutex_);
    objects_.insert_or_assign(handle, object);
  }
  /// No context imports it any more. Its handle may be another object's already, which stays.
  void remove(std::uint32_t handle, const Object& object) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    if (found != objects_.end() && found->second.lock().get() == &object) objects_.erase(found);
  }
  /// Null when there is none.
  std::shared_ptr<Object> find(std::uint32_t handle) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second.lock();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::weak_ptr<Object>> objects_;
};

/// In the kernel the file of a context's cmd_fd owns the context's objects, and a process that has a
/// descriptor of it can import them. Here the descriptor names nothing but this object, which is the
/// process's own.
class CommandFile {
 public:
  /// A descriptor of a new file, or -1 and errno.
  static int create();
  /// Whether a descriptor is one of create(), here or in another process.
  static bool is_one(int fd);

  explicit CommandFile(const DescriptorIdentity& identity) : identity_(identity) {}

  const DescriptorIdentity& identity() const { return identity_; }

  ImportableObjects<nic::ProtectionDomain> pds;
  ImportableObjects<Registration> mrs;
  ImportableObjects<nic::DeviceMemory> dms;
  std::atomic<std::uint32_t> next_dm{1};  ///< handle

 private:
  DescriptorIdentity identity_;
};

}  // namespace urnic::verbs_api
