// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Names for the machines of a simulated world, and for the two ends of a connection between two of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace urnic::sim {

/// A host, counted from 0.
enum class HostId : std::uint8_t {};
inline constexpr std::size_t kMaxHosts = 8;

constexpr std::size_t index(HostId host) {
  return static_cast<std::size_t>(host);
}
constexpr HostId host_id(std::size_t index) {
  return static_cast<HostId>(index);
}
/// 'A' for the first.
constexpr char name(HostId host) {
  return static_cast<char>('A' + index(host));
}

/// The two ends of a pair of queue pairs.
enum class Side : std::uint8_t { kLeft, kRight };
constexpr std::size_t index(Side side) {
  return static_cast<std::size_t>(side);
}
constexpr Side other(Side side) {
  return side == Side::kLeft ? Side::kRight : Side::kLeft;
}
inline constexpr Side kSides[] = {Side::kLeft, Side::kRight};

}  // namespace urnic::sim
