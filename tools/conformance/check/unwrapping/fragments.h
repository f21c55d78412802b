// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Puts the fragments of IP datagrams together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "tools/conformance/check/packets/byte_view.h"
#include "tools/conformance/check/packets/ip.h"

namespace urnic::check {

/// A datagram put together, as it was before it was cut to pieces: header, without the fragment header of
/// IPv6, and payload.
using WholeDatagram = std::vector<std::byte>;

/// Memory is bounded: kMostOpen datagrams wait for the rest, of 64 KiB at most each. The one that waits for
/// longest is given up for a new one, and each after kLongestWaitNs.
class Fragments {
 public:
  static constexpr std::size_t kMostOpen = 128;
  static constexpr std::int64_t kLongestWaitNs = 2'000'000'000;

  /// Takes a fragment that was not cut. The whole datagram if that was what it lacked.
  std::optional<WholeDatagram> add(const Datagram& fragment, std::int64_t time_ns);

  /// Datagrams that were put together.
  std::uint64_t completed() const { return completed_; }
  /// Datagrams that lack fragments: those given up, and those that wait.
  std::uint64_t incomplete() const;

 private:
  struct Range {
    std::size_t from = 0;
    std::size_t to = 0;
  };
  struct Waiting {
    std::vector<std::byte> addresses{};  ///< of both ends
    std::uint8_t protocol = 0;
    std::uint32_t identification = 0;
    std::int64_t since_ns = 0;
    std::vector<std::byte> header{};  ///< of the first fragment; empty until that one came
    std::size_t protocol_at = 0;
    std::vector<std::byte> payload{};
    std::vector<Range> ranges{};          ///< of `payload` that are here, in order and apart
    std::optional<std::size_t> length{};  ///< of the payload, once the last fragment came
    bool is_complete = false;             ///< kept to know copies of its fragments

    bool is_of(const Datagram& fragment) const;
  };

  void give_up_old(std::int64_t time_ns);
  /// False if it contradicts what is there.
  static bool put(Waiting& waiting, const Datagram& fragment);
  static WholeDatagram whole_of(const Waiting& waiting, bool is_ipv6);

  std::deque<Waiting> waiting_;  ///< the oldest first
  std::uint64_t completed_ = 0;
  std::uint64_t given_up_ = 0;
};

}  // namespace urnic::check
