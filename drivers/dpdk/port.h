// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DpdkPort: a PacketPort over one DPDK device.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "drivers/dpdk/eth_device.h"
#include "drivers/patience.h"
#include "nic/port/packet_port.h"

namespace urnic::drivers {

/// What differs between the media below a DpdkPort. The base class is a device that can always send.
class Medium {
 public:
  explicit Medium(std::unique_ptr<EthDevice> device) : device_(std::move(device)) {}
  Medium(const Medium&) = delete;
  Medium& operator=(const Medium&) = delete;
  virtual ~Medium();

  EthDevice& device() { return *device_; }
  const EthDevice& device() const { return *device_; }

  /// False while sending would block.
  virtual bool can_send() { return true; }
  /// How many of the frames that the device took it could not send.
  virtual std::uint64_t lost_frames() const { return 0; }
  /// Whether the other side has taken every frame that the device took from us.
  virtual bool is_drained() const { return true; }
  /// While nothing moves: whether the other side may take frames if we wait.
  virtual bool may_go_on() const { return false; }

 protected:
  void end_device();
  /// Never ends the device, because the peer may still be at work with it.
  void leave_device() { [[maybe_unused]] auto* const left = device_.release(); }

 private:
  std::unique_ptr<EthDevice> device_;
};

/// What a frame has besides the bytes that a link's MTU counts.
inline constexpr std::size_t kEthernetHeaderBytes = 14;

/// Frames are received and sent in bursts. Sent frames wait in a short queue for flush(); what the device
/// does not take stays there, and so reserve() comes up empty while the queue is full: back pressure. But
/// without a peer frames are dropped, and a peer that takes nothing for longer than our Patience costs the
/// whole queue, and every frame that finds no room from then on until it takes one. A peer is there when its
/// link is up, or when a frame has come since the last peer left.
///
/// If the port waits for its first peer, that peer misses nothing: until it is there, or kFirstPeerPatience
/// is over, reserve() comes up empty. A program asks for its peer's address with its first message and
/// repeats that a few times in a second, while a switch that is a vhost-user back, as Open vSwitch, looks for
/// its front only once a second.
class DpdkPort final : public nic::PacketPort {
 public:
  struct Config {
    std::size_t max_frame_bytes = 0;
    std::size_t min_frame_bytes = 0;  ///< shorter frames are padded with zeros
    bool is_polled = false;           ///< the device wakes no sleeper
    bool waits_for_first_peer = true;
    std::string description;
  };

  DpdkPort(std::unique_ptr<Medium> medium, Config config);
  ~DpdkPort() override;

  std::size_t receive(std::span<nic::ReceivedFrame> frames) override;
  bool may_hold_frames() const override { return has_looked_early_; }
  nic::Room reserve_to(const transport::wire::Mac& destination) override;
  void commit(std::size_t length) override;
  void flush() override;
  bool is_drained() override;
  std::size_t max_frame_bytes() const override { return config_.max_frame_bytes; }
  int wake_fd() const override { return config_.is_polled ? -1 : link_.wake_fd(); }
  bool arm() override;
  void disarm() override;
  Statistics statistics() const override;
  std::string description() const override { return config_.description; }

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr std::uint16_t kBurst = 64;
  /// Open vSwitch on a crowded machine was seen to take two seconds from the first connection to the first
  /// frame.
  static constexpr auto kFirstPeerPatience = std::chrono::seconds(3);

  /// A short array of buffers.
  struct Batch {
    std::array<rte_mbuf*, kBurst> buffers;
    std::uint16_t count = 0;
  };

  std::uint16_t receive_burst(Batch& batch, std::uint16_t limit);
  bool has_peer() const;
  void drop_queue();
  bool is_waiting_for_first_peer();

  Link& link_;
  const std::uint16_t port_id_;
  Batch held_;                                  // what the last receive() returned
  Batch early_;                                 // the frame that arm() found, for the next receive()
  bool has_looked_early_ = false;               // the last receive() returned that one, and looked no further
  Batch spare_;                                 // empty, for reserve(); its last one is the reserved one
  Batch queue_;                                 // committed
  std::optional<std::uint32_t> heard_after_{};  // how many peers had gone when a frame came last
  Patience patience_;
  const Clock::time_point opened_at_ = Clock::now();
  bool is_new_ = true;  // there was no peer yet, as far as we have looked
  Statistics statistics_;
  const Config config_;
  const std::unique_ptr<Medium> medium_;
};

}  // namespace urnic::drivers
