// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/vhost_front_server.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "drivers/dpdk/vhost_message.h"
#include "drivers/peer_user.h"

namespace urnic::drivers {

namespace {

using vhost::bytes_of;
using vhost::Request;

// How long a peer may take for an answer, in the handshake and when it shall stop.
constexpr timeval kPatience{.tv_sec = 1, .tv_usec = 0};

std::optional<std::uint64_t> ask_features(int peer) {
  if (!vhost::send(peer, Request::kGetFeatures)) return std::nullopt;
  const auto answer = vhost::receive(peer);
  if (!answer || answer->request != Request::kGetFeatures) return std::nullopt;
  return answer->as<std::uint64_t>();
}

bool send_state(int peer, Request request, std::uint32_t ring, std::uint32_t number) {
  return vhost::send(peer, request, bytes_of(vhost::RingState{.index = ring, .number = number}));
}

bool send_descriptor(int peer, Request request, std::uint64_t ring, const Descriptor& descriptor) {
  const int fd = descriptor.get();
  return vhost::send(peer, request, bytes_of(ring), {&fd, 1});
}

bool send_ring(int peer, std::uint32_t index, const VhostSetup::Ring& ring) {
  const vhost::RingAddress address{.index = index,
                                   .flags = 0,
                                   .descriptors = ring.descriptors,
                                   .used = ring.used,
                                   .available = ring.available,
                                   .log = 0};
  return send_state(peer, Request::kSetRingSize, index, ring.size) &&
         send_state(peer, Request::kSetRingBase, index, ring.used_index()) &&
         vhost::send(peer, Request::kSetRingAddress, bytes_of(address)) &&
         send_descriptor(peer, Request::kSetRingKick, index, ring.kick);
}

bool has_hung_up(int peer) {
  pollfd end{.fd = peer, .events = POLLRDHUP, .revents = 0};
  return poll(&end, 1, 0) > 0;
}

}  // namespace

Result<std::unique_ptr<VhostFrontServer>, Error> VhostFrontServer::open(const VhostSetup& setup,
                                                                        const LentMemory& memory,
                                                                        Descriptor listener, Link& link) {
  std::unique_ptr<VhostFrontServer> server(new VhostFrontServer(setup, memory, std::move(listener), link));
  server->closing_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!server->closing_) {
    return Error{errno, fmt::format("cannot make a descriptor: {}", std::strerror(errno))};
  }
  if (const auto started = server->thread_.start("urnic-vhost", [it = server.get()] { it->run(); });
      !started) {
    return started.error();
  }
  return server;
}

void VhostFrontServer::run() {
  while (true) {
    std::array<pollfd, 2> events{
        {{.fd = closing_.get(), .events = POLLIN, .revents = 0},
         {.fd = peer_ ? peer_.get() : listener_.get(), .events = POLLIN, .revents = 0}}};
    if (poll(events.data(), events.size(), -1) < 0) continue;
    if (events[0].revents != 0) return;
    if (!peer_) {
      let_in();
    } else {
      // A back has nothing to say now, so this is its end.
      link_.report(false);
      peer_.reset();
    }
  }
}

void VhostFrontServer::let_in() {
  Descriptor peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!peer) {
    // Most likely this process has no descriptor left. The peer waits, so do not ask again at once.
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return;
  }
  if (!is_trusted_peer(peer.get())) return;
  setsockopt(peer.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  setsockopt(peer.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
  if (!introduce(peer.get())) return;
  peer_ = std::move(peer);
  if (const auto back = peer_of(peer_.get())) link_.set_peer_process(back->pid);
  link_.report(true);
}

bool VhostFrontServer::introduce(int peer) const {
  const auto offered = ask_features(peer);
  if (!offered || (*offered & setup_.features) != setup_.features) return false;
  if (!vhost::send(peer, Request::kSetOwner)) return false;
  // DPDK's back makes a ring when it gets the ring's call descriptor. So we send that first.
  for (std::uint32_t index = 0; index < setup_.rings.size(); ++index) {
    if (!send_descriptor(peer, Request::kSetRingCall, index, setup_.rings[index].call)) return false;
  }
  const auto start = reinterpret_cast<std::uintptr_t>(memory_.bytes().data());
  const vhost::OneRegion region{
      .guest_address = start, .bytes = memory_.bytes().size(), .user_address = start, .file_offset = 0};
  const int file = memory_.file();
  if (!vhost::send(peer, Request::kSetFeatures, bytes_of(setup_.features)) ||
      !vhost::send(peer, Request::kSetMemoryTable, bytes_of(region), {&file, 1})) {
    return false;
  }
  // Without protocol features a ring is on as soon as it has a kick descriptor.
  for (std::uint32_t index = 0; index < setup_.rings.size(); ++index) {
    if (!send_ring(peer, index, setup_.rings[index])) return false;
  }
  // The peer answers in order: with this one it is through with all of the above.
  return ask_features(peer).has_value();
}

bool VhostFrontServer::dismiss() const {
  for (std::uint32_t index = 0; index < setup_.rings.size(); ++index) {
    if (!send_state(peer_.get(), Request::kGetRingBase, index, 0) || !vhost::receive(peer_.get())) {
      return has_hung_up(peer_.get());  // then it has stopped, too
    }
  }
  return true;
}

bool VhostFrontServer::close() {
  if (!closing_) return true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(closing_.get(), &one, sizeof(one));
  thread_.join();
  closing_.reset();
  listener_.reset();
  const bool stopped = !peer_ || dismiss();
  if (peer_) link_.report(false);
  peer_.reset();
  return stopped;
}

}  // namespace urnic::drivers
