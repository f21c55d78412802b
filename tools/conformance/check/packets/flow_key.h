// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FlowKey: all that a BTH tells about whose packet it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/conformance/check/packets/frame.h"

namespace urnic::check {

/// Packets from one address to one queue pair of another.
struct FlowKey {
  Address source;
  Address destination;
  std::uint32_t destination_qp = 0;
  friend bool operator==(const FlowKey&, const FlowKey&) = default;
};

struct FlowKeyHash {
  std::size_t operator()(const FlowKey& key) const;
};

}  // namespace urnic::check
