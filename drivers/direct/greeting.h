// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What two NICs say to each other to make a direct link: over a Unix socket, one message each way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "drivers/descriptor.h"
#include "drivers/direct/frame_ring.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

inline constexpr std::uint32_t kLinkMagic = 0x6c6e7275;  // "urnl" in memory
inline constexpr std::uint32_t kLinkVersion = 7;

/// The NIC that wants to send says it, and hands over the memory of its ring.
struct Hello {
  std::uint32_t magic = kLinkMagic;
  std::uint32_t version = kLinkVersion;
  std::uint64_t nonce = 0;  ///< names the link; random
  RingGeometry geometry;
  transport::wire::Mac from;
  transport::wire::Mac to;
  std::uint32_t incarnation = 0;  ///< of the NIC that says it: another one may have had the same MAC before
};

/// The NIC that will receive answers with it. From then on the socket carries nothing but a byte from the
/// sender whenever the receiver sleeps and is to be woken: sending one never waits, whatever the other
/// process does, as writing to a descriptor of its could.
struct Welcome {
  std::uint32_t magic = kLinkMagic;
  std::uint32_t version = kLinkVersion;
  std::uint64_t nonce = 0;         ///< the Hello's
  std::uint32_t incarnation = 0;   ///< of the NIC that answers
  std::uint8_t may_lack_icrc = 0;  ///< 1: frames may come without their ICRC, and as runs
  std::array<std::byte, 3> reserved{};
};

/// Sends one message, with a descriptor unless that is negative; false when the other end does not take it at
/// once.
bool send_message(int socket, std::span<const std::byte> message, int descriptor = -1);
/// Whether a message of exactly that length came.
bool receive_message(int socket, std::span<std::byte> message);
/// The descriptor that came with such a message; nothing for any other message, or none.
/// Descriptors too many are closed.
std::optional<Descriptor> receive_with_descriptor(int socket, std::span<std::byte> message);

/// A socket at `path`, which may be an abstract name (drivers/unix_address.h), where other NICs ask for
/// links; it never blocks. It replaces a file that a process which has ended left there. EADDRINUSE: a
/// process serves it.
Result<Descriptor, Error> listen_for_links(const std::string& path);
/// After its end.
void remove_link_socket(const std::string& path);
/// Connects to such a socket, and does not wait. ECONNREFUSED and ENOENT: no NIC is there.
Result<Descriptor, Error> connect_for_link(const std::string& path);

}  // namespace urnic::drivers
