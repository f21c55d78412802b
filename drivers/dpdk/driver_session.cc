// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/driver_session.h"

#include <poll.h>
#include <sys/socket.h>

#include <utility>

#include "drivers/dpdk/socket_file.h"
#include "drivers/dpdk/vhost_message.h"
#include "nic/process/may_wait.h"

namespace urnic::drivers {

namespace {

constexpr std::uint64_t feature(unsigned bit) {
  return std::uint64_t{1} << bit;
}
constexpr unsigned kVersion1 = 32;  // VIRTIO_F_VERSION_1
constexpr unsigned kInOrder = 35;   // VIRTIO_F_IN_ORDER

// What every back must offer, and DPDK's do: the layout of virtio 1, and buffers used in their order. That
// order is the fastest here, and the driver then looks up nothing by numbers that the back writes. Not frames
// that span several receive buffers (VIRTIO_NET_F_MRG_RXBUF): if a back claims more of them than there are,
// the driver looks for them without end (22.11).
constexpr std::uint64_t kFeatures = feature(kVersion1) | feature(kInOrder);

constexpr int kPollMs = 1;

// Both rings begin with 16 bits of flags and the 16-bit index of the next entry (virtio 1.1, 2.6.6
// and 2.6.8).
std::uint16_t ring_index(std::uint64_t ring) {
  return __atomic_load_n(reinterpret_cast<const std::uint16_t*>(ring) + 1, __ATOMIC_ACQUIRE);
}

bool is_readable(int fd, int timeout_ms) {
  pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&readable, 1, timeout_ms) > 0;
}

}  // namespace

std::uint16_t VhostSetup::Ring::used_index() const {
  return ring_index(used);
}
std::uint16_t VhostSetup::Ring::available_index() const {
  return ring_index(available);
}

Result<void, Error> DriverSession::start(const std::string& socket_path) {
  auto listener = listen_at(socket_path);
  if (!listener) return listener.error();
  listener_ = std::move(listener.value());
  return thread_.start("urnic-setup", [this] { converse_until_paused(); });
}

void DriverSession::pause() {
  nic::assert_may_wait();
  pausing_ = true;
  thread_.join();
}

Result<void, Error> DriverSession::resume() {
  return thread_.start("urnic-setup", [this] {
    while (answer()) {
    }
  });
}

void DriverSession::converse_until_paused() {
  bool listening = true;
  while (listening) {
    const bool pausing = pausing_;  // read first: what was said before pause() is in the socket by now
    const bool connected = static_cast<bool>(connection_);
    if (is_readable(connected ? connection_.get() : listener_.get(), pausing ? 0 : kPollMs)) {
      if (connected) {
        listening = answer();
      } else {
        connection_ = Descriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        listener_.reset();
      }
    } else {
      listening = !pausing;
    }
  }
}

VhostSetup::Ring* DriverSession::ring(std::uint32_t index) {
  return index < setup_.rings.size() ? &setup_.rings[index] : nullptr;
}

bool DriverSession::answer() {
  using vhost::Request;
  auto message = vhost::receive(connection_.get());
  if (!message) return false;
  const auto state = message->as<vhost::RingState>();
  switch (message->request) {
    case Request::kGetFeatures:
      return vhost::send_reply(connection_.get(), message->request, vhost::bytes_of(kFeatures));
    case Request::kGetRingBase:
      return state &&
             vhost::send_reply(connection_.get(), message->request,
                               vhost::bytes_of(vhost::RingState{.index = state->index, .number = 0}));
    case Request::kSetFeatures:
      setup_.features = message->as<std::uint64_t>().value_or(0);
      return true;
    case Request::kSetRingSize:
      if (auto* const it = state ? ring(state->index) : nullptr) it->size = state->number;
      return true;
    case Request::kSetRingAddress: {
      const auto address = message->as<vhost::RingAddress>();
      if (auto* const it = address ? ring(address->index) : nullptr) {
        it->descriptors = address->descriptors;
        it->used = address->used;
        it->available = address->available;
      }
      return true;
    }
    case Request::kSetRingKick:
    case Request::kSetRingCall: {
      constexpr std::uint64_t kIndexMask = 0xff;
      const auto index =
          static_cast<std::uint32_t>(message->as<std::uint64_t>().value_or(kIndexMask) & kIndexMask);
      auto* const it = ring(index);
      if (it == nullptr || message->descriptors.size() != 1) return true;
      (message->request == Request::kSetRingKick ? it->kick : it->call) = std::move(message->descriptors[0]);
      return true;
    }
    default:
      return true;  // nothing to answer, nothing to know
  }
}

}  // namespace urnic::drivers
