// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Series: how something went over time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "transport/time.h"

namespace urnic::experiment {

/// What is measured. Those "of the interval" are sums since the sample before.
enum class Metric : std::uint8_t {
  kQueueBytes,   ///< of a port and priority: the longest of the interval
  kMarks,        ///< of a port and priority, of the interval
  kDrops,        ///< likewise
  kPausedUs,     ///< likewise: microseconds in which it was not to send
  kRate,         ///< of a connection: b/s that its controller allows
  kWindowBytes,  ///< likewise
  kRoundTripUs,  ///< of a connection: the last one measured
  kGoodput,      ///< of a connection: b/s of payload that was acknowledged in the interval
  kInFlight,     ///< of a connection: packets of SEND and WRITE that are not acknowledged
  kRetries,      ///< of a connection, of the interval: timeouts and losses after which it sent again
  kCnpsSent,     ///< of a host, of the interval
  kCnpsHandled,  ///< likewise
};

/// As files have it: "queue_bytes".
constexpr std::string_view name_of(Metric metric) {
  using enum Metric;
  switch (metric) {
    case kQueueBytes:
      return "queue_bytes";
    case kMarks:
      return "marks";
    case kDrops:
      return "drops";
    case kPausedUs:
      return "paused_us";
    case kRate:
      return "rate_bps";
    case kWindowBytes:
      return "window_bytes";
    case kRoundTripUs:
      return "round_trip_us";
    case kGoodput:
      return "goodput_bps";
    case kInFlight:
      return "packets_in_flight";
    case kRetries:
      return "retries";
    case kCnpsSent:
      return "cnps_sent";
    case kCnpsHandled:
      return "cnps_handled";
  }
  return "";
}

struct Sample {
  transport::Duration time{};  ///< since the start
  double value = 0;
};

/// Samples in the order of time. A value holds until the next one: one that is as before is left out.
struct Series {
  Metric metric{};
  std::string of;  ///< "switch->receiver/3", "sender0->receiver", "sender0"
  std::vector<Sample> samples;
};

}  // namespace urnic::experiment
