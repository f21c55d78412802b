// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a program is granted that requests room in queues.
#pragma once

#include <cstdint>

#include "nic/personality/personality.h"
#include "transport/result.h"

namespace urnic::nic {

/// Of the two queues of a queue pair.
struct QueueSizes {
  std::uint32_t sends = 0;  ///< work requests
  std::uint32_t receives = 0;
  std::uint32_t send_sges = 0;  ///< elements of each
  std::uint32_t receive_sges = 0;
  std::uint32_t inline_bytes = 0;

  friend bool operator==(const QueueSizes&, const QueueSizes&) = default;
};

/// Services differ in what stands before the elements of a request.
enum class RoomService : std::uint8_t { kConnected, kDatagram, kXrc, kRaw };

/// With GrantedRoom::kPowerOfTwo what was requested: the queues round up themselves. EINVAL: more than the
/// NIC has.
Result<QueueSizes, Error> granted_sizes(const Personality& nic, RoomService service,
                                        const QueueSizes& requested);

/// The same of a shared receive queue, of which there are only receives.
Result<QueueSizes, Error> granted_shared_sizes(const Personality& nic, const QueueSizes& requested);

/// EINVAL: none, or more than the NIC has.
Result<void, Error> check_completions(const Personality& nic, std::uint32_t requested);

/// The entries of a completion queue; with kPowerOfTwo as above.
std::uint32_t granted_completions(const Personality& nic, std::uint32_t requested);

/// Whether queues have exactly the room that was granted, and do not round up.
inline bool is_room_exact(const Personality& nic) {
  return nic.granted_room != GrantedRoom::kPowerOfTwo;
}

}  // namespace urnic::nic
