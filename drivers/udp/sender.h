// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UdpSender: IP packets in, UDP datagrams out.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drivers/udp/local_addresses.h"
#include "drivers/udp/source_sockets.h"
#include "transport/wire/address.h"
#include "transport/wire/icrc_identification.h"
#include "transport/wire/udp.h"

namespace urnic::drivers {

/// Collects packets that are made with identification 0 and their ICRC, and sends those that wait in as few
/// system calls as it can. Packets of one size from one queue pair to one peer, as the middle of a message
/// is, go as one buffer that the kernel or the NIC cuts (UDP_SEGMENT): segment i has identification i, and
/// its ICRC is changed accordingly.
///
/// One thread at a time. Nothing allocates after construction; nothing blocks.
class UdpSender {
 public:
  struct Config {
    std::size_t max_packet_bytes = 0;  ///< with IP header
    bool may_segment = true;           ///< use UDP_SEGMENT
    /// Other processes have the same addresses: sockets at RoCE's port are bound to none, and those that
    /// packets leave from are not this process's alone.
    bool is_host_shared = false;
  };
  struct Counters {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;  ///< of IP packets
    /// Refused by the kernel (no route, too long for the interface, forbidden), no IP packet of ours, or for
    /// another host where that is not to be reached.
    std::uint64_t dropped = 0;
    std::uint64_t returned = 0;  ///< told of by ICMP: the peer does not listen, or is not reachable
  };

  /// `addresses` must outlive it.
  UdpSender(const Config& config, const LocalAddresses& addresses);

  /// Where another program has the source port of a queue pair, packets from this address leave by this
  /// socket, which is bound to it and to RoCE's port, and say so; -1: by none. Borrowed. Allocates when the
  /// address is new.
  void use_for(const transport::wire::Gid& source, int socket);

  /// Peers are at this port, and so are the sockets of use_for(). Where it is not RoCE's, other hosts have
  /// other programs there: packets for them are dropped.
  void use_port(std::uint16_t port) { port_ = port; }

  /// Room for one packet; empty while the kernel takes none. Again the same until commit().
  std::span<std::byte> reserve();
  /// The first `length` bytes of that room are a packet.
  void commit(std::size_t length);
  /// Sends all, or as many as the kernel takes now.
  void flush();
  bool is_empty() const { return begin_ == end_; }

  const Counters& counters() const { return counters_; }

 private:
  static constexpr std::size_t kPackets = 64;

  /// What is sent from one socket to one queue pair.
  struct Flow {
    transport::wire::Gid source;
    transport::wire::Gid destination;
    std::uint32_t destination_qp = 0;
    std::uint16_t source_port = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;

    friend bool operator==(const Flow&, const Flow&) = default;
  };
  struct Packet {
    Flow flow;
    std::uint16_t bytes = 0;           ///< after the UDP header
    std::uint8_t header_bytes = 0;     ///< IP and UDP
    std::uint16_t identification = 0;  ///< that its ICRC is for
  };
  /// One datagram, or one buffer to be cut.
  struct Message {
    std::size_t first = 0;  ///< packet
    std::size_t count = 0;
  };
  /// Two numbers, the segment's size and the source address.
  struct alignas(cmsghdr) Control {
    std::array<std::byte, 3 * CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(in6_pktinfo))> bytes;
  };

  /// A socket at RoCE's port.
  struct RoceSocket {
    transport::wire::Gid source;
    int socket = -1;
  };

  bool read(std::span<const std::byte> bytes, Packet& packet) const;
  bool may_go_to(const Flow& flow) const;
  std::span<std::byte> room_of(std::size_t packet);
  std::span<std::byte> payload_of(std::size_t packet);
  int roce_socket_of(const transport::wire::Gid& source) const;
  std::size_t find_socket(int& socket);
  std::size_t run_from(std::size_t first, std::size_t end) const;
  std::size_t gather_messages(int& socket);
  void fill(const Message& message, mmsghdr& header, std::size_t& pieces, Control& control);
  void change_icrc(std::size_t index, std::uint16_t change, std::size_t behind);
  void set_identification(std::size_t index, std::uint16_t identification);
  void leave_by_roce_port(Packet& packet, std::size_t index);
  void cope_with(int error, int socket, const Message& message);
  bool take_returned(int socket);
  void count_sent(const Message& message);

  Config config_;
  const LocalAddresses& addresses_;
  std::size_t slot_bytes_;
  std::vector<std::byte> slots_;
  SourceSockets sockets_;
  std::vector<RoceSocket> roce_sockets_;
  transport::wire::IcrcIdentification identifications_;
  std::uint16_t port_ = transport::wire::kRocePort;
  bool may_segment_;
  bool suspects_segments_ =
      false;  // a buffer was refused; its packets go one by one to see whether that was why
  Counters counters_;

  // Packets [begin_, end_) wait.
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::array<Packet, kPackets> packets_;

  // Of one system call.
  std::array<Message, kPackets> messages_;
  std::array<mmsghdr, kPackets> headers_;
  std::array<iovec, kPackets> pieces_;
  std::array<Control, kPackets> controls_;
  std::array<sockaddr_storage, kPackets> destinations_;
};

}  // namespace urnic::drivers
