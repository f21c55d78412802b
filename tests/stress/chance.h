// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Chance: what a thread draws its decisions from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

namespace urnic::stress {

/// Of one thread. The same seed decides the same; what then happens depends on the other threads, too.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}

  std::uint64_t number() { return random_(); }
  std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }
  bool one_in(std::size_t n) { return below(n) == 0; }

  template <typename T, std::size_t kCount>
  T pick(const T (&choices)[kCount]) {
    return choices[below(kCount)];
  }

  /// Mostly one of `sane`, sometimes any number at all.
  template <typename T, std::size_t kCount>
  T mostly(const T (&sane)[kCount]) {
    return one_in(20) ? static_cast<T>(number()) : pick(sane);
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace urnic::stress
