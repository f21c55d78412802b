// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/nic/fake_wire.h"

#include <utility>

#include "tools/simulation/kernel/virtual_port.h"

namespace urnic::nic {

class FakeWire::Port final : public kernel::VirtualPort {
 public:
  Port(FakeWire& wire, std::size_t end)
      : VirtualPort(wire.inboxes_[end], wire.max_frame_bytes_, 0xffff), wire_(wire), end_(end) {}

  Medium medium() const override { return wire_.medium_; }
  Result<void, Error> join(const transport::wire::Gid& group) override {
    if (wire_.join_error != 0) return failure(Error{.code = wire_.join_error, .message = "no more groups"});
    wire_.memberships.push_back("end " + std::to_string(end_) + " joins " + to_string(group));
    return success();
  }
  void leave(const transport::wire::Gid& group) override {
    wire_.memberships.push_back("end " + std::to_string(end_) + " leaves " + to_string(group));
  }
  std::size_t receive(std::span<ReceivedFrame> frames) override {
    if (may_hold_frames()) wire_.on_receive(end_);
    return VirtualPort::receive(frames);
  }
  bool is_awaiting_turn_of(const transport::wire::Mac&) override { return wire_.awaits_turn; }
  Room reserve_to(const transport::wire::Mac& destination) override {
    ++wire_.times_asked;
    const auto found = wire_.ways.find(to_string(destination));
    way_ = found == wire_.ways.end() ? nullptr : &found->second;
    if (wire_.room[end_] == 0) return {};
    const bool has_room = way_ == nullptr || way_->room > 0;
    if (has_room && wire_.is_shared_memory) return Room::without_icrc(room(), wire_.run_bytes);
    if (has_room) return room();
    return Room::none(way_->is_stalled ? Room::Refusal::kStalled : Room::Refusal::kStation);
  }
  void commit(std::size_t length) override {
    take_room();
    VirtualPort::commit(length);
  }
  void commit_without_icrc(std::size_t length) override {
    take_room();
    VirtualPort::commit_without_icrc(length);
  }
  void commit_run(std::size_t length, RunShape shape) override {
    take_room();
    VirtualPort::commit_run(length, shape);
  }
  void flush() override {
    wire_.on_flush(end_);
    VirtualPort::flush();
  }

 private:
  void take_room() {
    --wire_.room[end_];
    if (way_ != nullptr) --way_->room;
  }
  void send(kernel::Frame frame) override {
    wire_.sent_[end_].push_back(frame.bytes);
    if (!wire_.is_lost(end_, frame.bytes)) wire_.inboxes_[1 - end_].push_back(std::move(frame));
  }

  FakeWire& wire_;
  std::size_t end_;
  Way* way_ = nullptr;  // of the last reserve_to()
};

std::unique_ptr<PacketPort> FakeWire::port(std::size_t end) {
  return std::make_unique<Port>(*this, end);
}

}  // namespace urnic::nic
