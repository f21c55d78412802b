// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/udp/sender.h"

#include <linux/errqueue.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "drivers/udp/socket.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/headers.h"
#include "transport/wire/icrc.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/udp.h"

namespace urnic::drivers {

namespace wire = transport::wire;
using wire::Gid;
using wire::Udp;

namespace {

/// The packet begins after so many bytes, so that its payload lies on a word.
constexpr std::size_t kAlignment = 64;
/// What the kernel cuts at most: 64 segments, and with their header less than an IP packet can have.
constexpr std::size_t kMostSegmentBytes = 65'000;
/// The kernel's own default.
constexpr std::uint8_t kUsualHopLimit = 64;
/// How many bad messages of the past one flush copes with.
constexpr int kMostErrorsAtOnce = 64;
constexpr std::size_t kSourcePortInUdp = 0;

/// Appends a control message.
template <typename Value>
void append(msghdr& header, int level, int type, Value value) {
  auto* const message =
      reinterpret_cast<cmsghdr*>(static_cast<std::byte*>(header.msg_control) + header.msg_controllen);
  message->cmsg_level = level;
  message->cmsg_type = type;
  message->cmsg_len = CMSG_LEN(sizeof value);
  std::memcpy(CMSG_DATA(message), &value, sizeof value);
  header.msg_controllen += CMSG_SPACE(sizeof value);
}

/// Has a socket that is bound to no address send from this one.
void append_source(msghdr& header, const Gid& source, unsigned interface) {
  if (source.is_ipv4_mapped()) {
    in_pktinfo from{};
    std::memcpy(&from.ipi_spec_dst, source.ipv4().octets.data(), sizeof from.ipi_spec_dst);
    return append(header, IPPROTO_IP, IP_PKTINFO, from);
  }
  in6_pktinfo from{};
  std::memcpy(&from.ipi6_addr, source.octets.data(), sizeof from.ipi6_addr);
  if (source.is_link_local()) from.ipi6_ifindex = interface;
  append(header, IPPROTO_IPV6, IPV6_PKTINFO, from);
}

/// Whether a message failed because it was to be cut, which its packets one by one need not be.
bool is_about_segments(int error) {
  return error == EINVAL || error == EIO || error == EOPNOTSUPP || error == ENOPROTOOPT;
}

/// Whether what the kernel tells of came back from the network.
bool is_by_icmp(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    const bool is_error = (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_RECVERR) ||
                          (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_RECVERR);
    if (!is_error || part->cmsg_len < CMSG_LEN(sizeof(sock_extended_err))) continue;
    sock_extended_err error;
    std::memcpy(&error, CMSG_DATA(part), sizeof error);
    return error.ee_origin == SO_EE_ORIGIN_ICMP || error.ee_origin == SO_EE_ORIGIN_ICMP6;
  }
  return false;
}

}  // namespace

UdpSender::UdpSender(const Config& config, const LocalAddresses& addresses)
    : config_(config),
      addresses_(addresses),
      slot_bytes_((config.max_packet_bytes + kAlignment - 1) / kAlignment * kAlignment),
      slots_(kPackets * slot_bytes_),
      sockets_(addresses, config.is_host_shared),
      may_segment_(config.may_segment) {}

std::span<std::byte> UdpSender::room_of(std::size_t packet) {
  return std::span(slots_).subspan(packet * slot_bytes_, config_.max_packet_bytes);
}

std::span<std::byte> UdpSender::payload_of(std::size_t packet) {
  return room_of(packet).subspan(packets_[packet].header_bytes, packets_[packet].bytes);
}

std::span<std::byte> UdpSender::reserve() {
  if (end_ == kPackets) flush();
  if (end_ == kPackets) return {};
  return room_of(end_);
}

void UdpSender::commit(std::size_t length) {
  Packet& packet = packets_[end_];
  if (!read(room_of(end_).first(length), packet) || !may_go_to(packet.flow)) {
    ++counters_.dropped;
    return;
  }
  ++end_;
}

/// What our Path writes. Whatever else it is, such as what a fault injector cut off, must not go anywhere.
bool UdpSender::read(std::span<const std::byte> bytes, Packet& packet) const {
  const bool is_ipv4 = !bytes.empty() && std::to_integer<unsigned>(bytes[0]) >> 4 == 4;
  const std::size_t ip_bytes = is_ipv4 ? wire::Ipv4::kMinBytes : wire::Ipv6::kBytes;
  if (bytes.size() < ip_bytes + Udp::kBytes + wire::Bth::kBytes + wire::kIcrcBytes) return false;
  packet.header_bytes = static_cast<std::uint8_t>(ip_bytes + Udp::kBytes);
  packet.bytes = static_cast<std::uint16_t>(bytes.size() - packet.header_bytes);
  packet.identification = 0;
  packet.flow.source_port = wire::load_u16(bytes, ip_bytes + kSourcePortInUdp);
  packet.flow.destination_qp = wire::load_u24(bytes, packet.header_bytes + wire::Bth::kDestinationQpAt);
  if (is_ipv4) {
    packet.flow.traffic_class = wire::load_u8(bytes, 1);
    packet.flow.hop_limit = wire::load_u8(bytes, 8);
    packet.flow.source = Gid::from_ipv4(wire::load_address<wire::Ipv4Address>(bytes, 12));
    packet.flow.destination = Gid::from_ipv4(wire::load_address<wire::Ipv4Address>(bytes, 16));
    return true;
  }
  packet.flow.traffic_class = static_cast<std::uint8_t>(wire::load_u16(bytes, 0) >> 4);
  packet.flow.hop_limit = wire::load_u8(bytes, 7);
  packet.flow.source = wire::load_address<Gid>(bytes, 8);
  packet.flow.destination = wire::load_address<Gid>(bytes, 24);
  return true;
}

