// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

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
#include <memory>
#include <system_error>
#include <utility>

#include "drivers/udp/packet_share.h"
#include "drivers/udp/socket.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/udp.h"

namespace urnic::drivers {

namespace wire = transport::wire;
using wire::Gid;

namespace {

/// Room for the longest headers, so that the datagram lies on a cache line.
constexpr std::size_t kHeadroom = 64;
static_assert(kHeadroom >= wire::Ipv6::kBytes + wire::Udp::kBytes);
/// As much as an administrator allows (net.core.rmem_max), up to a few windows of packets.
constexpr int kReceiveBytes = 8 << 20;
/// More than all datagrams of a message can have.
constexpr std::size_t kMostMessageBytes = 1 << 16;
/// And their headers: 64 datagrams of any size, each on a cache line.
constexpr std::size_t kRegionBytes = kMostMessageBytes + 64 * 2 * kHeadroom;

/// After so many calls that found no segments none are expected.
constexpr unsigned kPatience = 16;

/// From one datagram to the next.
constexpr std::size_t stride_of(std::size_t segment_bytes) {
  return kHeadroom + (segment_bytes + kHeadroom - 1) / kHeadroom * kHeadroom;
}

Error system_error(int code, const char* what) {
  return Error{.code = code, .message = fmt::format("{}: {}", what, std::generic_category().message(code))};
}

Error port_is_taken(const Error& error) {
  return Error{.code = error.code,
               .message = fmt::format("{}; RoCEv2 has this one port: the kernel's rdma_rxe has it on all "
                                      "addresses while that module is loaded (rmmod rdma_rxe), or another "
                                      "NIC with --port udp has this address ('urnic doctor' finds out)",
                                      error.message)};
}

}  // namespace

Result<Listeners, Error> Listeners::create(std::size_t max_packet_bytes) {
  Listeners made;
  made.max_packet_bytes_ = max_packet_bytes;
  made.epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!made.epoll_) return system_error(errno, "cannot make an epoll descriptor");
  made.regions_.resize(kMessages * kRegionBytes + kHeadroom);
  made.pieces_.resize(kMessages * kPieces);
  made.ready_.resize(kMessages * kMostSegments);
  made.expect_segments(max_packet_bytes, 1);
  return made;
}

// --- Sockets ---

Result<void, Error> Listeners::add(const nic::HostAddress& address) {
  auto socket = open_udp_socket(address.gid, wire::kRocePort, address.interface_index);
  if (!socket) {
    return failure(socket.error().code == EADDRINUSE ? port_is_taken(socket.error()) : socket.error());
  }
  return listen({.address = address.gid, .socket = std::move(socket.value())});
}

Result<void, Error> Listeners::adopt(Descriptor socket, bool is_ipv4) {
  return listen({.address = is_ipv4 ? Gid::from_ipv4({}) : Gid{},
                 .socket = std::move(socket),
                 .bound = Bound::kAnyAddress});
}

Result<void, Error> Listeners::adopt_packets(Descriptor socket) {
  return watch({.address = {}, .socket = std::move(socket), .bound = Bound::kPackets});
}

bool Listeners::is_stray(const Listener& listener, std::span<const std::byte> packet) const {
  return share_ && listener.bound == Bound::kAnyAddress &&
         share_of_packet(packet).value_or(*share_) != *share_;
}

void Listeners::hand_on(std::span<const std::byte> packet) {
  const auto found = std::ranges::find(listeners_, Bound::kPackets, &Listener::bound);
  const bool was_taken =
      found != listeners_.end() && syscall(SYS_sendto, found->socket.get(), packet.data(), packet.size(),
                                           MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0) >= 0;
  ++(was_taken ? counters_.handed_on : counters_.lost_strays);
}

