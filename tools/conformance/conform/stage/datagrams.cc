// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/stage/datagrams.h"

#include <algorithm>

#include "tools/conformance/conform/wire/own_qp.h"

namespace urnic::conform {

std::optional<std::uint32_t> Datagrams::destination(std::uint32_t script_qp) {
  auto found = std::find(destinations_.begin(), destinations_.end(), script_qp);
  if (found == destinations_.end()) {
    if (destinations_.size() == kMostDestinations) return std::nullopt;
    found = destinations_.insert(found, script_qp);
  }
  const auto place = static_cast<std::uint32_t>(found - destinations_.begin() + 1);
  return as_destination(own_qp_, place);
}

scripts::PacketFields Datagrams::as_script_has_it(scripts::PacketFields packet) const {
  const auto number = static_cast<std::uint32_t>(packet.dst);
  const std::uint32_t place = place_in(number);
  const bool is_known = without_place(number) == own_qp_ && place > 0 && place <= destinations_.size();
  if (is_known) packet.dst = destinations_[place - 1];
  if (packet.src == peers_qp_) packet.src = scripts_qp_;
  return packet;
}

}  // namespace urnic::conform
