// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Journal: where a NIC that is recorded writes what its frames do not tell.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "transport/time.h"

namespace urnic::nic {

/// Belongs to the port that writes the frames down, and so has them and what is said of them in one order.
class Journal {
 public:
  virtual ~Journal() = default;

  // --- Under the engine lock ---

  /// The next of the frames that the port gave has been dealt with. `comment` says what happened to it;
  /// empty: nothing that a reader would not expect.
  virtual void on_frame_done(std::string_view comment) = 0;
  /// What to say of the frame that the port is given next.
  virtual void describe_next_sent(std::string_view comment) = 0;
  /// The number of the last frame that was written, from 1.
  virtual std::uint64_t last_frame() const = 0;

  // --- Any thread ---

  /// Since 1970.
  virtual std::chrono::nanoseconds wall_clock(transport::Time time) const = 0;
  /// Text for programs that read the file: one JSON object.
  virtual void add_note(std::string_view text) = 0;
};

}  // namespace urnic::nic
