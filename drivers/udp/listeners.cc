#include "drivers/udp/listeners.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "drivers/udp/socket.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/udp.h"

namespace urnic::drivers {

namespace wire = transport::wire;
using wire::Gid;

namespace {

/// Room for the longest headers, and then the datagram lies on a cache line.
constexpr std::size_t kHeadroom = 64;
static_assert(kHeadroom >= wire::Ipv6::kBytes + wire::Udp::kBytes);
/// As much as an administrator allows (net.core.rmem_max), up to a few windows of packets.
constexpr int kReceiveBytes = 8 << 20;

Error system_error(int code, const char* what) {
  return Error{.code = code, .message = fmt::format("{}: {}", what, std::generic_category().message(code))};
}

Error port_is_taken(const Error& error) {
  return Error{
      .code = error.code,
      .message = fmt::format(
          "{}; RoCEv2 has this one port: the kernel's rdma_rxe has it on all addresses while that module is loaded "
          "(rmmod rdma_rxe), or another NIC with --port udp has this address ('urnic doctor' finds out)",
          error.message)};
}

}  // namespace

Result<Listeners, Error> Listeners::create(std::size_t max_packet_bytes, unsigned interface) {
  Listeners made;
  made.max_packet_bytes_ = max_packet_bytes;
  made.slot_bytes_ = (kHeadroom + max_packet_bytes + kHeadroom - 1) / kHeadroom * kHeadroom;
  made.interface_ = interface;
  made.epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!made.epoll_) return system_error(errno, "cannot make an epoll descriptor");
  made.slots_.resize(kBurst * made.slot_bytes_ + kHeadroom);
  made.headers_.resize(kBurst);
  made.pieces_.resize(kBurst);
  made.senders_.resize(kBurst);
  made.controls_.resize(kBurst);
  return made;
}

// --- Sockets ---

Result<void, Error> Listeners::add(const Gid& address) {
  auto socket = open_udp_socket(address, wire::kRocePort, interface_);
  if (!socket)
    return failure(socket.error().code == EADDRINUSE ? port_is_taken(socket.error()) : socket.error());
  return listen({.address = address, .socket = std::move(socket.value())});
}

