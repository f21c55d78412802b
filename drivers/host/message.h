// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What processes and the host's switch say to each other: over a Unix socket (SOCK_SEQPACKET), a struct a
// message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace urnic::drivers {

inline constexpr std::uint32_t kHostMagic = 0x686e7275;  // "urnh" in memory
inline constexpr std::uint32_t kHostVersion = 4;

/// How many ports are lent at a time.
inline constexpr std::uint16_t kLentPorts = 16;

/// Only the fields that are named count. Each request has an answer, except kRelease.
enum class HostRequestKind : std::uint8_t {
  /// To become a member, with the slot `id` that it has from an earlier switch unless that is 0, and with all
  /// addresses of the host, or only the ones that the network interface of index `interface` has. The answer
  /// has `slot`, `has_ipv6` and `port`, the number of the UDP port that all members have. Its descriptors are
  /// the UDP socket of IPv4, the UDP socket of IPv6 if any, and the Unix socket for packets that are handed
  /// over. A descriptor may come with the request: a file of last words (nic/host/last_words_table.h), which
  /// the switch says when the process has ended.
  kJoin = 1,
  kBind,     ///< space, id, port, family, address, may_be_shared, is_family_only; the answer has `port`
  kListen,   ///< space, id, port
  kRelease,  ///< space, id, port; 0 for whichever port the id has there
  kStatus,   ///< the answer has one descriptor: a file with a JSON text
  kStop,     ///< to end the switch
  /// space, port: has kLentPorts ports from there on lent, or any ones for 0; the answer has the first
  /// `port`. A lent one becomes an id's with kBind. The others are the member's until it ends.
  kLend,
};

/// The first three fields are the same in each version.
struct HostRequest {
  std::uint32_t magic = kHostMagic;
  std::uint32_t version = kHostVersion;
  std::uint64_t number = 0;  ///< the answer has it, too
  HostRequestKind kind{};
  std::uint8_t family = 0;  ///< 4 or 6
  std::uint8_t may_be_shared = 0;
  std::uint8_t is_family_only = 0;
  std::uint16_t space = 0;
  std::uint16_t port = 0;  ///< host order
  std::uint32_t id = 0;
  std::uint32_t interface = 0;
  std::array<std::uint8_t, 16> address{};  ///< of IPv4 the mapped one
};

struct HostAnswer {
  std::uint32_t magic = kHostMagic;
  std::uint32_t version = kHostVersion;
  std::uint64_t number = 0;
  std::int32_t error = 0;  ///< an errno value; EPROTONOSUPPORT: the switch is of another version
  std::uint16_t port = 0;
  std::uint8_t slot = 0;
  std::uint8_t has_ipv6 = 0;
};

static_assert(std::is_trivially_copyable_v<HostRequest> && sizeof(HostRequest) == 48);
static_assert(std::is_trivially_copyable_v<HostAnswer> && sizeof(HostAnswer) == 24);

}  // namespace urnic::drivers
