// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/af_packet.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "drivers/descriptor.h"
#include "drivers/dpdk/eth_device.h"
#include "drivers/dpdk/own_sockets.h"
#include "drivers/dpdk/port.h"
#include "drivers/interface/network_interface.h"
#include "drivers/shortest_frame.h"

namespace urnic::drivers {

namespace {

// The kernel puts its own header in front of each frame of the ring it shares with us.
constexpr std::uint32_t kRingHeaderBytes = 256;
constexpr std::uint32_t kRingFrames = 256;  // each way
// What the port itself may hold (four bursts), and what the driver needs to copy into.
constexpr std::uint32_t kBuffers = 512;

class PacketSocketMedium final : public Medium {
 public:
  PacketSocketMedium(std::unique_ptr<EthDevice> device, Descriptor ear, int socket)
      : Medium(std::move(device)), ear_(std::move(ear)), socket_(socket) {}

  // The driver waits without limit for room in the kernel's ring, so ask first: room does not shrink
  // meanwhile.
  bool can_send() override {
    pollfd writable{.fd = socket_, .events = POLLOUT, .revents = 0};
    return poll(&writable, 1, 0) != 0;
  }

  std::uint64_t lost_frames() const override {
    rte_eth_stats statistics{};
    rte_eth_stats_get(device().port_id(), &statistics);
    return statistics.oerrors;
  }

 private:
  Descriptor ear_;
  int socket_;  // the driver's
};

// The socket that the driver opened between the two looks, or -1.
int new_socket(const Sockets& before, const Sockets& after) {
  for (const int fd : after) {
    if (std::find(before.begin(), before.end(), fd) == before.end()) return fd;
  }
  return -1;
}

}  // namespace

Result<std::unique_ptr<nic::PacketPort>, Error> open_af_packet(const std::string& interface,
                                                               std::uint16_t link_mtu) {
  const auto found = find_interface(interface);
  if (!found) return found.error();
  if (!found.value().is_up) return interface_error(ENETDOWN, interface, "is down");
  if (found.value().mtu < link_mtu) {
    return interface_error(EMSGSIZE, interface,
                           fmt::format("its MTU is {}, less than the NIC's {}", found.value().mtu, link_mtu));
  }
  auto ear = hear_everything(interface, found.value(), "af_packet");
  if (!ear) return ear.error();

  const std::size_t max_frame_bytes = link_mtu + kEthernetHeaderBytes;
  // One frame per block. The driver copies whatever a ring frame holds, so a buffer must take it all.
  const std::uint32_t ring_frame_bytes = std::bit_ceil(
      std::max<std::uint32_t>(static_cast<std::uint32_t>(max_frame_bytes) + kRingHeaderBytes, 4096));
  const EthDevice::Config config{
      .driver = "net_af_packet",
      .arguments = fmt::format("iface={0},framesz={1},blocksz={1},framecnt={2},qpairs=1", interface,
                               ring_frame_bytes, kRingFrames),
      .buffers = kBuffers,
      .buffer_bytes = ring_frame_bytes,
  };
  const Sockets before = packet_sockets_on(found.value().index);
  auto device = EthDevice::create(config);
  if (!device) return device.error();
  const int socket = new_socket(before, packet_sockets_on(found.value().index));
  auto medium =
      std::make_unique<PacketSocketMedium>(std::move(device.value()), std::move(ear.value()), socket);
  if (socket < 0) return interface_error(EIO, interface, "DPDK's socket is nowhere to be found");
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  nic::keep_from_children(socket);
  medium->device().link().add_wake_source(socket);
  medium->device().link().report(true);
  return std::make_unique<DpdkPort>(std::move(medium),
                                    DpdkPort::Config{.max_frame_bytes = max_frame_bytes,
                                                     .min_frame_bytes = kShortestFrame,
                                                     .description = fmt::format("af_packet {}", interface)});
}

}  // namespace urnic::drivers
