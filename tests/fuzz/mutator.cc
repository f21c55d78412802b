// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace urnic::test {
namespace {

/// Values at which lengths, counts and flags tend to go wrong.
constexpr std::array<std::uint8_t, 12> kEdges = {0x00, 0x01, 0x02, 0x03, 0x04, 0x0f,
                                                 0x10, 0x7f, 0x80, 0xc0, 0xfe, 0xff};

constexpr std::uint64_t kMaxChanges = 6;
constexpr std::uint64_t kMaxPieceBytes = 32;

enum class Change : std::uint8_t {
  kFlipBit,
  kSetByte,
  kSetEdge,
  kAddToWord,
  kTruncate,
  kAppend,
  kErase,
  kInsert,
  kCopyWithin,
  kSplice,
  kCount,
};

}  // namespace

Mutator::Mutator(std::span<const FuzzInput> corpus, std::uint64_t seed, std::size_t max_bytes)
    : corpus_(corpus), seed_(seed), max_bytes_(max_bytes) {
  assert(!corpus.empty());
}

// Standard distributions differ between libraries; a remainder does not.
std::uint64_t Mutator::below(std::uint64_t limit) {
  return limit == 0 ? 0 : random_() % limit;
}

const FuzzInput& Mutator::any_input() {
  return corpus_[below(corpus_.size())];
}

FuzzInput Mutator::make(std::uint64_t number) {
  // Neighboring seeds start similar sequences unless they are spread first.
  random_.seed((seed_ * 0x9e3779b97f4a7c15u) ^ (number * 0xbf58476d1ce4e5b9u));
  FuzzInput input = any_input();
  const std::uint64_t changes = 1 + below(kMaxChanges);
  for (std::uint64_t i = 0; i < changes; ++i) mutate(input);
  input.resize(std::min(input.size(), max_bytes_));
  return input;
}

void Mutator::mutate(FuzzInput& input) {
  const auto change = static_cast<Change>(below(static_cast<std::uint64_t>(Change::kCount)));
  const std::size_t at = below(input.size());
  const auto position = input.begin() + static_cast<std::ptrdiff_t>(at);
  const std::size_t piece = std::min<std::size_t>(1 + below(kMaxPieceBytes), input.size() - at);

  if (input.empty()) {
    input.assign(1 + below(kMaxPieceBytes), static_cast<std::uint8_t>(random_()));
    return;
  }
  switch (change) {
    case Change::kFlipBit:
      input[at] ^= static_cast<std::uint8_t>(1u << below(8));
      break;
    case Change::kSetByte:
      input[at] = static_cast<std::uint8_t>(random_());
      break;
    case Change::kSetEdge:
      input[at] = kEdges[below(kEdges.size())];
      break;
    case Change::kAddToWord:
      if (at + 1 < input.size()) {
        const auto word = static_cast<std::uint16_t>((input[at] << 8 | input[at + 1]) + below(9) - 4);
        input[at] = static_cast<std::uint8_t>(word >> 8);
        input[at + 1] = static_cast<std::uint8_t>(word);
      }
      break;
    case Change::kTruncate:
      input.resize(at);
      break;
    case Change::kAppend:
      input.insert(input.end(), 1 + below(kMaxPieceBytes), static_cast<std::uint8_t>(random_()));
      break;
    case Change::kErase:
      input.erase(position, position + static_cast<std::ptrdiff_t>(piece));
      break;
    case Change::kInsert:
      input.insert(position, piece, static_cast<std::uint8_t>(random_()));
      break;
    case Change::kCopyWithin: {
      const std::size_t to = below(input.size() - piece + 1);
      const FuzzInput copy(position, position + static_cast<std::ptrdiff_t>(piece));
      std::copy(copy.begin(), copy.end(), input.begin() + static_cast<std::ptrdiff_t>(to));
      break;
    }
    case Change::kSplice: {
      const FuzzInput& other = any_input();
      const std::size_t from = std::min(at, other.size());
      input.resize(at);
      input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
      break;
    }
    case Change::kCount:
      break;
  }
}

}  // namespace urnic::test