Result<void, Error> Listeners::join(const Gid& group, const nic::HostAddress& own) {
  // Other NICs of this host may be members, too.
  auto socket = open_udp_socket(group, port_, own.interface_index, PortSharing::kAny);
  if (!socket) return failure(socket.error());
  bool has_joined = false;
  if (group.is_ipv4_mapped()) {
    ip_mreqn request{};
    std::memcpy(&request.imr_multiaddr, group.ipv4().octets.data(), sizeof request.imr_multiaddr);
    if (own.gid.is_ipv4_mapped()) {
      std::memcpy(&request.imr_address, own.gid.ipv4().octets.data(), sizeof request.imr_address);
    }
    request.imr_ifindex = static_cast<int>(own.interface_index);
    has_joined =
        sys_setsockopt(socket.value().get(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request) &&
        sys_setsockopt(socket.value().get(), IPPROTO_IP, IP_MULTICAST_ALL, 0);
  } else {
    ipv6_mreq request{};
    std::memcpy(&request.ipv6mr_multiaddr, group.octets.data(), sizeof request.ipv6mr_multiaddr);
    request.ipv6mr_interface = own.interface_index;
    has_joined =
        sys_setsockopt(socket.value().get(), IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof request);
  }
  if (!has_joined) return failure(system_error(errno, "cannot join the multicast group"));
  return listen({.address = group, .socket = std::move(socket.value()), .bound = Bound::kGroup});
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
  if (listener.bound == Bound::kAnyAddress) {
    const bool names = is_ipv4 ? sys_setsockopt(fd, IPPROTO_IP, IP_PKTINFO, 1)
                               : sys_setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
    if (!names) return failure(system_error(errno, "cannot learn what address a datagram is for"));
  }
  sys_setsockopt(fd, SOL_SOCKET, SO_RCVBUF, kReceiveBytes);
  sys_setsockopt(fd, IPPROTO_UDP, UDP_GRO, 1);  // where the kernel can
  return watch(std::move(listener));
}

Result<void, Error> Listeners::watch(Listener listener) {
  const int fd = listener.socket.get();
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  if (syscall(SYS_epoll_ctl, epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return failure(system_error(errno, "cannot wait for a UDP socket"));
  }
  listeners_.push_back(std::move(listener));
  return success();
}

void Listeners::leave(const Gid& group) {
  std::erase_if(listeners_, [&](const Listener& listener) {
    return listener.bound == Bound::kGroup && listener.address == group;
  });
  busy_ = turn_ = 0;
}

void Listeners::drop_all() {
  listeners_.clear();
  busy_ = turn_ = 0;
}

int Listeners::socket_of(const Gid& address) const {
  const auto found = std::ranges::find_if(listeners_, [&](const Listener& listener) {
    const bool is_any =
        listener.bound == Bound::kAnyAddress && listener.address.is_ipv4_mapped() == address.is_ipv4_mapped();
    return is_any || (listener.bound == Bound::kAddress && listener.address == address);
  });
  return found == listeners_.end() ? -1 : found->socket.get();
}

// --- Datagrams ---

std::size_t Listeners::receive(std::span<nic::ReceivedFrame> packets) {
  if (const std::size_t count = take_ready(packets); count > 0 || listeners_.empty()) return count;
  next_ready_ = ready_count_ = 0;
  // From the one that was busy last, and where it has nothing, from another one, in turns: each look is a
  // system call.
  if (!receive_from(listeners_[busy_])) {
    turn_ = (turn_ + 1) % listeners_.size();
    if (turn_ != busy_ && receive_from(listeners_[turn_])) busy_ = turn_;
  }
  return take_ready(packets);
}

std::size_t Listeners::take_ready(std::span<nic::ReceivedFrame> packets) {
  const std::size_t count = std::min(packets.size(), ready_count_ - next_ready_);
  std::copy_n(ready_.begin() + static_cast<std::ptrdiff_t>(next_ready_), count, packets.begin());
  next_ready_ += count;
  return count;
}

std::byte* Listeners::region_of(std::size_t message) {
  void* start = regions_.data();
  std::size_t room = regions_.size();
  std::align(kHeadroom, kMessages * kRegionBytes, start, room);
  return static_cast<std::byte*>(start) + message * kRegionBytes;
}

/// Places pieces for up to `most` datagrams of that size in each message, each with room for headers before
/// it, and one piece for whatever is longer.
void Listeners::expect_segments(std::size_t bytes, std::size_t most) {
  segment_bytes_ = bytes;
  segments_each_ = std::min(most, kRegionBytes / stride_of(bytes));
  for (std::size_t message = 0; message < kMessages; ++message) {
    iovec* const pieces = &pieces_[message * kPieces];
    for (std::size_t i = 0; i < segments_each_; ++i) {
      pieces[i] = {.iov_base = place_of(message, i), .iov_len = bytes};
    }
    std::byte* const rest = place_of(message, segments_each_);
    std::byte* const end = region_of(message) + kRegionBytes;
    pieces[segments_each_] = {.iov_base = rest,
                              .iov_len = rest < end ? static_cast<std::size_t>(end - rest) : 0};
  }
}

/// Where datagram number `i` of a message lies: after the room for its headers.
std::byte* Listeners::place_of(std::size_t message, std::size_t i) {
  return region_of(message) + i * stride_of(segment_bytes_) + kHeadroom;
}

bool Listeners::receive_from(const Listener& listener) {
  for (std::size_t i = 0; i < kMessages; ++i) {
    headers_[i] = {};
    msghdr& header = headers_[i].msg_hdr;
    header.msg_name = &senders_[i];
    header.msg_namelen = sizeof senders_[i];
    header.msg_iov = &pieces_[i * kPieces];
    header.msg_iovlen = segments_each_ + 1;
    header.msg_control = controls_[i].bytes.data();
    header.msg_controllen = controls_[i].bytes.size();
  }
  const long received = sys_recvmmsg(listener.socket.get(), headers_.data(), kMessages);
  empty_looks_ = received <= 0 ? empty_looks_ + 1 : 0;
  if (received <= 0) return false;
  std::size_t next_segment_bytes = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(received); ++i) {
    if (const std::size_t bytes = add_message(listener, i); bytes > 0) next_segment_bytes = bytes;
  }
  expect_as_before(next_segment_bytes);
  return true;
}

/// The next messages will be like the last ones. Many pieces cost the kernel time, which those with one
/// datagram need not spend.
void Listeners::expect_as_before(std::size_t segment_bytes) {
  if (segment_bytes > 0) {
    calls_without_segments_ = 0;
    if (segments_each_ == 1 || segment_bytes != segment_bytes_) expect_segments(segment_bytes, kMostSegments);
    return;
  }
  if (segments_each_ > 1 && ++calls_without_segments_ >= kPatience) expect_segments(max_packet_bytes_, 1);
}

Listeners::Origin Listeners::origin_of(const Listener& listener, std::size_t message) const {
  Origin origin;
  origin.destination = listener.address;
  // The macros take no constant one.
  msghdr header = headers_[message].msg_hdr;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    // One byte for an IPv4 TOS, an int for all others.
    if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_TOS) {
      origin.traffic_class = *CMSG_DATA(part);
      continue;
    }
    if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO) {
      in_pktinfo told;
      wire::Ipv4Address address;
      std::memcpy(&told, CMSG_DATA(part), sizeof told);
      std::memcpy(address.octets.data(), &told.ipi_addr, wire::Ipv4Address::kBytes);
      origin.destination = Gid::from_ipv4(address);
      continue;
    }
    if (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo told;
      std::memcpy(&told, CMSG_DATA(part), sizeof told);
      std::memcpy(origin.destination.octets.data(), &told.ipi6_addr, wire::Ipv6Address::kBytes);
      continue;
    }
    int value = 0;
    std::memcpy(&value, CMSG_DATA(part), std::min(sizeof value, part->cmsg_len - CMSG_LEN(0)));
    const bool is_hop_limit = (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_TTL) ||
                              (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_HOPLIMIT);
    if (is_hop_limit) origin.hop_limit = static_cast<std::uint8_t>(value);
    if (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_TCLASS) {
      origin.traffic_class = static_cast<std::uint8_t>(value);
    }
    if (part->cmsg_level == IPPROTO_UDP && part->cmsg_type == UDP_GRO && value > 0) {
      origin.segment_bytes = static_cast<std::size_t>(value);
    }
  }
  if (senders_[message].ss_family == AF_INET) {
    const auto& sender = reinterpret_cast<const sockaddr_in&>(senders_[message]);
    wire::Ipv4Address address;
    std::memcpy(address.octets.data(), &sender.sin_addr, wire::Ipv4Address::kBytes);
    origin.source = Gid::from_ipv4(address);
    origin.source_port = ntohs(sender.sin_port);
  } else {
    const auto& sender = reinterpret_cast<const sockaddr_in6&>(senders_[message]);
    std::memcpy(origin.source.octets.data(), &sender.sin6_addr, wire::Ipv6Address::kBytes);
    origin.source_port = ntohs(sender.sin6_port);
  }
  return origin;
}

