// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Meter: what one packet costs, in time and in instructions.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT
#endif

namespace urnic::bench {

/// Times the measured part of each iteration and nothing else. Under `valgrind --tool=callgrind
/// --collect-atstart=no` the instructions of the same part are counted.
class Meter {
 public:
  explicit Meter(benchmark::State& state) : state_(state) {}
  ~Meter() {
    state_.counters["ns"] =
        benchmark::Counter(static_cast<double>(nanoseconds_) / static_cast<double>(packets_));
    // Of the whole process, trial runs included, as callgrind counts.
    state_.counters["all_packets"] = static_cast<double>(all_packets_);
  }

  /// Runs `work`, which handles `packets`.
  template <typename Work>
  void measure(std::uint64_t packets, Work work) {
    const auto begin = std::chrono::steady_clock::now();
    CALLGRIND_TOGGLE_COLLECT;
    work();
    CALLGRIND_TOGGLE_COLLECT;
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
    state_.SetIterationTime(static_cast<double>(took.count()) * 1e-9);
    nanoseconds_ += static_cast<std::uint64_t>(took.count());
    packets_ += packets;
    all_packets_ += packets;
  }

 private:
  benchmark::State& state_;
  std::uint64_t nanoseconds_ = 0;
  std::uint64_t packets_ = 0;
  inline static std::uint64_t all_packets_ = 0;
};

}  // namespace urnic::bench
