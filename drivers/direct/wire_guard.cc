// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/direct/wire_guard.h"

#include "transport/wire/byte_order.h"
#include "transport/wire/frame.h"
#include "transport/wire/headers.h"

namespace urnic::drivers {

using transport::wire::Bth;
using transport::wire::load_u24;

void WireGuard::take_only_from(transport::QpNumber qp, const std::optional<transport::wire::Mac>& station) {
  if (station) {
    stations_.insert_or_assign(to_integer(qp), *station);
  } else {
    stations_.erase(to_integer(qp));
  }
}

std::optional<transport::wire::Mac> WireGuard::sender_of(std::span<const std::byte> packet) const {
  if (stations_.empty()) return std::nullopt;
  const auto frame = transport::wire::parse_ip_packet(packet);
  if (!frame) return std::nullopt;
  const auto found = stations_.find(load_u24(frame.value().ib, Bth::kDestinationQpAt));
  if (found == stations_.end()) return std::nullopt;
  return found->second;
}

}  // namespace urnic::drivers
