// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// AddressHandles: where datagrams go, by the number that a work request carries.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "nic/path/path.h"
#include "nic/path/peer_mac.h"
#include "transport/work_request.h"

namespace urnic::nic {

/// A number is not used again before many others were, so that a work request whose handle was destroyed too
/// early finds nothing rather than another's. All calls under the engine lock.
class AddressHandles {
 public:
  struct Handle {
    AddressVector address{};
    Path path{};
    PeerMac peer_mac{};
    bool is_on_this_host =
        false;  ///< among NICs that share the host's addresses, the queue pair's number says whose it is
  };

  /// Nothing when the table is full.
  std::optional<transport::AddressHandleId> add(const AddressVector& address, const Path& path,
                                                bool is_on_this_host = false);
  void remove(transport::AddressHandleId id);
  /// Null for a number that names no handle (any more).
  Handle* find(transport::AddressHandleId id);

 private:
  struct Slot {
    transport::AddressHandleId id{};
    Handle handle;
  };

  std::deque<Slot> slots_;          // its elements stay where they are
  std::deque<std::uint32_t> free_;  // longest free first
};

}  // namespace urnic::nic
