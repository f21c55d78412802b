// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/stage/datagrams.h"

#include <algorithm>
#include <bit>

#include "tools/conformance/conform/wire/wire.h"

namespace urnic::conform {
namespace {

/// Destinations are counted from 1 on, in the bits above the number of the tester's queue pair.
constexpr int kPlace = std::popcount(kOwnQpMask);
constexpr std::size_t kMostDestinations = 0xff;

}  // namespace

std::optional<std::uint32_t> Datagrams::destination(std::uint32_t script_qp) {
  auto found = std::find(destinations_.begin(), destinations_.end(), script_qp);
  if (found == destinations_.end()) {
    if (destinations_.size() == kMostDestinations) return std::nullopt;
    found = destinations_.insert(found, script_qp);
  }
  const auto place = static_cast<std::uint32_t>(found - destinations_.begin() + 1);
  return place << kPlace | own_qp_;
}

scripts::PacketFields Datagrams::as_script_has_it(scripts::PacketFields packet) const {
  const std::uint64_t place = packet.dst >> kPlace;
  const bool is_known = (packet.dst & kOwnQpMask) == own_qp_ && place > 0 && place <= destinations_.size();
  if (is_known) packet.dst = destinations_[place - 1];
  if (packet.src == peers_qp_) packet.src = scripts_qp_;
  return packet;
}

}  // namespace urnic::conform
