// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What REQ and REP say about the packets of a connection.
#pragma once

#include <cstdint>

#include "tools/conformance/check/packets/flow_key.h"
#include "tools/conformance/check/packets/psn.h"

namespace urnic::check {

/// How often a side tries, and how much it may ask for at a time.
struct AgreedLimits {
  static constexpr std::uint8_t kForever = 7;  ///< as a number of retries (fact 37)

  std::int64_t ack_timeout_ns = 0;  ///< 0: it waits without end (fact 36)
  std::int64_t ack_delay_ns = 0;    ///< what the REP's sender needs for an ACK at most
  std::uint8_t retry_count = kForever;
  std::uint8_t rnr_retry = kForever;
  std::uint8_t max_reads = 0;  ///< READs and atomics in flight: what the responder has resources for
};

/// One direction of a connection: requests, and what the other side's responder can take.
struct AgreedFlow {
  FlowKey key;
  Psn first_psn;               ///< of the first request
  std::uint32_t path_mtu = 0;  ///< bytes; 0: the REQ has a code that means none
  AgreedLimits limits;
};

struct AgreedConnection {
  AgreedFlow from_active;
  AgreedFlow from_passive;
};

}  // namespace urnic::check
