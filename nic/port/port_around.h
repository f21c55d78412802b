// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PortAround: a port around another one, which passes on what it does not change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "nic/port/packet_port.h"

namespace urnic::nic {

/// What PacketPort does by itself is right for a port that stands alone, and loses calls where one stands
/// around another. So ports around others derive from this, and override what they change. (LoopbackPort does
/// not: it may stand around nothing.) Only commit_without_icrc() and commit_run() are not passed on: a port
/// that changes or keeps frames gives room for single and whole ones.
class PortAround : public PacketPort {
 public:
  Medium medium() const override { return port_->medium(); }
  std::size_t receive(std::span<ReceivedFrame> frames) override { return port_->receive(frames); }
  bool may_hold_frames() const override { return port_->may_hold_frames(); }
  Result<void, Error> join(const transport::wire::Gid& group) override { return port_->join(group); }
  void leave(const transport::wire::Gid& group) override { port_->leave(group); }
  void find_next_hop(const transport::wire::Gid& source, const transport::wire::Gid& destination) override {
    port_->find_next_hop(source, destination);
  }
  void take_only_from(transport::QpNumber qp, const std::optional<transport::wire::Mac>& station) override {
    port_->take_only_from(qp, station);
  }
  Room reserve_to(const transport::wire::Mac& destination) override { return port_->reserve_to(destination); }
  bool is_awaiting_turn_of(const transport::wire::Mac& station) override {
    return port_->is_awaiting_turn_of(station);
  }
  void note_poller(std::uint32_t processor) override { port_->note_poller(processor); }
  bool has_poller_on(std::uint32_t processor) const override { return port_->has_poller_on(processor); }
  void commit(std::size_t length) override { port_->commit(length); }
  void flush() override { port_->flush(); }
  bool is_drained() override { return port_->is_drained(); }
  void write_out() override { port_->write_out(); }
  std::size_t max_frame_bytes() const override { return port_->max_frame_bytes(); }
  int wake_fd() const override { return port_->wake_fd(); }
  bool arm() override { return port_->arm(); }
  void disarm() override { port_->disarm(); }
  transport::Time next_due() const override { return port_->next_due(); }
  Statistics statistics() const override { return port_->statistics(); }
  std::string description() const override { return port_->description(); }

 protected:
  /// `port` is not null.
  explicit PortAround(std::unique_ptr<PacketPort> port) : port_(std::move(port)) {}

  PacketPort& inner() { return *port_; }
  const PacketPort& inner() const { return *port_; }

 private:
  std::unique_ptr<PacketPort> port_;
};

}  // namespace urnic::nic
