// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ChannelPart: the events that one device has for a channel.
#pragma once

#include "nic/device/device.h"
#include "nic/rdma_cm/event_channel.h"

namespace urnic::verbs_api {

/// What makes the program's end of a channel readable. Any thread.
class ChannelBytes {
 public:
  virtual ~ChannelBytes() = default;
  virtual void send_byte() const = 0;
  virtual void take_byte() const = 0;
};

/// A byte waits at the program's end exactly while the part has events. Each event brings a new one, which
/// takes the place of the one before: so an epoll with EPOLLET tells of each event, as it does for the
/// kernel's rdma_cm.
class ChannelPart final : public nic::rdma_cm::ChannelSignal {
 public:
  /// Both must outlive it, unless the channel is abandoned.
  ChannelPart(nic::Device& nic, const ChannelBytes& bytes) : nic_(nic), bytes_(bytes), events_(*this) {}
  ChannelPart(const ChannelPart&) = delete;
  ChannelPart& operator=(const ChannelPart&) = delete;

  nic::Device& nic() { return nic_; }

  // --- Under the engine lock of its device ---

  /// While the channel is open.
  nic::rdma_cm::EventChannel& events() { return events_; }
  bool is_open() const { return is_open_; }

  // --- Without it ---

  /// The program closed the channel: the part's ids end, and no event comes any more.
  void end();

  void set(bool has_events) noexcept override;

 private:
  nic::Device& nic_;
  const ChannelBytes& bytes_;
  bool is_open_ = true;
  bool has_byte_ = false;
  nic::rdma_cm::EventChannel events_;
};

}  // namespace urnic::verbs_api
