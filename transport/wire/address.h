// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Addresses as they stand in frames: MAC, IPv4, IPv6, and the GID, which is an IPv6 address.
//
// They are compared for every frame, several times, and not octet by octet: the compiler calls memcmp for
// that.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace urnic::transport::wire {

/// An Ethernet address; octets in the order of the wire.
struct Mac {
  static constexpr std::size_t kBytes = 6;

  std::array<std::uint8_t, kBytes> octets{};

  /// ff:ff:ff:ff:ff:ff
  static constexpr Mac broadcast() { return Mac{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}; }
  /// Reads "02:00:5e:10:00:01": six groups of one or two hex digits, colons between them.
  static std::optional<Mac> parse(std::string_view text);

  /// The group bit, set in the broadcast address too.
  constexpr bool is_multicast() const { return (octets[0] & 1u) != 0; }
  constexpr bool is_broadcast() const { return *this == broadcast(); }

  friend constexpr bool operator==(const Mac& one, const Mac& other) {
    unsigned difference = 0;
    for (std::size_t i = 0; i < kBytes; ++i) difference |= one.octets[i] ^ other.octets[i];
    return difference == 0;
  }
};

/// An IPv4 address; octets in the order of the wire.
struct Ipv4Address {
  static constexpr std::size_t kBytes = 4;

  std::array<std::uint8_t, kBytes> octets{};

  /// Reads "10.0.0.1": four decimal numbers.
  static std::optional<Ipv4Address> parse(std::string_view text);

  constexpr bool is_unspecified() const { return *this == Ipv4Address{}; }
  /// 224.0.0.0/4
  constexpr bool is_multicast() const { return (octets[0] & 0xf0u) == 0xe0u; }

  friend constexpr bool operator==(const Ipv4Address&, const Ipv4Address&) = default;
};

/// An IPv6 address, and with that a GID; octets in the order of the wire.
struct Ipv6Address {
  static constexpr std::size_t kBytes = 16;

  std::array<std::uint8_t, kBytes> octets{};

  /// 0:0:0:0:0:ffff:a.b.c.d, the GID of an IPv4 address (fact 11).
  static constexpr Ipv6Address from_ipv4(const Ipv4Address& address) {
    constexpr std::array<std::uint8_t, 4> kMark{0, 0, 0xff, 0xff};
    const Quarters mapped{0, 0, std::bit_cast<std::uint32_t>(kMark), std::bit_cast<std::uint32_t>(address)};
    return std::bit_cast<Ipv6Address>(mapped);
  }
  /// fe80::/64 with the EUI-64 of `mac`: ff:fe in its middle, the universal/local bit inverted (fact 11).
  static constexpr Ipv6Address link_local_from_mac(const Mac& mac) {
    const auto& octet = mac.octets;
    return Ipv6Address{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(octet[0] ^ 0x02u), octet[1],
                        octet[2], 0xff, 0xfe, octet[3], octet[4], octet[5]}};
  }
  /// Reads what inet_pton reads: "fe80::1", "::ffff:10.0.0.1". No zone, no prefix length.
  static std::optional<Ipv6Address> parse(std::string_view text);

  constexpr bool is_unspecified() const { return *this == Ipv6Address{}; }
  constexpr bool is_ipv4_mapped() const {
    constexpr Quarters kMapped = std::bit_cast<Quarters>(from_ipv4({}).octets);
    const auto own = std::bit_cast<Quarters>(octets);
    return own[0] == kMapped[0] && own[1] == kMapped[1] && own[2] == kMapped[2];
  }
  /// fe80::/10
  constexpr bool is_link_local() const { return octets[0] == 0xfe && (octets[1] & 0xc0u) == 0x80u; }
  /// ff00::/8
  constexpr bool is_multicast() const { return octets[0] == 0xff; }
  /// The last four octets: the IPv4 address when is_ipv4_mapped().
  constexpr Ipv4Address ipv4() const { return Ipv4Address{{octets[12], octets[13], octets[14], octets[15]}}; }

  friend constexpr bool operator==(const Ipv6Address& one, const Ipv6Address& other) {
    const auto halves = std::bit_cast<Halves>(one.octets);
    const auto other_halves = std::bit_cast<Halves>(other.octets);
    return halves[0] == other_halves[0] && halves[1] == other_halves[1];
  }

 private:
  using Halves = std::array<std::uint64_t, 2>;
  using Quarters = std::array<std::uint32_t, 4>;
};

using Gid = Ipv6Address;

/// Multicast MAC of an IPv4 group: 01:00:5e and the low 23 bits of the address (fact 11).
constexpr Mac multicast_mac(const Ipv4Address& group) {
  const auto& octet = group.octets;
  return Mac{{0x01, 0x00, 0x5e, static_cast<std::uint8_t>(octet[1] & 0x7fu), octet[2], octet[3]}};
}

/// Multicast MAC of an IPv6 group: 33:33 and the low 32 bits of the address (RFC 2464).
constexpr Mac multicast_mac(const Ipv6Address& group) {
  const auto& octet = group.octets;
  return Mac{{0x33, 0x33, octet[12], octet[13], octet[14], octet[15]}};
}

/// ff02::1:ff00:0/104 with the low 24 bits of `address`, where neighbor solicitations go (RFC 4291).
constexpr Ipv6Address solicited_node_multicast(const Ipv6Address& address) {
  const auto& octet = address.octets;
  return Ipv6Address{{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01, 0xff, octet[13], octet[14], octet[15]}};
}

std::string to_string(const Mac& mac);              ///< "02:00:5e:10:00:01"
std::string to_string(const Ipv4Address& address);  ///< "10.0.0.1"
std::string to_string(const Ipv6Address& address);  ///< as inet_ntop writes it: "fe80::1", "::ffff:10.0.0.1"

}  // namespace urnic::transport::wire
