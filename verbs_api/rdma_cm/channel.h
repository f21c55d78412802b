// Channel: the object that a descriptor of /dev/infiniband/rdma_cm stands for.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>

#include "nic/device/device.h"
#include "nic/process/descriptor.h"
#include "nic/rdma_cm/event_channel.h"
#include "nic/rdma_cm/kept_id.h"
#include "transport/result.h"
#include "verbs_api/abi/descriptor_identity.h"

namespace urnic::verbs_api {

/// The program has one end of a pair of sockets, which it polls and sets O_NONBLOCK; it closes it itself. A
/// byte waits there exactly while there are events. Each event brings a new one, which takes the place of the
/// one before: so an epoll with EPOLLET tells of each event, as it does for the kernel's rdma_cm. The other
/// end is ours.
class Channel final : public nic::rdma_cm::ChannelSignal {
 public:
  /// `nic` must outlive the channel, unless abandon() is called; `flags` as in open(2). The error is an errno
  /// value.
  static Result<std::shared_ptr<Channel>, int> create(nic::Device& nic, int flags);
  /// Makes one that takes the place of an inherited one at this descriptor, with its flags: at move_in().
  /// Otherwise as create().
  static Result<std::shared_ptr<Channel>, int> renew(nic::Device& nic, int descriptor);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// The program's end, and what it is however many numbers it has.
  int descriptor() const { return program_end_; }
  const DescriptorIdentity& identity() const { return identity_; }

  nic::Device& nic() { return nic_; }
  /// Under the engine lock, while the channel is open.
  nic::rdma_cm::EventChannel& events() { return events_; }

  /// Of a renewed one: from now on the descriptor is this channel's.
  void move_in();

  /// Under the engine lock.
  bool is_open() const { return is_open_; }

  /// The program closed it: its ids end, and no event comes any more. Takes the engine lock.
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

  void set(bool has_events) noexcept override;

 private:
  void send_byte() const;
  void take_byte() const;

  Channel(nic::Device& nic, int program_end, nic::Descriptor our_end, const DescriptorIdentity& identity);

  nic::Device& nic_;
  const int program_end_;
  nic::Descriptor our_end_;  // a child's is closed, so that the end of its parent hangs up the program's
  // A renewed one's program end, whose number another file has until it moves in. Kept then, too: the NIC's
  // thread may be using it.
  nic::Descriptor copy_;
  const DescriptorIdentity identity_;
  std::atomic<bool> is_abandoned_{false};
  std::chrono::steady_clock::time_point forked_at_{};  // written while the child has one thread
  std::atomic<bool> is_taken_over_{false};
  bool is_open_ = true;                // under the engine lock
  bool has_byte_ = false;              // under the engine lock
  nic::rdma_cm::EventChannel events_;  // under the engine lock
};

}  // namespace urnic::verbs_api
