// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the identification of an IPv4 header does to an ICRC, and which one an ICRC was made with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace urnic::transport::wire {

/// An ICRC covers the identification, a field that the sender's kernel chooses and a UDP socket does not show
/// to the receiver. CRC-32 is linear over GF(2): when some bits of a packet change, its CRC changes by an XOR
/// that depends on these bits and on the number of bytes after them, and on nothing else. Two different
/// changes of 16 bits never have the same XOR, as CRC-32 finds every error burst of up to 32 bits.
///
/// So a receiver assumes identification 0 and takes the XOR of the ICRC that came and the ICRC that it worked
/// out. The XOR tells which identification was sent, if any: each of 65,536 has a value of its own among
/// 2^32. A packet that was damaged on its way matches none with a probability of 1 - 2^-16; the ICRC of a
/// known header lets only 2^-32 of such packets through.
///
/// What was worked out for the latest lengths is kept. One thread at a time. Nothing allocates after
/// construction.
class IcrcIdentification {
 public:
  /// How the ICRC changes when the identification changes by an XOR with `change`, with `bytes_behind` bytes
  /// from the identification's end to the ICRC: the rest of the IPv4 header, the UDP header, BTH to padding.
  std::uint32_t icrc_change(std::uint16_t change, std::size_t bytes_behind);

  /// The XOR that changes the ICRC so; nothing when none does.
  std::optional<std::uint16_t> find(std::uint32_t icrc_change, std::size_t bytes_behind);

  /// bytes_behind of a packet: the sizes of IPv4 header (options included) and of all from the BTH to the
  /// padding.
  static std::size_t bytes_behind(std::size_t ip_header_bytes, std::size_t ib_bytes);

 private:
  static constexpr std::size_t kBits = 16;

  /// A set of identification bits, and how they change the ICRC; `pivot` is a bit of that change that no
  /// later step has.
  struct Step {
    std::uint32_t icrc_change = 0;
    std::uint32_t pivot = 0;
    std::uint16_t bits = 0;
  };

  /// Of one length.
  struct Length {
    std::size_t bytes_behind = 0;  // 0: empty, as a UDP header follows every identification
    std::array<std::uint32_t, kBits> icrc_change_of_bit{};
    std::array<Step, kBits> steps{};
  };

  const Length& of(std::size_t bytes_behind);
  static void work_out(std::size_t bytes_behind, Length& length);

  // By the length in words, which all packets are long in.
  static constexpr std::size_t kLengths = 64;
  std::array<Length, kLengths> lengths_;
};

}  // namespace urnic::transport::wire
