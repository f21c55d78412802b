// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Random: reproducible draws. Everything the simulator decides comes from one of these.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

#include "transport/time.h"

namespace urnic::sim {

/// Which part of the simulator draws. Each has a stream of its own, so that a change in one leaves the draws
/// of the others alone and an old seed stays close to what it was.
enum class Stream : std::uint8_t {
  kOptions,
  kPlan,
  kNetwork,
  kSchedule,
  kApplication,
  kDevices,
  kConnections,
  kCongestion,
  kRecovery,
  kTopology,
  kAdversaries
};

/// A stream of random numbers that depends on seed and stream only. The engine's output is fixed by the C++
/// standard; its distributions are not, so the few draws are our own.
class Random {
 public:
  Random(std::uint64_t seed, Stream stream)
      : engine_(seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(stream) * 0xd1b54a32d192ed03u) {}

  std::uint64_t next() { return engine_(); }

  /// 0 .. n-1; n > 0. The bias of the remainder does not matter here.
  std::uint64_t below(std::uint64_t n) {
    assert(n > 0);
    return engine_() % n;
  }
  /// first .. last, both included.
  std::uint64_t between(std::uint64_t first, std::uint64_t last) { return first + below(last - first + 1); }

  transport::Duration between(transport::Duration first, transport::Duration last) {
    return first + transport::Duration(below(static_cast<std::uint64_t>((last - first).count()) + 1));
  }

  bool chance(double probability) { return static_cast<double>(engine_() >> 11) * 0x1p-53 < probability; }

  template <typename T, std::size_t N>
  T pick(const std::array<T, N>& choices) {
    return choices[below(N)];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace urnic::sim
