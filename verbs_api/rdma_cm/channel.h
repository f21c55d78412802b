// Channel: what is behind a descriptor of /dev/infiniband/rdma_cm.
#pragma once

#include <atomic>
#include <memory>

#include "nic/device.h"
#include "nic/rdma_cm/event_channel.h"
#include "transport/result.h"
#include "verbs_api/abi/descriptor_identity.h"

namespace urnic::verbs_api {

/// The program has one end of a pair of sockets, which it polls and sets O_NONBLOCK; it closes it itself. A byte waits
/// there exactly while there are events. Each event brings a new one, which takes the place of the one before: so an epoll
/// with EPOLLET tells of each event, as it does for the kernel's rdma_cm. The other end is ours.
class Channel final : public nic::rdma_cm::ChannelSignal {
 public:
  /// `nic` must outlive the channel, unless abandon() is called; `flags` are those of open(2). The error is an errno
  /// value.
  static Result<std::shared_ptr<Channel>, int> create(nic::Device& nic, int flags);
  ~Channel() override;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// The program's end, and what it is however many numbers it has.
  int descriptor() const { return program_end_; }
  const DescriptorIdentity& identity() const { return identity_; }

  nic::Device& nic() { return nic_; }
  /// Under the engine lock, while the channel is open.
  nic::rdma_cm::EventChannel& events() { return events_; }
  /// Under the engine lock.
  bool is_open() const { return is_open_; }

  /// The program closed it: its ids end, and no event comes any more. Takes the engine lock.
  void end();

  /// In the child of a fork, where it is dead.
  void abandon() { is_abandoned_.store(true, std::memory_order_relaxed); }
  bool is_abandoned() const { return is_abandoned_.load(std::memory_order_relaxed); }

  void set(bool has_events) noexcept override;

 private:
  void send_byte() const;
  void take_byte() const;

  Channel(nic::Device& nic, int program_end, int our_end, const DescriptorIdentity& identity);

  nic::Device& nic_;
  const int program_end_;
  const int our_end_;
  const DescriptorIdentity identity_;
  std::atomic<bool> is_abandoned_{false};
  bool is_open_ = true;                // under the engine lock
  bool has_byte_ = false;              // under the engine lock
  nic::rdma_cm::EventChannel events_;  // under the engine lock
};

}  // namespace urnic::verbs_api