bool UdpSender::may_go_to(const Flow& flow) const {
  if (port_ == wire::kRocePort) [[likely]] {
    return true;
  }
  const Gid& destination = flow.destination;
  const bool is_ipv4 = destination.is_ipv4_mapped();
  const bool is_group = is_ipv4 ? destination.ipv4().is_multicast() : destination.is_multicast();
  return is_group || destination == flow.source || addresses_.has(destination);
}

// --- Messages ---

void UdpSender::use_for(const Gid& source, int socket) {
  const auto found = std::ranges::find(roce_sockets_, source, &RoceSocket::source);
  if (found == roce_sockets_.end()) {
    roce_sockets_.push_back({source, socket});
  } else {
    found->socket = socket;
  }
}

int UdpSender::roce_socket_of(const Gid& source) const {
  const auto found = std::ranges::find(roce_sockets_, source, &RoceSocket::source);
  if (found != roce_sockets_.end()) return found->socket;
  // An address that the host has got since: sockets that are bound to none are for it, too.
  const auto alike = std::ranges::find_if(roce_sockets_, [&](const RoceSocket& other) {
    return other.source.is_ipv4_mapped() == source.is_ipv4_mapped();
  });
  return config_.is_host_shared && alike != roce_sockets_.end() ? alike->socket : -1;
}

/// Finds the packets from `begin_` on that leave from one source, and their socket: the source port's, or
/// RoCE's port's, and then the packets say so. Returns how many; the socket is good until the next call.
std::size_t UdpSender::find_socket(int& socket) {
  const Flow first = packets_[begin_].flow;
  std::size_t end = begin_ + 1;
  const auto is_from_there = [&](const Flow& flow) {
    return flow.source_port == first.source_port && flow.source == first.source;
  };
  while (end < end_ && is_from_there(packets_[end].flow)) ++end;

  const bool is_roce_port = first.source_port == port_;
  socket = is_roce_port ? roce_socket_of(first.source) : sockets_.find(first.source, first.source_port);
  if (socket < 0 && !is_roce_port) {
    socket = roce_socket_of(first.source);
    for (std::size_t i = begin_; i < end; ++i) leave_by_roce_port(packets_[i], i);
  }
  return end - begin_;
}

/// Fits the ICRC to a change of 16 bits that it covers; `behind` bytes follow those.
void UdpSender::change_icrc(std::size_t index, std::uint16_t change, std::size_t behind) {
  const std::span<std::byte> icrc = payload_of(index).last(wire::kIcrcBytes);
  wire::store_icrc(wire::load_icrc(icrc) ^ identifications_.icrc_change(change, behind), icrc);
}

/// The source port is part of the ICRC, and as many bits as an identification.
void UdpSender::leave_by_roce_port(Packet& packet, std::size_t index) {
  const auto change = static_cast<std::uint16_t>(packet.flow.source_port ^ port_);
  change_icrc(index, change, Udp::kBytes - sizeof change + packet.bytes - wire::kIcrcBytes);
  packet.flow.source_port = port_;
}

void UdpSender::set_identification(std::size_t index, std::uint16_t identification) {
  Packet& packet = packets_[index];
  const auto change = static_cast<std::uint16_t>(packet.identification ^ identification);
  if (change == 0 || !packet.flow.source.is_ipv4_mapped()) return;
  const std::size_t ip_bytes = packet.header_bytes - Udp::kBytes;
  change_icrc(index, change,
              wire::IcrcIdentification::bytes_behind(ip_bytes, packet.bytes - wire::kIcrcBytes));
  packet.identification = identification;
}

/// How many packets from `first` on, and before `end`, can be one buffer: all of one size, but that the last
/// may be shorter.
std::size_t UdpSender::run_from(std::size_t first, std::size_t end) const {
  if (!may_segment_) return 1;
  const Packet& packet = packets_[first];
  std::size_t bytes = packet.bytes;
  std::size_t next = first + 1;
  while (next < end && packets_[next].flow == packet.flow && packets_[next].bytes <= packet.bytes) {
    bytes += packets_[next].bytes;
    if (bytes > kMostSegmentBytes) break;
    if (packets_[next++].bytes < packet.bytes) break;
  }
  return next - first;
}

