// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// NotificationView: a CNP as the wire observer reads it.
//
// It reads as `urnic check` does, which shares no code with transport/wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace urnic::sim {

struct NotificationView {
  std::uint32_t destination_qp = 0;
  std::string complaint;  ///< what is wrong with its form (fact 49); empty: nothing
};

/// Nothing for what is no CNP.
std::optional<NotificationView> read_notification(std::span<const std::byte> frame);

/// Whether the frame has an IP packet with ECN "congestion experienced".
bool is_congestion_marked(std::span<const std::byte> frame);

}  // namespace urnic::sim
