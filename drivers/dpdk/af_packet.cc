#include "drivers/dpdk/af_packet.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "drivers/descriptor.h"
#include "drivers/dpdk/eth_device.h"
#include "drivers/dpdk/own_sockets.h"
#include "drivers/dpdk/port.h"

namespace urnic::drivers {

namespace {

constexpr std::size_t kMinFrameBytes = 60;
// The kernel puts its own header in front of each frame of the ring it shares with us.
constexpr std::uint32_t kRingHeaderBytes = 256;
constexpr std::uint32_t kRingFrames = 256;  // each way
// What the port itself may hold (four bursts), and what the driver needs to copy into.
constexpr std::uint32_t kBuffers = 512;

Error interface_error(int code, const std::string& interface, const std::string& reason) {
  return Error{code, fmt::format("network interface {}: {}", interface, reason)};
}

struct Interface {
  int index = 0;
  int mtu = 0;
  bool is_up = false;
};

Result<Interface, Error> look_up(const std::string& name) {
  if (name.empty() || name.size() >= IFNAMSIZ) {
    return interface_error(EINVAL, name, fmt::format("a name has 1 to {} bytes", IFNAMSIZ - 1));
  }
  const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  Interface found;
  if (ioctl(any.get(), SIOCGIFINDEX, &request) != 0) {
    return interface_error(errno, name, std::strerror(errno));
  }
  found.index = request.ifr_ifindex;
  if (ioctl(any.get(), SIOCGIFMTU, &request) != 0) return interface_error(errno, name, std::strerror(errno));
  found.mtu = request.ifr_mtu;
  if (ioctl(any.get(), SIOCGIFFLAGS, &request) != 0) {
    return interface_error(errno, name, std::strerror(errno));
  }
  found.is_up = (request.ifr_flags & IFF_UP) != 0;
  return found;
}

// Has the interface hear frames for any MAC as long as the descriptor lives. A socket of protocol 0 receives
// none.
Result<Descriptor, Error> hear_everything(const std::string& name, const Interface& interface) {
  Descriptor ear(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  if (ear.get() < 0) {
    const int error = errno;
    return interface_error(
        error, name,
        error == EPERM ? "af_packet needs the capability CAP_NET_RAW (or root)" : std::strerror(error));
  }
  packet_mreq membership{};
  membership.mr_ifindex = interface.index;
  membership.mr_type = PACKET_MR_PROMISC;
  if (setsockopt(ear.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership, sizeof(membership)) != 0) {
    return interface_error(errno, name, fmt::format("cannot hear all frames: {}", std::strerror(errno)));
  }
  return ear;
}

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
  const auto found = look_up(interface);
  if (!found) return found.error();
  if (!found.value().is_up) return interface_error(ENETDOWN, interface, "is down");
  if (found.value().mtu < link_mtu) {
    return interface_error(EMSGSIZE, interface,
                           fmt::format("its MTU is {}, less than the NIC's {}", found.value().mtu, link_mtu));
  }
  auto ear = hear_everything(interface, found.value());
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
  medium->device().link().add_wake_source(socket);
  medium->device().link().report(true);
  return std::make_unique<DpdkPort>(std::move(medium),
                                    DpdkPort::Config{.max_frame_bytes = max_frame_bytes,
                                                     .min_frame_bytes = kMinFrameBytes,
                                                     .description = fmt::format("af_packet {}", interface)});
}

}  // namespace urnic::drivers