Result<void, Error> Listeners::join(const Gid& group, const Gid& own) {
  // Other NICs of this host may be members, too.
  auto socket = open_udp_socket(group, wire::kRocePort, interface_, true);
  if (!socket) return failure(socket.error());
  bool has_joined = false;
  if (group.is_ipv4_mapped()) {
    ip_mreqn request{};
    std::memcpy(&request.imr_multiaddr, group.ipv4().octets.data(), sizeof request.imr_multiaddr);
    if (own.is_ipv4_mapped())
      std::memcpy(&request.imr_address, own.ipv4().octets.data(), sizeof request.imr_address);
    request.imr_ifindex = static_cast<int>(interface_);
    has_joined =
        sys_setsockopt(socket.value().get(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request) &&
        sys_setsockopt(socket.value().get(), IPPROTO_IP, IP_MULTICAST_ALL, 0);
  } else {
    ipv6_mreq request{};
    std::memcpy(&request.ipv6mr_multiaddr, group.octets.data(), sizeof request.ipv6mr_multiaddr);
    request.ipv6mr_interface = interface_;
    has_joined =
        sys_setsockopt(socket.value().get(), IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof request);
  }
  if (!has_joined) return failure(system_error(errno, "cannot join the multicast group"));
  return listen({.address = group, .socket = std::move(socket.value()), .is_group = true});
}

Result<void, Error> Listeners::listen(Listener listener) {
  const int fd = listener.socket.get();
  const bool is_ipv4 = listener.address.is_ipv4_mapped();
  const bool tells =
      is_ipv4 ? sys_setsockopt(fd, IPPROTO_IP, IP_RECVTOS, 1) && sys_setsockopt(fd, IPPROTO_IP, IP_RECVTTL, 1)
              : sys_setsockopt(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1) &&
                    sys_setsockopt(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
  if (!tells) return failure(system_error(errno, "cannot set up a UDP socket"));
  // RoCEv2 has no UDP checksum (fact 10), which over IPv6 is an error unless it is expected.
  if (!is_ipv4 && !sys_setsockopt(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1)) {
    return failure(system_error(errno, "cannot take UDP datagrams over IPv6 without checksum"));
  }
  sys_setsockopt(fd, SOL_SOCKET, SO_RCVBUF, kReceiveBytes);
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  if (syscall(SYS_epoll_ctl, epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return failure(system_error(errno, "cannot wait for a UDP socket"));
  }
  listeners_.push_back(std::move(listener));
  return success();
}

void Listeners::leave(const Gid& group) {
  std::erase_if(listeners_,
                [&](const Listener& listener) { return listener.is_group && listener.address == group; });
  busy_ = turn_ = 0;
}

int Listeners::socket_of(bool is_ipv4) const {
  for (const Listener& listener : listeners_) {
    if (!listener.is_group && listener.address.is_ipv4_mapped() == is_ipv4) return listener.socket.get();
  }
  return -1;
}

// --- Datagrams ---

/// From the one that was busy last, and where it has nothing, from another one, in turns: each look is a system call.
std::size_t Listeners::receive(std::span<std::span<const std::byte>> packets) {
  if (listeners_.empty()) return 0;
  packets = packets.first(std::min(packets.size(), kBurst));
  turn_ = (turn_ + 1) % listeners_.size();
  std::size_t count = receive_from(listeners_[busy_], 0, packets);
  if (count < packets.size() && turn_ != busy_) {
    const std::size_t more = receive_from(listeners_[turn_], count, packets.subspan(count));
    if (count == 0 && more > 0) busy_ = turn_;
    count += more;
  }
  return count;
}

/// `at` is the first free slot.
std::size_t Listeners::receive_from(const Listener& listener, std::size_t at,
                                    std::span<std::span<const std::byte>> packets) {
  const std::size_t headers =
      (listener.address.is_ipv4_mapped() ? wire::Ipv4::kMinBytes : wire::Ipv6::kBytes) + wire::Udp::kBytes;
  for (std::size_t i = at; i < at + packets.size(); ++i) {
    pieces_[i] = {.iov_base = slots_.data() + i * slot_bytes_ + kHeadroom,
                  .iov_len = max_packet_bytes_ - headers};
    headers_[i] = {};
    msghdr& header = headers_[i].msg_hdr;
    header.msg_name = &senders_[i];
    header.msg_namelen = sizeof senders_[i];
    header.msg_iov = &pieces_[i];
    header.msg_iovlen = 1;
    header.msg_control = controls_[i].bytes.data();
    header.msg_controllen = controls_[i].bytes.size();
  }
  const long received =
      sys_recvmmsg(listener.socket.get(), &headers_[at], static_cast<unsigned>(packets.size()));
  std::size_t count = 0;
  for (std::size_t i = at; i < at + static_cast<std::size_t>(std::max(received, 0L)); ++i) {
    if ((headers_[i].msg_hdr.msg_flags & MSG_TRUNC) != 0) {
      ++counters_.too_long;
      continue;
    }
    packets[count] = as_packet(listener, i);
    ++counters_.packets;
    counters_.bytes += packets[count++].size();
  }
  return count;
}

/// Writes the headers in front of the datagram in slot `at`.
std::span<const std::byte> Listeners::as_packet(const Listener& listener, std::size_t at) {
  int traffic_class = 0;
  int hop_limit = 0;
  msghdr& header = headers_[at].msg_hdr;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    // One byte for an IPv4 TOS, an int for all others.
    if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_TOS) traffic_class = *CMSG_DATA(part);
    if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_TTL)
      std::memcpy(&hop_limit, CMSG_DATA(part), sizeof(int));
    if (part->cmsg_level != IPPROTO_IPV6) continue;
    if (part->cmsg_type == IPV6_TCLASS) std::memcpy(&traffic_class, CMSG_DATA(part), sizeof(int));
    if (part->cmsg_type == IPV6_HOPLIMIT) std::memcpy(&hop_limit, CMSG_DATA(part), sizeof(int));
  }
  const std::size_t payload_bytes = headers_[at].msg_len;
  const std::size_t udp_bytes = wire::Udp::kBytes + payload_bytes;
  std::byte* const payload = slots_.data() + at * slot_bytes_ + kHeadroom;
  wire::Udp udp{.length = static_cast<std::uint16_t>(udp_bytes)};
  std::size_t ip_bytes;
  if (listener.address.is_ipv4_mapped()) {
    const auto& sender = reinterpret_cast<const sockaddr_in&>(senders_[at]);
    wire::Ipv4 ip{.tos = static_cast<std::uint8_t>(traffic_class),
                  .total_length = static_cast<std::uint16_t>(wire::Ipv4::kMinBytes + udp_bytes),
                  .ttl = static_cast<std::uint8_t>(hop_limit),
                  .destination = listener.address.ipv4()};
    std::memcpy(ip.source.octets.data(), &sender.sin_addr, wire::Ipv4Address::kBytes);
    udp.source_port = ntohs(sender.sin_port);
    ip_bytes = wire::Ipv4::kMinBytes;
    wire::emit(ip, {payload - wire::Udp::kBytes - ip_bytes, ip_bytes});
  } else {
    const auto& sender = reinterpret_cast<const sockaddr_in6&>(senders_[at]);
    wire::Ipv6 ip{.traffic_class = static_cast<std::uint8_t>(traffic_class),
                  .payload_length = static_cast<std::uint16_t>(udp_bytes),
                  .hop_limit = static_cast<std::uint8_t>(hop_limit),
                  .destination = listener.address};
    std::memcpy(ip.source.octets.data(), &sender.sin6_addr, wire::Ipv6Address::kBytes);
    udp.source_port = ntohs(sender.sin6_port);
    ip_bytes = wire::Ipv6::kBytes;
    wire::emit(ip, {payload - wire::Udp::kBytes - ip_bytes, ip_bytes});
  }
  wire::emit(udp, {payload - wire::Udp::kBytes, wire::Udp::kBytes});
  return {payload - wire::Udp::kBytes - ip_bytes, ip_bytes + udp_bytes};
}

}  // namespace urnic::drivers
