// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Channel: the object that a descriptor of /dev/infiniband/rdma_cm stands for.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "nic/process/descriptor.h"
#include "nic/rdma_cm/kept_id.h"
#include "transport/result.h"
#include "verbs_api/abi/descriptor_identity.h"
#include "verbs_api/device/process_device.h"
#include "verbs_api/rdma_cm/channel_part.h"

namespace urnic::verbs_api {

/// The program has one end of a pair of sockets, which it polls and sets O_NONBLOCK; it closes it itself. It
/// is readable exactly while there are events, of whichever device. The other end is ours.
class Channel final : private ChannelBytes {
 public:
  using Devices = std::span<const std::unique_ptr<ProcessDevice>>;

  /// For all devices of the process, in their order, which must outlive the channel, unless abandon() is
  /// called; `flags` as in open(2). The error is an errno value.
  static Result<std::shared_ptr<Channel>, int> create(Devices devices, int flags);
  /// Makes one that takes the place of an inherited one at this descriptor, with its flags: at move_in().
  /// Otherwise as create().
  static Result<std::shared_ptr<Channel>, int> renew(Devices devices, int descriptor);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// The program's end, and what it is however many numbers it has.
  int descriptor() const { return program_end_; }
  const DescriptorIdentity& identity() const { return identity_; }

  /// Its part of each device, by the devices' numbers.
  const std::vector<std::unique_ptr<ChannelPart>>& parts() const { return parts_; }
  /// The part whose events the program is to fetch now: each has its turn. Any thread.
  ChannelPart& next_part() { return *parts_[turn_.fetch_add(1, std::memory_order_relaxed) % parts_.size()]; }

  /// Of a renewed one: from now on the descriptor is this channel's.
  void move_in();

  /// The program closed it: its ids end, and no event comes any more. Takes the engine locks.
  void end();

  /// In the child of a fork, where it is dead.
  void abandon();
  bool is_abandoned() const { return is_abandoned_.load(std::memory_order_relaxed); }
  /// Of an abandoned one: since the fork.
  std::chrono::steady_clock::duration time_since_fork() const;
  /// Whether the calling thread is the one that makes a dead one this process's. If that fails, it calls
  /// give_up_taking_over().
  bool begin_taking_over() { return !is_taken_over_.exchange(true); }
  void give_up_taking_over() { is_taken_over_ = false; }

  /// What a child needs to make the ids of this channel again that have no peer. Under the lock of
  /// OpenChannels, which is held while a fork happens.
  std::map<nic::rdma_cm::IdNumber, nic::rdma_cm::KeptId> kept_ids;

 private:
  void send_byte() const override;
  void take_byte() const override;

  Channel(Devices devices, int program_end, nic::Descriptor our_end, const DescriptorIdentity& identity);

  const int program_end_;
  nic::Descriptor our_end_;  // a child's is closed, so that the end of its parent hangs up the program's
  // A renewed one's program end, whose number another file has until it moves in. Kept then, too: the NIC's
  // thread may be using it.
  nic::Descriptor copy_;
  const DescriptorIdentity identity_;
  std::atomic<bool> is_abandoned_{false};
  std::chrono::steady_clock::time_point forked_at_{};  // written while the child has one thread
  std::atomic<bool> is_taken_over_{false};
  std::vector<std::unique_ptr<ChannelPart>> parts_;
  std::atomic<std::size_t> turn_{0};
};

}  // namespace urnic::verbs_api
