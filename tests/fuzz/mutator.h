// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Mutator: random changes to byte strings, all from one seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace urnic::test {

using FuzzInput = std::vector<std::uint8_t>;

/// Makes new inputs from the inputs of a corpus. The same corpus, seed and number give the same input on
/// every platform.
class Mutator {
 public:
  /// `corpus` is not empty and must outlive the mutator. Inputs never grow beyond `max_bytes`.
  Mutator(std::span<const FuzzInput> corpus, std::uint64_t seed, std::size_t max_bytes);

  /// Input number `number`, which depends on no other.
  FuzzInput make(std::uint64_t number);

 private:
  std::uint64_t below(std::uint64_t limit);  ///< uniform enough for here; 0 when `limit` is
  const FuzzInput& any_input();
  void mutate(FuzzInput& input);

  std::span<const FuzzInput> corpus_;
  std::uint64_t seed_;
  std::size_t max_bytes_;
  std::mt19937_64 random_;
};

}  // namespace urnic::test
