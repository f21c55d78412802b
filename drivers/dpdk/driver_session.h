// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DriverSession: the only back that DPDK's vhost-user front ever meets, in the same process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "drivers/descriptor.h"
#include "drivers/dpdk/shielded.h"
#include "transport/result.h"

namespace urnic::drivers {

/// What a front tells its back: all that another back needs to work on the same rings, except the memory they
/// are in (see LentMemory).
struct VhostSetup {
  struct Ring {
    std::uint32_t size = 0;
    std::uint64_t descriptors = 0;  ///< this and the next two: addresses in this process
    std::uint64_t used = 0;
    std::uint64_t available = 0;
    Descriptor kick;  ///< the front signals it to the back
    Descriptor call;  ///< the back signals it to the front

    bool is_complete() const { return size != 0 && used != 0 && kick && call; }
    /// The index of the ring's next used entry, which the back writes.
    std::uint16_t used_index() const;
    /// The index of its next available entry, which the front writes.
    std::uint16_t available_index() const;
  };
  static constexpr std::size_t kReceive = 0;  ///< the front's receive ring
  static constexpr std::size_t kTransmit = 1;

  std::uint64_t features = 0;
  std::array<Ring, 2> rings;

  bool is_complete() const { return rings[0].is_complete() && rings[1].is_complete(); }
};

/// DPDK's front (net_virtio_user) can neither start without a back nor is it good at changing it: it waits
/// without limit for the answers of any peer that connects, on the interrupt thread of all ports, and when
/// one peer dies in the middle of the handshake it does not switch the rings on for the next (22.11). So it
/// gets this back, which is always there, answers at once and never touches a ring, and real ones are
/// introduced to the rings by VhostFrontServer.
class DriverSession {
 public:
  /// Waits for the driver at `socket_path` and answers it, in a thread, until pause(). Then the driver has to
  /// be silent, as it is while its device runs, until resume().
  Result<void, Error> start(const std::string& socket_path);
  /// Returns when all that the driver has said is heard.
  void pause();
  /// Answers the driver until it hangs up. The destructor waits for that.
  Result<void, Error> resume();

  /// Valid after pause().
  const VhostSetup& setup() const { return setup_; }

 private:
  void converse_until_paused();
  bool answer();
  VhostSetup::Ring* ring(std::uint32_t index);

  std::atomic<bool> pausing_ = false;
  Descriptor listener_;
  Descriptor connection_;
  VhostSetup setup_;
  ShieldedThread thread_;  // uses all of the above
};

}  // namespace urnic::drivers
