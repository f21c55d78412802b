// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// AfXdpPort: a network interface of the host, through AF_XDP.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drivers/af_xdp/xdp_program.h"
#include "drivers/af_xdp/xdp_socket.h"
#include "drivers/descriptor.h"
#include "drivers/patience.h"
#include "nic/port/packet_port.h"
#include "transport/result.h"

namespace urnic::drivers {

/// The largest MTU of an interface, and of the NIC on it. A frame has a page of 4096 bytes. The kernel keeps
/// 256 of them before the frame and up to 384 after it (measured on veth: 320); the frame's header has 14.
inline constexpr std::uint16_t kMaxAfXdpMtu = 3442;

/// While the port is open it has all that the interface's first receive queue receives, and the host's own
/// stack hears nothing from there. The NIC writes frames where the kernel reads them, and reads them where it
/// wrote them.
///
/// Frames that the interface does not take stay in a short queue, as on a DpdkPort: reserve() comes up empty
/// while it is full, and what is not taken for longer than our Patience is dropped.
class AfXdpPort final : public nic::PacketPort {
 public:
  /// A port on `interface`, which must be up, have an MTU from `link_mtu` to kMaxAfXdpMtu and one receive
  /// queue, and have no other XDP program. Needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, the last two outside
  /// of any user namespace.
  static Result<std::unique_ptr<AfXdpPort>, Error> open(const std::string& interface, std::uint16_t link_mtu);

  std::size_t receive(std::span<nic::ReceivedFrame> frames) override;
  bool may_hold_frames() const override { return socket_.received.available() > 0; }
  nic::Room reserve_to(const transport::wire::Mac& destination) override;
  void commit(std::size_t length) override;
  void flush() override;
  bool is_drained() override { return is_down_ || (queued_ == 0 && socket_.transmit.waiting() == 0); }
  std::size_t max_frame_bytes() const override { return max_frame_bytes_; }
  int wake_fd() const override { return epoll_.get(); }
  bool arm() override;
  Statistics statistics() const override { return statistics_; }
  std::string description() const override { return description_; }

 private:
  static constexpr std::uint32_t kBurst = 64;
  /// All of those that the kernel may hold, and a queue: there is one to reserve whenever the queue is not
  /// full.
  static constexpr std::uint32_t kTransmitFrames = 2 * XdpSocket::kTransmitEntries + kBurst;
  static constexpr std::uint64_t kNoFrame = ~std::uint64_t{0};
  static constexpr std::uint32_t kFrames = XdpSocket::kReceiveEntries + kTransmitFrames;

  AfXdpPort(const std::string& interface, std::uint16_t link_mtu, XdpSocket socket, XdpProgram program,
            Descriptor ear, Descriptor epoll);
  void give_frames_back();
  void collect_sent();
  void show_queue();
  void send_shown();
  void drop_queue();

  const std::size_t max_frame_bytes_;
  const std::string description_;
  XdpSocket socket_;
  Descriptor ear_;
  Descriptor epoll_;

  std::array<std::uint64_t, kBurst> held_{};  // UMEM addresses of what the last receive() returned
  std::uint32_t held_count_ = 0;
  std::array<std::uint64_t, kTransmitFrames> free_{};  // frames that hold nothing; the last one is the next
  std::uint32_t free_count_ = 0;
  std::uint64_t reserved_ = kNoFrame;
  std::array<xdp_desc, kBurst> queue_{};  // committed
  std::uint32_t queued_ = 0;
  bool is_down_ = false;  // when we sent last
  Patience patience_;
  Statistics statistics_;
  const XdpProgram program_;  // last: no frames come any more while the rest goes
};

/// Whether this process may open such a port, as far as that can be known without doing it. The errors are
/// the same as AfXdpPort::open()'s.
Result<void, Error> check_af_xdp(const std::string& interface, std::uint16_t link_mtu);

}  // namespace urnic::drivers
