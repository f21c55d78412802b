// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a pcapng file has beside its frames: comments, directions, and notes of `urnic run --record`.
#pragma once

#include <cstdint>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace urnic::view {

enum class Way : std::uint8_t { kUnknown, kReceived, kSent };

struct FrameExtras {
  Way way = Way::kUnknown;
  std::string comment{};
};

/// One of RECORDING.md's.
using Note = nlohmann::ordered_json;

struct PcapngExtras {
  std::unordered_map<std::uint64_t, FrameExtras> frames{};  ///< of those that have any; by number, from 1
  std::vector<Note> notes{};                                ///< objects, each with "urnic" and "time_ns"
  std::uint64_t omitted_notes = 0;                          ///< beyond kMostNotes
  std::string program{};                                    ///< what wrote the file, by its own words
  std::string interface {};                                 ///< the first one's name
};

/// Reads as far as the file is whole, and believes nothing: what is no pcapng has no extras, what is longer
/// than kMostText is cut, notes that are no JSON objects, or have no time, are passed over, and so are those
/// beyond kMostNotes.
PcapngExtras read_pcapng_extras(std::istream& file);

inline constexpr std::size_t kMostText = 4096;
inline constexpr std::size_t kMostNotes = 1'000'000;

}  // namespace urnic::view
