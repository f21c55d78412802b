// Listeners: the sockets that RoCEv2 packets arrive at, one for each address and each multicast group.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drivers/descriptor.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// Datagrams in, IP packets out. A UDP socket tells who sent a datagram, its TOS or traffic class and its TTL or hop
/// limit, and was bound to the destination; the rest of the IP and UDP headers is made up: "don't fragment",
/// identification 0, no UDP checksum. The kernel has checked the one that came.
///
/// One thread at a time. receive() neither allocates nor blocks.
class Listeners {
 public:
  struct Counters {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;     ///< of IP packets, with the headers that were made up
    std::uint64_t too_long = 0;  ///< datagrams that were dropped for it
  };

  /// `interface`: see SocketAddress.
  static Result<Listeners, Error> create(std::size_t max_packet_bytes, unsigned interface);

  /// Hears what is for this address. EADDRINUSE says who may have the port.
  Result<void, Error> add(const transport::wire::Gid& address);
  /// Hears what is for this group, which the host joins where `own`, one of our addresses, is.
  Result<void, Error> join(const transport::wire::Gid& group, const transport::wire::Gid& own);
  void leave(const transport::wire::Gid& group);

  /// The socket of an IPv4 or IPv6 address of ours; -1 without one.
  int socket_of(bool is_ipv4) const;

  /// As PacketPort::receive().
  std::size_t receive(std::span<std::span<const std::byte>> packets);
  /// Readable while datagrams wait. Borrowed.
  int wake_fd() const { return epoll_.get(); }

  const Counters& counters() const { return counters_; }

 private:
  static constexpr std::size_t kBurst = 64;

  struct Listener {
    transport::wire::Gid address;
    Descriptor socket;
    bool is_group = false;
  };
  struct alignas(cmsghdr) Control {
    std::array<std::byte, 4 * CMSG_SPACE(sizeof(int))> bytes;
  };

  Listeners() = default;
  Result<void, Error> listen(Listener listener);
  std::size_t receive_from(const Listener& listener, std::size_t at,
                           std::span<std::span<const std::byte>> packets);
  std::span<const std::byte> as_packet(const Listener& listener, std::size_t at);

  std::size_t max_packet_bytes_ = 0;
  std::size_t slot_bytes_ = 0;
  unsigned interface_ = 0;
  Descriptor epoll_;
  std::vector<Listener> listeners_;
  std::size_t busy_ = 0;  // of the listeners: which gave something last
  std::size_t turn_ = 0;  // which of the others was looked at last
  Counters counters_;

  // Of one burst.
  std::vector<std::byte> slots_;
  std::vector<mmsghdr> headers_;
  std::vector<iovec> pieces_;
  std::vector<sockaddr_storage> senders_;
  std::vector<Control> controls_;
};

}  // namespace urnic::drivers
