// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Choice: which controller queue pairs have, and its parameters.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>

#include "transport/congestion/controller.h"
#include "transport/congestion/dcqcn_parameters.h"
#include "transport/congestion/fixed.h"
#include "transport/congestion/rate.h"
#include "transport/congestion/swift.h"
#include "transport/congestion/timely.h"

namespace urnic::transport::congestion {

struct Choice {
  /// The first: none, queue pairs send as fast as they can.
  std::variant<std::monostate, DcqcnParameters, TimelyParameters, SwiftParameters, FixedParameters>
      parameters;
  BitsPerSecond line_rate = 40'000 * kMegabit;  ///< not 0; what a port says of itself

  bool is_none() const { return std::holds_alternative<std::monostate>(parameters); }
  /// Whether the controller needs packets that switches may mark.
  bool needs_marks() const { return std::holds_alternative<DcqcnParameters>(parameters); }
};

/// For a queue pair whose packets have at most `packet_bytes`; null for none.
std::unique_ptr<Controller> make_controller(const Choice& choice, std::uint32_t packet_bytes);

}  // namespace urnic::transport::congestion
