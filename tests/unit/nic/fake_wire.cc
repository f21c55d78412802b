#include "tests/unit/nic/fake_wire.h"

#include <utility>

namespace urnic::nic {

class FakeWire::Port final : public PacketPort {
 public:
  Port(FakeWire& wire, std::size_t end) : wire_(wire), end_(end), room_(wire.max_frame_bytes_) {}

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
    received_.clear();
    auto& inbox = wire_.inboxes_[end_];
    if (!inbox.empty()) wire_.on_receive(end_);
    while (!inbox.empty() && received_.size() < frames.size()) {
      received_.push_back(std::move(inbox.front()));
      inbox.pop_front();
    }
    for (std::size_t i = 0; i < received_.size(); ++i) {
      const auto& [bytes, has_icrc] = received_[i];
      frames[i] = has_icrc ? ReceivedFrame(bytes) : ReceivedFrame::without_icrc(bytes);
    }
    statistics_.received_frames += received_.size();
    return received_.size();
  }
  bool may_hold_frames() const override { return !wire_.inboxes_[end_].empty(); }
  bool is_awaiting_turn_of(const transport::wire::Mac&) override { return wire_.awaits_turn; }
  Room reserve_to(const transport::wire::Mac& destination) override {
    ++wire_.times_asked;
    const auto found = wire_.ways.find(to_string(destination));
    way_ = found == wire_.ways.end() ? nullptr : &found->second;
    if (wire_.room[end_] == 0) return {};
    const bool has_room = way_ == nullptr || way_->room > 0;
    if (has_room) return wire_.is_shared_memory ? Room::without_icrc(room_) : Room(room_);
    return Room::none(way_->is_stalled ? Room::Refusal::kStalled : Room::Refusal::kStation);
  }
  void commit(std::size_t length) override { commit_as(length, true); }
  void commit_without_icrc(std::size_t length) override { commit_as(length, false); }
  void flush() override {
    wire_.on_flush(end_);
    for (Frame& frame : committed_) {
      wire_.sent_[end_].push_back(frame.bytes);
      if (!wire_.is_lost(end_, frame.bytes)) wire_.inboxes_[1 - end_].push_back(std::move(frame));
    }
    committed_.clear();
  }
  std::size_t max_frame_bytes() const override { return room_.size(); }
  Statistics statistics() const override { return statistics_; }
  std::string description() const override { return "fake wire"; }

 private:
  void commit_as(std::size_t length, bool has_icrc) {
    --wire_.room[end_];
    if (way_ != nullptr) --way_->room;
    const auto end = room_.begin() + static_cast<std::ptrdiff_t>(length);
    committed_.push_back({Bytes(room_.begin(), end), has_icrc});
    ++statistics_.sent_frames;
  }

  FakeWire& wire_;
  std::size_t end_;
  std::vector<std::byte> room_;
  Way* way_ = nullptr;  // of the last reserve_to()
  std::vector<Frame> committed_;
  std::vector<Frame> received_;
  Statistics statistics_;
};

std::unique_ptr<PacketPort> FakeWire::port(std::size_t end) {
  return std::make_unique<Port>(*this, end);
}

}  // namespace urnic::nic
