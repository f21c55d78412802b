// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Listeners: the sockets that RoCEv2 packets arrive at, one for each address, or for all, and each multicast
// group.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drivers/descriptor.h"
#include "nic/config.h"
#include "nic/port/received_frame.h"
#include "transport/result.h"
#include "transport/wire/address.h"
#include "transport/wire/udp.h"

namespace urnic::drivers {

/// Datagrams in, IP packets out. A UDP socket tells a datagram's sender, its TOS or traffic class, its TTL or
/// hop limit and the destination, unless it is bound to that. The rest of the IP and UDP headers is made up:
/// "don't fragment", identification 0, no UDP checksum. The kernel has checked the datagram's own checksum.
///
/// The kernel may give several datagrams of one sender and one size as one (UDP_GRO). If they have the same
/// size as the last ones, the kernel writes them with room for headers before each; otherwise they are moved
/// so.
///
/// One thread at a time. receive() neither allocates nor blocks.
class Listeners {
 public:
  struct Counters {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;        ///< of IP packets, with the headers that were made up
    std::uint64_t too_long = 0;     ///< datagrams that were dropped for it
    std::uint64_t handed_on = 0;    ///< packets that are another share's
    std::uint64_t lost_strays = 0;  ///< the same, but the Unix socket took no more
  };

  static Result<Listeners, Error> create(std::size_t max_packet_bytes);

  /// Receives what is for this address. EADDRINUSE says which program may have the port.
  Result<void, Error> add(const nic::HostAddress& address);
  /// Receives what comes to any address of the host by this socket, which is bound to RoCE's port.
  Result<void, Error> adopt(Descriptor socket, bool is_ipv4);
  /// Groups are heard at this port from now on.
  void use_port(std::uint16_t port) { port_ = port; }
  /// Takes packets, as this class makes them, out of a Unix socket of datagrams.
  Result<void, Error> adopt_packets(Descriptor socket);
  /// The kernel puts datagrams of one sender together before it asks whose they are, and then all of them
  /// come to the process that has the first one. From now on those that are for another share than this one
  /// (share_of_packet()), and came by a socket of all addresses, go back through the Unix socket.
  void keep_share(std::uint8_t share) { share_ = share; }
  /// Hears what is for this group, which the host joins on the interface of `own`. EADDRNOTAVAIL, ENODEV: it
  /// cannot.
  Result<void, Error> join(const transport::wire::Gid& group, const nic::HostAddress& own);
  void leave(const transport::wire::Gid& group);
  /// Hears nothing any more, and has given back what was adopted.
  void drop_all();

  /// The socket of an address that was added, or of all addresses of its kind; -1 for others.
  int socket_of(const transport::wire::Gid& address) const;

  /// As PacketPort::receive().
  std::size_t receive(std::span<nic::ReceivedFrame> packets);
  /// Whether packets wait that are in no socket any more.
  bool has_ready() const { return next_ready_ != ready_count_; }
  /// As PacketPort::may_hold_frames(): not every socket was found empty since the last packet came.
  bool may_hold_packets() const { return has_ready() || empty_looks_ < listeners_.size(); }
  /// Readable while datagrams wait in a socket. Borrowed.
  int wake_fd() const { return epoll_.get(); }

  const Counters& counters() const { return counters_; }

 private:
  /// What one system call takes.
  static constexpr std::size_t kMessages = 16;
  /// In one message.
  static constexpr std::size_t kMostSegments = 64;
  static constexpr std::size_t kPieces = kMostSegments + 1;

  /// What a socket is bound to.
  enum class Bound : std::uint8_t { kAddress, kAnyAddress, kGroup, kPackets };
  struct Listener {
    transport::wire::Gid address;  ///< of kAnyAddress its kind counts
    Descriptor socket;
    Bound bound = Bound::kAddress;
  };
  struct alignas(cmsghdr) Control {
    std::array<std::byte, 4 * CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(in6_pktinfo))> bytes;
  };
  /// What a message says of its datagrams.
  struct Origin {
    transport::wire::Gid source;
    transport::wire::Gid destination;
    std::uint16_t source_port = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;
    std::size_t segment_bytes = 0;  ///< of all datagrams but the last; 0: there is one
  };

  Listeners() = default;
  Result<void, Error> listen(Listener listener);
  Result<void, Error> watch(Listener listener);
  std::size_t take_ready(std::span<nic::ReceivedFrame> packets);
  bool receive_from(const Listener& listener);
  void expect_segments(std::size_t bytes, std::size_t most);
  void expect_as_before(std::size_t segment_bytes);
  std::byte* region_of(std::size_t message);
  std::byte* place_of(std::size_t message, std::size_t i);
  Origin origin_of(const Listener& listener, std::size_t message) const;
  std::size_t add_packet(std::size_t message);
  bool is_stray(const Listener& listener, std::span<const std::byte> packet) const;
  void hand_on(std::span<const std::byte> packet);
  std::size_t add_message(const Listener& listener, std::size_t message);
  void make_contiguous(std::size_t message);
  void spread(std::size_t message, std::size_t segment_bytes);
  std::span<const std::byte> with_headers(const Origin& origin, std::byte* datagram, std::size_t bytes) const;

  std::size_t max_packet_bytes_ = 0;
  Descriptor epoll_;
  std::vector<Listener> listeners_;
  std::size_t busy_ = 0;  // of the listeners: which gave something last
  std::size_t turn_ = 0;  // which of the others was looked at last
  std::optional<std::uint8_t> share_;
  std::uint16_t port_ = transport::wire::kRocePort;
  Counters counters_;

  std::size_t segment_bytes_ = 0;  // that the pieces are for
  std::size_t segments_each_ = 0;  // of a message; after them comes one more piece
  unsigned calls_without_segments_ = 0;
  std::vector<std::byte> regions_;  // one of each message
  std::vector<iovec> pieces_;
  std::array<mmsghdr, kMessages> headers_;
  std::array<sockaddr_storage, kMessages> senders_;
  std::array<Control, kMessages> controls_;
  // Packets [next_ready_, ready_count_) came and were not taken yet.
  std::vector<std::span<const std::byte>> ready_;
  std::size_t next_ready_ = 0;
  std::size_t ready_count_ = 0;
  std::size_t empty_looks_ = 0;  // in a row
};

}  // namespace urnic::drivers
