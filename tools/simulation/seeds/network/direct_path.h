// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DirectPath: one switch that only delays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/simulation/seeds/network/path.h"
#include "tools/simulation/seeds/scenario/options.h"

namespace urnic::sim {

/// How long a frame of so many bytes occupies the link.
inline Duration time_on(const LinkOptions& link, std::size_t bytes) {
  return Duration(static_cast<std::int64_t>(static_cast<double>(bytes) * link.nanoseconds_per_byte));
}

/// A frame waits for its receiver's link, where frames of several senders meet. Frames of one sender to one
/// receiver keep their order if they are to.
class DirectPath final : public Path {
 public:
  DirectPath(const Options& options, EventQueue& events);

  void carry(Trip trip) override;

 private:
  struct Receiver {
    Time free_at{};                   // when the last frame has reached the host
    std::vector<Time> last_delivery;  // from each host, of frames that keep their order
  };

  const Options& options_;
  EventQueue& events_;
  std::vector<Receiver> receivers_;
};

}  // namespace urnic::sim