/// Makes packets of the datagrams in a message; their size where there are several.
std::size_t Listeners::add_message(const Listener& listener, std::size_t message) {
  if (listener.bound == Bound::kPackets) return add_packet(message);
  const std::size_t bytes = headers_[message].msg_len;
  if (bytes == 0) return 0;  // a peer asks whether this port is open (drivers/udp/udp_probe.h)
  const Origin origin = origin_of(listener, message);
  const bool is_one = origin.segment_bytes == 0 || origin.segment_bytes >= bytes;
  const std::size_t each = is_one ? bytes : origin.segment_bytes;
  const std::size_t headers =
      (listener.address.is_ipv4_mapped() ? wire::Ipv4::kMinBytes : wire::Ipv6::kBytes) + wire::Udp::kBytes;
  const bool is_cut = (headers_[message].msg_hdr.msg_flags & MSG_TRUNC) != 0;
  const std::size_t count = is_one ? 1 : (bytes + each - 1) / each;
  if (is_cut || headers + each > max_packet_bytes_ || count > kMostSegments) {
    counters_.too_long += count;
    return 0;
  }
  std::size_t stride = stride_of(segment_bytes_);
  if (is_one) {
    if (bytes > segment_bytes_) make_contiguous(message);
  } else if (each != segment_bytes_) {
    make_contiguous(message);
    spread(message, each);
    stride = stride_of(each);
  }
  std::byte* datagram = place_of(message, 0);
  for (std::size_t left = bytes, i = 0; i < count; ++i, datagram += stride) {
    const std::size_t size = std::min(left, each);
    const auto packet = with_headers(origin, datagram, size);
    left -= size;
    if (is_stray(listener, packet)) [[unlikely]] {
      hand_on(packet);
      continue;
    }
    ready_[ready_count_++] = packet;
    ++counters_.packets;
    counters_.bytes += packet.size();
  }
  return is_one ? 0 : each;
}

