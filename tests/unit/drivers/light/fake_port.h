// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FakePort: a port whose other side is the test.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/simulation/kernel/virtual_port.h"
#include "transport/wire/address.h"

namespace urnic::drivers::test {

using Bytes = std::vector<std::byte>;
using transport::wire::Mac;

inline constexpr Mac kOwnMac{{2, 0, 0, 0, 0, 1}};
inline constexpr Mac kPeerMac{{2, 0, 0, 0, 0, 2}};
inline constexpr Mac kBroadcast{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

/// A frame between two MACs whose remaining bytes are `fill`.
inline Bytes frame_between(const Mac& to, const Mac& from, std::size_t size, std::uint8_t fill) {
  Bytes frame(size, std::byte{fill});
  const auto put = [&](const Mac& mac, std::size_t at) {
    std::transform(mac.octets.begin(), mac.octets.end(), frame.begin() + static_cast<std::ptrdiff_t>(at),
                   [](std::uint8_t octet) { return std::byte{octet}; });
  };
  put(to, 0);
  put(from, 6);
  return frame;
}

/// Frame number `n` from the peer to us, or from us to the peer.
inline Bytes received_frame(std::uint8_t n, std::size_t size = 64) {
  return frame_between(kOwnMac, kPeerMac, size, n);
}
inline Bytes sent_frame(std::uint8_t n, std::size_t size = 64) {
  return frame_between(kPeerMac, kOwnMac, size, n);
}

class FakePort final : public kernel::VirtualPort {
 public:
  /// What the test sees of it. Outlives the port if the test keeps it.
  struct Outside {
    kernel::Inbox to_receive;
    std::vector<Bytes> sent;
    std::size_t room = ~std::size_t{0};  ///< frames that it still takes
    std::size_t flushes = 0;
    bool is_armed = false;
    std::size_t times_armed = 0;
    bool is_drained = true;
    Mac station_without_turn{};           ///< what was sent to it waits
    std::optional<std::uint32_t> poller;  ///< where our program polls, as the port was told
    std::uint32_t poller_of_peer = 0;     ///< where the peer's does
    int written_out = 0;
    unsigned sent_without_icrc = 0;
    unsigned sent_runs = 0;
    nic::Medium medium = nic::Medium::kEthernet;
    bool is_shared_memory = false;  ///< where frames may come without their ICRC, and be runs
    int wake_fd = eventfd(0, EFD_NONBLOCK);

    ~Outside() { close(wake_fd); }
    void wake() const { eventfd_write(wake_fd, 1); }
  };

  explicit FakePort(std::shared_ptr<Outside> outside, std::size_t max_frame_bytes = 2000)
      : VirtualPort(outside->to_receive, max_frame_bytes), outside_(std::move(outside)) {}

  nic::Medium medium() const override { return outside_->medium; }
  bool is_awaiting_turn_of(const Mac& station) override { return station == outside_->station_without_turn; }
  void note_poller(std::uint32_t processor) override { outside_->poller = processor; }
  bool has_poller_on(std::uint32_t processor) const override { return processor == outside_->poller_of_peer; }
  nic::Room reserve_to(const Mac&) override {
    if (outside_->room == 0) return {};
    const auto run_bytes = static_cast<std::uint16_t>(room().size());
    return outside_->is_shared_memory ? nic::Room::without_icrc(room(), run_bytes) : nic::Room(room());
  }
  void commit(std::size_t length) override {
    const auto frame = room().first(length);
    outside_->sent.emplace_back(frame.begin(), frame.end());
    --outside_->room;
  }
  void commit_without_icrc(std::size_t length) override {
    commit(length);
    ++outside_->sent_without_icrc;
  }
  void commit_run(std::size_t length, nic::RunShape) override {
    commit(length);
    ++outside_->sent_runs;
  }
  void flush() override { ++outside_->flushes; }
  bool is_drained() override { return outside_->is_drained; }
  void write_out() override { ++outside_->written_out; }
  int wake_fd() const override { return outside_->wake_fd; }
  bool arm() override {
    outside_->is_armed = true;
    ++outside_->times_armed;
    return !outside_->to_receive.empty();
  }
  void disarm() override { outside_->is_armed = false; }
  Statistics statistics() const override {
    return {.received_frames = 1000,
            .received_bytes = 2000,
            .sent_frames = 3000,
            .sent_bytes = 4000,
            .dropped_frames = 5};
  }
  std::string description() const override { return "fake"; }

 private:
  std::shared_ptr<Outside> outside_;
};

/// Sends `frame`; false when the port has no room.
inline bool send(nic::PacketPort& port, const Bytes& frame) {
  const std::span<std::byte> room = port.reserve();
  if (room.empty()) return false;
  std::copy(frame.begin(), frame.end(), room.begin());
  port.commit(frame.size());
  return true;
}

/// What one receive() of at most `most` frames gives.
inline std::vector<Bytes> receive(nic::PacketPort& port, std::size_t most = 32) {
  std::vector<nic::ReceivedFrame> frames(most);
  frames.resize(port.receive(frames));
  std::vector<Bytes> copies;
  for (const auto frame : frames) copies.emplace_back(frame.begin(), frame.end());
  return copies;
}

}  // namespace urnic::drivers::test
