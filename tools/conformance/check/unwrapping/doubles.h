// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Knows frames that a mirror port delivered a second time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "tools/conformance/check/packets/flow_key.h"
#include "tools/conformance/check/packets/frame.h"

namespace urnic::check {

/// A mirror of two ports, or of both directions of one, shows each frame where it comes in and where it goes
/// out. Such copies are one frame. The network may double frames, too, but not all of them: so a frame that
/// comes again within kMostApartNs is a mirror's copy only where (almost) all frames between the same two
/// addresses come twice. That shows after kCertain of them, unless it is known before. Memory is bounded:
/// kMostWays pairs of addresses.
class Doubles {
 public:
  static constexpr std::int64_t kMostApartNs = 1'000'000;
  static constexpr std::size_t kMostWays = 2048;

  static constexpr std::uint64_t kCertain = 16;

  /// `is_mirrored`: it is known that frames come twice.
  explicit Doubles(bool is_mirrored = false) : is_mirrored_(is_mirrored) {}

  /// Whether the frame is a mirror's copy of an earlier one. At least a BTH of it was captured.
  bool is_copy(const Frame& frame, std::int64_t time_ns);
  /// Whether (almost) all frames so far came twice.
  bool are_usual() const;

 private:
  static constexpr std::size_t kRemembered = 128;
  struct Imprint {
    std::uint64_t digest = 0;
    std::int64_t time_ns = 0;
    bool has_copy = false;
  };
  /// What goes from one address to another.
  struct Way {
    std::array<Imprint, kRemembered> latest{};
    std::size_t frames = 0;   ///< without copies
    std::size_t decided = 0;  ///< so many of them, the first ones, will have no copy or have it
    std::uint64_t doubled = 0;
    std::uint64_t single = 0;  ///< of the decided ones, those without a copy
    std::int64_t last_ns = 0;
    std::uint16_t last_ip_id = 0;
    bool ip_ids_vary = false;

    Imprint& at(std::size_t frame) { return latest[frame % kRemembered]; }
    void decide(std::int64_t time_ns);
    void remember(const Frame& frame, std::uint64_t digest, std::int64_t time_ns);
    Imprint* original_of(std::uint64_t digest, std::int64_t time_ns);
  };

  std::unordered_map<FlowKey, Way, FlowKeyHash> ways_;  ///< by addresses alone
  bool is_mirrored_;
};

}  // namespace urnic::check
