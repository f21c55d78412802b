// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/rdma_cm/open_channels.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "verbs_api/abi/descriptor_identity.h"
#include "verbs_api/device/process_devices.h"
#include "verbs_api/rdma_cm/late_waiter.h"

namespace urnic::verbs_api {
namespace {

/// Channels have lower numbers.
constexpr int kEndOfNumbers = 1 << 16;

// By number, the inode of the channel that has or had it; 0 for none. Descriptors are the process's, and so
// is this. Not a page of it is touched before there is a channel.
constinit std::array<std::atomic<std::uint64_t>, kEndOfNumbers> inodes{};
/// Of all channels: the device number of the kernel's sockets.
constinit std::atomic<std::uint64_t> socket_device{0};

std::atomic<std::uint64_t>& inode_at(int descriptor) {
  return inodes[static_cast<std::size_t>(descriptor)];
}

bool is_in_table(int descriptor) {
  return descriptor >= 0 && descriptor < kEndOfNumbers;
}

bool still_names(const Channel& channel) {
  return DescriptorIdentity::of(channel.descriptor()) == channel.identity();
}

}  // namespace

OpenChannels& open_channels() {
  // Never destroyed: whatever runs last in the process may call functions of rdma_cm.
  static OpenChannels* const channels = [] {
    auto* const made = new OpenChannels;
    ProcessDevices::instance().add(*made);
    return made;
  }();
  return *channels;
}

bool OpenChannels::has(int descriptor) {
  if (!is_in_table(descriptor)) return false;
  const std::uint64_t inode = inode_at(descriptor).load(std::memory_order_acquire);
  if (inode == 0) return false;
  return DescriptorIdentity::of(descriptor) ==
         DescriptorIdentity{.device = socket_device.load(std::memory_order_relaxed), .inode = inode};
}

Result<int, Error> OpenChannels::open(Channel::Devices devices, int flags) {
  end_lost();
  auto created = Channel::create(devices, flags);
  if (!created) return Error{.code = created.error(), .message = "no descriptors for a channel of rdma_cm"};
  const std::shared_ptr<Channel> channel = std::move(created.value());
  const int descriptor = channel->descriptor();
  if (!is_in_table(descriptor)) {
    syscall(SYS_close, static_cast<long>(descriptor));
    return Error{.code = EMFILE, .message = "a channel of rdma_cm cannot have so high a descriptor"};
  }
  std::shared_ptr<Channel> lost;
  {
    const std::lock_guard lock(mutex_);
    lost = std::exchange(channels_[descriptor], channel);
    socket_device.store(channel->identity().device, std::memory_order_relaxed);
    inode_at(descriptor).store(channel->identity().inode, std::memory_order_release);
  }
  if (lost != nullptr) retire(std::move(lost));
  return descriptor;
}

std::shared_ptr<Channel> OpenChannels::find(int descriptor) {
  if (!has(descriptor)) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = channels_.find(descriptor);
  return found != channels_.end() && still_names(*found->second) ? found->second : nullptr;
}

void OpenChannels::close(int descriptor) {
  std::shared_ptr<Channel> channel;
  {
    const std::lock_guard lock(mutex_);
    const auto found = channels_.find(descriptor);
    if (found == channels_.end()) return;
    note_closing(descriptor);
    channel = take(found);
  }
  retire(std::move(channel));
}

bool OpenChannels::is_empty() const {
  const std::lock_guard lock(mutex_);
  return std::all_of(channels_.begin(), channels_.end(),
                     [](const auto& entry) { return entry.second->is_abandoned(); });
}

void OpenChannels::keep(Channel& channel, const nic::rdma_cm::KeptId& id) {
  const std::lock_guard lock(mutex_);
  channel.kept_ids.insert_or_assign(id.number, id);
}

void OpenChannels::forget(Channel& channel, nic::rdma_cm::IdNumber id) {
  const std::lock_guard lock(mutex_);
  channel.kept_ids.erase(id);
}

std::vector<nic::rdma_cm::KeptId> OpenChannels::kept(const Channel& channel) const {
  const std::lock_guard lock(mutex_);
  std::vector<nic::rdma_cm::KeptId> ids;
  for (const auto& [number, id] : channel.kept_ids) ids.push_back(id);
  return ids;
}

bool OpenChannels::replace(const std::shared_ptr<Channel>& dead, std::shared_ptr<Channel> renewed) {
  const std::lock_guard lock(mutex_);
  const int descriptor = dead->descriptor();
  const auto found = channels_.find(descriptor);
  if (found == channels_.end() || found->second != dead || !still_names(*dead)) return false;
  abandoned_.push_back(dead);
  renewed->move_in();
  inode_at(descriptor).store(renewed->identity().inode, std::memory_order_release);
  found->second = std::move(renewed);
  return true;
}

void OpenChannels::end_lost() {
  std::vector<std::shared_ptr<Channel>> lost;
  {
    const std::lock_guard lock(mutex_);
    for (auto entry = channels_.begin(); entry != channels_.end();) {
      const auto it = entry++;
      if (!still_names(*it->second)) lost.push_back(take(it));
    }
  }
  for (auto& channel : lost) retire(std::move(channel));
}

std::shared_ptr<Channel> OpenChannels::take(Table::iterator entry) {
  inode_at(entry->first).store(0, std::memory_order_release);
  std::shared_ptr<Channel> channel = std::move(entry->second);
  channels_.erase(entry);
  return channel;
}

void OpenChannels::retire(std::shared_ptr<Channel> channel) {
  if (!channel->is_abandoned()) return channel->end();
  const std::lock_guard lock(mutex_);
  abandoned_.push_back(std::move(channel));
}

void OpenChannels::abandon_in_child() {
  for (const auto& [descriptor, channel] : channels_) channel->abandon();
}

}  // namespace urnic::verbs_api
