// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/unwrapping/doubles.h"

#include <algorithm>
#include <cstddef>

#include "tools/conformance/check/packets/icrc.h"
#include "tools/conformance/check/packets/opcode.h"

namespace urnic::check {
namespace {

/// So many frames without a copy prove that there is no mirror, if fewer have one.
constexpr std::uint64_t kEnoughSingle = 64;
/// A mirror that loses a frame or a copy now and then is still one.
constexpr std::uint64_t kDoubledPerSingle = 8;

constexpr std::size_t kIcrcBytes = 4;

/// Without the ICRC: the CRC of bytes and their CRC is the same for all bytes of one length.
std::uint64_t imprint_of(const Frame& frame) {
  const ByteView packet = frame.ib.first(frame.ib.size() - std::min(frame.ib.size(), kIcrcBytes));
  return std::uint64_t{digest_of(packet)} << 32 | std::uint32_t{frame.ip_id} << 16 | frame.source_port;
}

bool are_almost_all(std::uint64_t doubled, std::uint64_t single) {
  return single * kDoubledPerSingle <= doubled;
}

}  // namespace

bool Doubles::is_copy(const Frame& frame, std::int64_t time_ns) {
  const FlowKey key{frame.source, frame.destination, 0};
  if (ways_.size() >= kMostWays && !ways_.contains(key)) return false;
  Way& way = ways_[key];
  if (way.single >= kEnoughSingle && way.doubled < way.single) return false;
  const std::uint64_t digest = imprint_of(frame);
  way.decide(time_ns);
  const bool is_certain =
      (is_mirrored_ || way.doubled >= kCertain) && are_almost_all(way.doubled, way.single);
  // CNPs have no PSN: two in a row are the same frame.
  if (!is_certain && load_u8(frame.ib, 0) == kCnpOpcode) return false;
  Imprint* const original = way.original_of(digest, time_ns);
  if (original != nullptr) {
    // A sender that does not number its datagrams sends a repetition unchanged, but only after an answer.
    const auto back = ways_.find(FlowKey{frame.destination, frame.source, 0});
    const bool was_answered =
        back != ways_.end() && &back->second != &way && back->second.last_ns >= original->time_ns;
    if (way.ip_ids_vary || way.doubled >= kCertain || !was_answered) {
      original->has_copy = true;
      ++way.doubled;
      return is_certain;
    }
  }
  way.remember(frame, digest, time_ns);
  return false;
}

bool Doubles::are_usual() const {
  std::uint64_t doubled = 0;
  std::uint64_t single = 0;
  for (const auto& [key, way] : ways_) {
    doubled += way.doubled;
    single += way.single;
    for (std::size_t frame = way.decided; frame < way.frames; ++frame) {
      single += way.latest[frame % kRemembered].has_copy ? 0 : 1;
    }
  }
  return doubled > 1 && are_almost_all(doubled, single);
}

void Doubles::Way::decide(std::int64_t time_ns) {
  while (decided < frames &&
         (frames - decided == kRemembered || time_ns - at(decided).time_ns > kMostApartNs)) {
    single += at(decided).has_copy ? 0 : 1;
    ++decided;
  }
}

void Doubles::Way::remember(const Frame& frame, std::uint64_t digest, std::int64_t time_ns) {
  const bool is_numbered = !frame.is_ipv6 && !frame.is_roce_v1;
  ip_ids_vary = ip_ids_vary || (is_numbered && frames > 0 && frame.ip_id != last_ip_id);
  last_ip_id = frame.ip_id;
  last_ns = time_ns;
  at(frames) = {.digest = digest, .time_ns = time_ns};
  ++frames;
}

Doubles::Imprint* Doubles::Way::original_of(std::uint64_t digest, std::int64_t time_ns) {
  for (std::size_t frame = frames; frame-- > decided;) {
    Imprint& imprint = at(frame);
    if (imprint.digest == digest && !imprint.has_copy && time_ns - imprint.time_ns <= kMostApartNs) {
      return &imprint;
    }
  }
  return nullptr;
}

}  // namespace urnic::check
