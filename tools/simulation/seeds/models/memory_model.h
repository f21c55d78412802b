// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// MemoryModel: one host's registered memory, and the oracle that knows what every byte of it has to be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/simulation/seeds/core/pattern.h"

namespace urnic::sim {

/// Each host registers four regions of different rights.
enum class Region : std::uint8_t {
  kPrivate,   ///< local write alone: sources, receive buffers and targets of READs
  kReadable,  ///< remote read
  kShared,    ///< remote read and write, FLUSH, and windows may be bound to it
  kAtomic,    ///< remote write, atomics and FLUSH; every number of 8 bytes in it is aligned
};
inline constexpr std::size_t kRegions = 4;

/// `length` bytes at `offset` of a region.
struct Range {
  Region region = Region::kPrivate;
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};

/// The application writes with write() and says with begin() which bytes the NIC may now change; settle()
/// checks what it made of them. Every other byte, the guards around the regions included, must never change,
/// and check() compares them all. The bytes between begin() and settle() are the only ones that are not
/// determined: READ targets, WRITE targets and receive buffers of work requests that are posted and have not
/// completed.
class MemoryModel {
 public:
  /// Bytes before and after each region that no operation may write.
  static constexpr std::uint32_t kGuardBytes = 4096 + 256;

  /// Regions of these sizes, filled with what only this seed has.
  MemoryModel(const std::array<std::uint32_t, kRegions>& sizes, std::uint64_t seed);

  std::byte* start(Region region) { return &bytes(region)[kGuardBytes]; }
  std::uint32_t size(Region region) const { return sizes_[static_cast<std::size_t>(region)]; }
  /// `range` may lie in the guards.
  std::span<std::byte> at(const Range& range) {
    return bytes(range.region).subspan(range.offset + kGuardBytes, range.length);
  }

  /// The application writes `pattern`, from its position on, to a range that is not the NIC's.
  void write(const Range& range, Pattern pattern, std::uint64_t position = 0);

  /// From now on the NIC may write to `range`. Ranges of zero bytes are ignored. A range may be begun more
  /// than once and must then be settled or abandoned as often.
  void begin(const Range& range);

  /// The NIC is done with `range`, which must now hold `pattern` from its position on; a complaint if it does
  /// not.
  std::optional<std::string> settle(const Range& range, Pattern pattern, std::uint64_t position = 0);

  /// The NIC is done with `range` and what it wrote is not known, because the work request failed; what
  /// stands there now has to stay.
  void settle_as_is(const Range& range);

  /// The same, but each byte must be as it was or as the pattern has it.
  std::optional<std::string> settle_either(const Range& range, Pattern pattern);

  /// A complaint about the first byte that changed without permission.
  std::optional<std::string> check();

 private:
  std::span<std::byte> bytes(Region region) { return regions_[static_cast<std::size_t>(region)]; }
  std::span<std::byte> expected(const Range& range) {
    return std::span(expected_[static_cast<std::size_t>(range.region)])
        .subspan(range.offset + kGuardBytes, range.length);
  }
  void end(const Range& range);

  std::array<std::uint32_t, kRegions> sizes_;
  std::array<std::vector<std::byte>, kRegions> regions_;
  std::array<std::vector<std::byte>, kRegions> expected_;
  std::vector<Range> open_;
};

std::string to_string(const Range& range);

}  // namespace urnic::sim
