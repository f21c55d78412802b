// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LoopbackPort: frames that the NIC sends to itself come back; all others go to the wire, if there is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drivers/descriptor.h"
#include "nic/port/packet_port.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// A port around another one, or around nothing: then frames to others are dropped and counted. Frames to a
/// group go to both, except frames that look for neighbors: each receiver knows whether it is a member of the
/// group.
///
/// Frames to the own MAC wait in a ring of kSlots frames until receive(). While it is full there is no room
/// for those, nor for groups: the engine that fills the ring is the one that empties it in its next round.
class LoopbackPort final : public nic::PacketPort {
 public:
  static constexpr std::size_t kSlots = 256;

  /// `wire` may be null. `max_frame_bytes` counts only then; otherwise the wire says what fits. The memory
  /// for all slots is taken here, and nothing allocates afterwards.
  LoopbackPort(const transport::wire::Mac& own, std::unique_ptr<nic::PacketPort> wire,
               std::size_t max_frame_bytes);
  LoopbackPort(const LoopbackPort&) = delete;
  LoopbackPort& operator=(const LoopbackPort&) = delete;

  std::size_t receive(std::span<nic::ReceivedFrame> frames) override;
  bool may_hold_frames() const override { return !ring_is_empty() || (wire_ && wire_->may_hold_frames()); }
  bool is_awaiting_turn_of(const transport::wire::Mac& station) override {
    return wire_ && wire_->is_awaiting_turn_of(station);
  }
  void note_poller(std::uint32_t processor) override {
    if (wire_) wire_->note_poller(processor);
  }
  bool has_poller_on(std::uint32_t processor) const override {
    return wire_ && wire_->has_poller_on(processor);
  }
  nic::Room reserve_to(const transport::wire::Mac& destination) override;
  void commit(std::size_t length) override;
  void commit_without_icrc(std::size_t length) override;
  void commit_run(std::size_t length, nic::RunShape shape) override;
  void flush() override;
  bool is_drained() override;
  void write_out() override {
    if (wire_) wire_->write_out();
  }
  std::size_t max_frame_bytes() const override { return max_frame_bytes_; }

  /// Covers the wire's descriptor; -1, so that the port is polled, if the wire has none.
  int wake_fd() const override { return wake_fd_; }
  bool arm() override;
  void disarm() override;
  transport::Time next_due() const override { return wire_ ? wire_->next_due() : transport::kNever; }

  /// Own frames and the wire's together.
  Statistics statistics() const override;
  std::string description() const override;

 private:
  std::byte* slot(std::size_t position) { return slots_.get() + position % kSlots * slot_bytes_; }
  bool ring_is_empty() const { return first_ == end_; }
  bool ring_is_full() const { return end_ - released_ == kSlots; }
  std::size_t receive_own(std::span<nic::ReceivedFrame> frames);
  void keep(std::size_t length);

  transport::wire::Mac own_;
  std::unique_ptr<nic::PacketPort> wire_;
  std::size_t max_frame_bytes_;
  std::size_t slot_bytes_;

  // Free-running positions: [released_, first_) was handed out by the last receive(), [first_, end_) waits.
  std::unique_ptr<std::byte[]> slots_;
  std::vector<std::size_t> lengths_;
  std::size_t released_ = 0;
  std::size_t first_ = 0;
  std::size_t end_ = 0;

  std::span<std::byte> wire_room_;  // what the wire gave to the last reserve(), until commit()
  Statistics own_statistics_;

  Descriptor event_;
  Descriptor epoll_;  // over event_ and the wire's; not needed without a wire
  int wake_fd_ = -1;  // one of the two, or none
  bool armed_ = false;
  bool signalled_ = false;  // event_ is readable
};

}  // namespace urnic::drivers
