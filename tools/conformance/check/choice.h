// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Choice: the queue pairs and addresses that the user wants to look at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tools/conformance/check/packets/flow_key.h"

namespace urnic::check {

class Connections;

using FlowSet = std::unordered_set<FlowKey, FlowKeyHash>;

/// What a connection must have to be shown: each of these as one of its ends. At most two of each kind.
struct Choice {
  std::vector<std::uint32_t> queue_pairs;
  std::vector<Address> addresses;

  bool takes_all() const { return queue_pairs.empty() && addresses.empty(); }
};

/// "0x11" or "17", or two of them with a colon; nothing if it is neither.
std::optional<std::vector<std::uint32_t>> read_queue_pairs(std::string_view text);

/// "10.0.0.1" or "fd00::1", or two of them with a comma; nothing if it is neither.
std::optional<std::vector<Address>> read_addresses(std::string_view text);

/// "queue pair 0x000011 and address 10.0.0.1".
std::string to_string(const Choice& choice);

/// Adds the flows of `connections` that `choice` takes, both directions of each. A BTH does not name its
/// sender's queue pair: only a capture that was read to its end tells.
void add_chosen_flows(const Connections& connections, const Choice& choice, FlowSet& chosen);

}  // namespace urnic::check