/// Makes messages of what waits, as long as they leave from one socket; how many.
std::size_t UdpSender::gather_messages(int& socket) {
  const std::size_t end = begin_ + find_socket(socket);
  std::size_t messages = 0;
  std::size_t pieces = 0;
  for (std::size_t next = begin_; next < end; next += messages_[messages++].count) {
    messages_[messages] = {.first = next, .count = run_from(next, end)};
    fill(messages_[messages], headers_[messages], pieces, controls_[messages]);
  }
  return messages;
}

void UdpSender::fill(const Message& message, mmsghdr& header, std::size_t& pieces, Control& control) {
  const Flow& flow = packets_[message.first].flow;
  const bool is_ipv4 = flow.source.is_ipv4_mapped();
  const unsigned interface = addresses_.interface_of(flow.source);
  const SocketAddress destination(flow.destination, port_, interface);
  sockaddr_storage& name = destinations_[message.first];
  std::memcpy(&name, destination.get(), destination.bytes());
  header = {};
  header.msg_hdr.msg_name = &name;
  header.msg_hdr.msg_namelen = destination.bytes();
  header.msg_hdr.msg_iov = &pieces_[pieces];
  header.msg_hdr.msg_iovlen = message.count;
  header.msg_hdr.msg_control = control.bytes.data();
  for (std::size_t i = 0; i < message.count; ++i) {
    set_identification(message.first + i, static_cast<std::uint16_t>(i));
    const std::span<std::byte> payload = payload_of(message.first + i);
    pieces_[pieces++] = {.iov_base = payload.data(), .iov_len = payload.size()};
  }
  if (config_.is_host_shared && flow.source_port == port_) {
    append_source(header.msg_hdr, flow.source, interface);
  }
  if (flow.traffic_class != 0) {
    append(header.msg_hdr, is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6, is_ipv4 ? IP_TOS : IPV6_TCLASS,
           int{flow.traffic_class});
  }
  // For groups the kernel has another limit of its own.
  const bool is_usual = flow.hop_limit == kUsualHopLimit && !flow.destination.is_multicast() &&
                        !(is_ipv4 && flow.destination.ipv4().is_multicast());
  if (flow.hop_limit != 0 && !is_usual) {
    append(header.msg_hdr, is_ipv4 ? IPPROTO_IP : IPPROTO_IPV6, is_ipv4 ? IP_TTL : IPV6_HOPLIMIT,
           int{flow.hop_limit});
  }
  if (message.count > 1) append(header.msg_hdr, SOL_UDP, UDP_SEGMENT, packets_[message.first].bytes);
  if (header.msg_hdr.msg_controllen == 0) header.msg_hdr.msg_control = nullptr;
}

// --- Sending ---

void UdpSender::flush() {
  int errors = 0;
  while (begin_ < end_) {
    int socket = -1;
    const std::size_t count = gather_messages(socket);
    const long sent = socket < 0 ? -1 : sys_sendmmsg(socket, headers_.data(), static_cast<unsigned>(count));
    if (sent > 0) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(sent); ++i) count_sent(messages_[i]);
      continue;
    }
    const int error = socket < 0 ? EADDRINUSE : errno;
    if (error == EAGAIN || ++errors > kMostErrorsAtOnce) return;
    cope_with(error, socket, messages_[0]);
  }
  begin_ = end_ = 0;
}

void UdpSender::count_sent(const Message& message) {
  for (std::size_t i = 0; i < message.count; ++i) {
    counters_.bytes += packets_[message.first + i].header_bytes + packets_[message.first + i].bytes;
  }
  counters_.packets += message.count;
  begin_ += message.count;
  suspects_segments_ = false;  // if it did, it was right, and segments stay off
}

/// The first message was not sent.
void UdpSender::cope_with(int error, int socket, const Message& message) {
  // It may be about an earlier one, which ICMP has told of since, and nothing is wrong with this one.
  if (socket >= 0 && take_returned(socket)) return;
  if (message.count > 1 && is_about_segments(error)) {
    may_segment_ = false;
    suspects_segments_ = true;
    return;
  }
  // One alone is refused as well.
  if (std::exchange(suspects_segments_, false)) may_segment_ = config_.may_segment;
  counters_.dropped += message.count;
  begin_ += message.count;
}

/// Takes what the kernel kept about packets of that socket; whether ICMP said any of it. The rest was an
/// error of the call.
bool UdpSender::take_returned(int socket) {
  bool has_any = false;
  while (true) {
    std::array<std::byte, 1> payload;
    alignas(cmsghdr) std::array<std::byte, 256> control;
    iovec piece{.iov_base = payload.data(), .iov_len = payload.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (sys_recvmsg(socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return has_any;
    if (!is_by_icmp(message)) continue;
    has_any = true;
    ++counters_.returned;
  }
}

}  // namespace urnic::drivers