/// It lies as it is; 0: there is one.
std::size_t Listeners::add_packet(std::size_t message) {
  const std::size_t bytes = headers_[message].msg_len;
  const bool is_cut = (headers_[message].msg_hdr.msg_flags & MSG_TRUNC) != 0;
  if (is_cut || bytes > max_packet_bytes_) {
    ++counters_.too_long;
    return 0;
  }
  if (bytes > segment_bytes_) make_contiguous(message);
  ready_[ready_count_++] = {place_of(message, 0), bytes};
  ++counters_.packets;
  counters_.bytes += bytes;
  return 0;
}

/// Moves the pieces of a datagram together, after the room for one packet's headers.
void Listeners::make_contiguous(std::size_t message) {
  const std::size_t bytes = headers_[message].msg_len;
  std::byte* const start = place_of(message, 0);
  std::size_t at = segment_bytes_;
  for (std::size_t i = 1; i < segments_each_ && at < bytes; ++i, at += segment_bytes_) {
    std::memmove(start + at, place_of(message, i), std::min(segment_bytes_, bytes - at));
  }
  if (at < bytes) std::memmove(start + at, place_of(message, segments_each_), bytes - at);
}

/// Moves datagrams of that size, which lie together, apart, the last one first.
void Listeners::spread(std::size_t message, std::size_t segment_bytes) {
  const std::size_t bytes = headers_[message].msg_len;
  std::byte* const start = place_of(message, 0);
  for (std::size_t i = (bytes - 1) / segment_bytes; i > 0; --i) {
    const std::size_t at = i * segment_bytes;
    std::memmove(start + i * stride_of(segment_bytes), start + at, std::min(segment_bytes, bytes - at));
  }
}

/// Writes the headers in front of a datagram.
std::span<const std::byte> Listeners::with_headers(const Origin& origin, std::byte* datagram,
                                                   std::size_t bytes) const {
  const std::size_t udp_bytes = wire::Udp::kBytes + bytes;
  std::byte* const udp = datagram - wire::Udp::kBytes;
  wire::emit(wire::Udp{.source_port = origin.source_port, .length = static_cast<std::uint16_t>(udp_bytes)},
             {udp, wire::Udp::kBytes});
  if (origin.destination.is_ipv4_mapped()) {
    const wire::Ipv4 ip{.tos = origin.traffic_class,
                        .total_length = static_cast<std::uint16_t>(wire::Ipv4::kMinBytes + udp_bytes),
                        .ttl = origin.hop_limit,
                        .source = origin.source.ipv4(),
                        .destination = origin.destination.ipv4()};
    std::byte* const start = udp - wire::Ipv4::kMinBytes;
    wire::emit(ip, {start, wire::Ipv4::kMinBytes});
    return {start, wire::Ipv4::kMinBytes + udp_bytes};
  }
  const wire::Ipv6 ip{.traffic_class = origin.traffic_class,
                      .payload_length = static_cast<std::uint16_t>(udp_bytes),
                      .hop_limit = origin.hop_limit,
                      .source = origin.source,
                      .destination = origin.destination};
  std::byte* const start = udp - wire::Ipv6::kBytes;
  wire::emit(ip, {start, wire::Ipv6::kBytes});
  return {start, wire::Ipv6::kBytes + udp_bytes};
}

}  // namespace urnic::drivers
