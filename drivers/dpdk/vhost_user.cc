// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/vhost_user.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "drivers/dpdk/driver_session.h"
#include "drivers/dpdk/eth_device.h"
#include "drivers/dpdk/own_sockets.h"
#include "drivers/dpdk/port.h"
#include "drivers/dpdk/socket_file.h"
#include "drivers/dpdk/vhost_front_server.h"
#include "drivers/peer_user.h"

namespace urnic::drivers {

namespace {

// The driver wants room for a VLAN tag and its own header on top of the MTU.
constexpr std::uint32_t kDriverHeaderBytes = 32;
// What the port itself may hold: received, received early, spare, queued.
constexpr std::uint32_t kPortBuffers = 4 * 64;
// More entries bring no speed, and each costs a buffer that leaves the cache before it is used again.
constexpr std::uint16_t kRingEntries = 256;
// The front takes its buffers back as soon as 32 of them are through, so that the same few are used again and
// again. (The driver does it when more than ring entries minus threshold are through.)
constexpr std::uint16_t kFreeThreshold = kRingEntries - 32;

// A child of the program that inherits the connection would keep it open when the program dies, and the peer
// would wait for frames. The driver does not mark it, nor does it name the peer's process.
void note_front(Link& link, const Sockets& sockets) {
  for (const int fd : sockets) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (const auto front = peer_of(fd)) link.set_peer_process(front->pid);
  }
}

class FrontMedium final : public Medium {
 public:
  FrontMedium(std::unique_ptr<EthDevice> device, SocketFile file, std::unique_ptr<DriverSession> session)
      : Medium(std::move(device)),
        file_(std::move(file)),
        session_(std::move(session)),
        transmit_ring_(session_->setup().rings[VhostSetup::kTransmit]) {}
  ~FrontMedium() override;

  Result<void, Error> let_peers_in();

  bool may_go_on() const override { return device().link().peer_may_run(); }
  // Frames wait in our memory until the back has copied them.
  bool is_drained() const override { return transmit_ring_.used_index() == transmit_ring_.available_index(); }

 private:
  SocketFile file_;
  std::unique_ptr<DriverSession> session_;
  const VhostSetup::Ring& transmit_ring_;
  std::unique_ptr<VhostFrontServer> server_;
};

class BackMedium final : public Medium {
 public:
  using Medium::Medium;

  bool may_go_on() const override { return device().link().peer_may_run(); }
};

Result<void, Error> FrontMedium::let_peers_in() {
  if (!session_->setup().is_complete()) return Error{EPROTO, "DPDK does not set its rings up"};
  device().link().add_wake_source(session_->setup().rings[VhostSetup::kReceive].call.get());
  auto listener = file_.publish();
  if (!listener) return listener.error();
  auto server = VhostFrontServer::open(session_->setup(), *device().lent_memory(),
                                       std::move(listener.value()), device().link());
  if (!server) return server.error();
  server_ = std::move(server.value());
  return success();
}

// The peer has to be off our memory before the device gives it back.
FrontMedium::~FrontMedium() {
  file_.remove();
  const bool peer_has_stopped = server_ == nullptr || server_->close();
  if (peer_has_stopped && session_->resume()) {
    end_device();
  } else {
    leave_device();
  }
}

std::uint32_t buffer_bytes_for(std::uint16_t link_mtu) {
  return link_mtu + static_cast<std::uint32_t>(kEthernetHeaderBytes) + kDriverHeaderBytes;
}

EthDevice::Config common_config(std::uint16_t link_mtu) {
  return EthDevice::Config{
      .driver = {},
      .arguments = {},
      .receive_descriptors = kRingEntries,
      .transmit_descriptors = kRingEntries,
      .buffers = 2u * kRingEntries + kPortBuffers,
      .buffer_bytes = buffer_bytes_for(link_mtu),
      .mtu = link_mtu,
  };
}

std::unique_ptr<nic::PacketPort> make_port(std::unique_ptr<Medium> medium, const std::string& path,
                                           const char* side, std::uint16_t link_mtu,
                                           bool waits_for_first_peer) {
  return std::make_unique<DpdkPort>(
      std::move(medium), DpdkPort::Config{.max_frame_bytes = link_mtu + kEthernetHeaderBytes,
                                          .min_frame_bytes = 0,
                                          .waits_for_first_peer = waits_for_first_peer,
                                          .description = fmt::format("vhost {} ({})", path, side)});
}

}  // namespace

Result<std::unique_ptr<nic::PacketPort>, Error> open_vhost_front(const std::string& path,
                                                                 std::uint16_t link_mtu,
                                                                 bool waits_for_first_peer) {
  auto file = SocketFile::claim(path);
  if (!file) return file.error();

  EthDevice::Config config = common_config(link_mtu);
  config.driver = "net_virtio_user";
  config.arguments = fmt::format("path={},queues=1,queue_size={}", file.value().private_path(), kRingEntries);
  config.transmit_free_threshold = kFreeThreshold;
  config.lends = true;
  // A back may have a larger MTU. Its longest frame fits, so that it is dropped here and does not block the
  // queue of the back.
  config.buffer_bytes = buffer_bytes_for(kMaxLinkMtu);

  auto session = std::make_unique<DriverSession>();
  if (const auto started = session->start(file.value().private_path()); !started) return started.error();
  auto device = EthDevice::create(config);
  session->pause();
  if (!device) return device.error();

  auto medium =
      std::make_unique<FrontMedium>(std::move(device.value()), std::move(file.value()), std::move(session));
  if (const auto open = medium->let_peers_in(); !open) return open.error();
  return make_port(std::move(medium), path, "front", link_mtu, waits_for_first_peer);
}

Result<std::unique_ptr<nic::PacketPort>, Error> open_vhost_back(const std::string& path,
                                                                std::uint16_t link_mtu) {
  if (const auto fine = check_socket_path(path); !fine) return fine.error();

  EthDevice::Config config = common_config(link_mtu);
  config.driver = "net_vhost";
  config.interrupts = true;
  config.arguments = fmt::format("iface={},client=1,queues=1,linear-buffer=1", path);
  config.on_link_up = [path, private_name = "/" + private_socket_name(path)](Link& link) {
    note_front(link, connections_to(path));
    note_front(link, connections_to(private_name));
  };

  auto device = EthDevice::create(config);
  if (!device) return device.error();
  return make_port(std::make_unique<BackMedium>(std::move(device.value())), path, "back", link_mtu, true);
}

}  // namespace urnic::drivers
