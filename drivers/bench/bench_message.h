// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Messages between a NIC and a test bench, as BENCH.md has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::drivers {

/// The first message of either side.
struct BenchHello {
  static constexpr std::size_t kBytes = 32;
  static constexpr std::uint32_t kVersion = 1;

  std::uint64_t latency_ps = 0;  ///< of the link, as the bench has it; a NIC says 0
  transport::wire::Mac mac{};
  std::uint16_t link_mtu = 0;  ///< the largest IP packet, in bytes
  transport::wire::Ipv4Address ipv4{};
};

enum class BenchKind : std::uint32_t { kHello = 1, kGrant = 2, kFrame = 3 };

/// A grant or a frame.
struct BenchMessage {
  static constexpr std::size_t kHeaderBytes = 16;

  BenchKind kind = BenchKind::kGrant;
  /// Of a frame: when its last bit arrives. Of a grant: nothing that the sender has still to send arrives
  /// before.
  std::uint64_t time_ps = 0;
  std::span<const std::byte> frame{};
};

/// A link has a latency from 2 ns to a second, so that either side has something to grant, and no time
/// overflows.
inline constexpr std::uint64_t kLeastBenchLatencyPs = 2'000;
inline constexpr std::uint64_t kMostBenchLatencyPs = 1'000'000'000'000;
/// The last time that there is: a hundred days, which leave room for sums.
inline constexpr std::uint64_t kLastBenchTimePs = std::uint64_t{100} * 24 * 3600 * 1'000'000'000'000;
static_assert(kLastBenchTimePs / 1'000'000'000'000 == 100 * 24 * 3600);

std::array<std::byte, BenchHello::kBytes> to_bytes(const BenchHello& hello);
/// What stands before the bytes of a frame of that length, or is a grant.
void write_bench_header(BenchKind kind, std::uint32_t length, std::uint64_t time_ps,
                        std::span<std::byte, BenchMessage::kHeaderBytes> to);

/// Of a bench. The error, EPROTO, says for a person what is wrong with it.
Result<BenchHello, Error> parse_bench_hello(std::span<const std::byte> message);
/// Anything but a hello. The frame is a part of `message`, whole Ethernet headers at least, `most_bytes` at
/// most.
Result<BenchMessage, Error> parse_bench_message(std::span<const std::byte> message, std::size_t most_bytes);

}  // namespace urnic::drivers
