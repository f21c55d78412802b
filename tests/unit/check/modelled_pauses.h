// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Captures of one link of a modelled network, with true pause frames on it.
#pragma once

#include <vector>

#include "tests/support/pcap_file.h"
#include "tools/conformance/check/packets/link_frame.h"

namespace urnic::check::test {

/// Four hosts send datagrams of priority 3 to a fifth, for 400 us, at 100 Gb/s each, through one switch.
/// `place` is where frames are captured.
enum class Place {
  kSenderAtSwitch,  ///< the link of the first sender, at the switch
  kSenderAtHost,    ///< the same, at the host
  kReceiverAtHost,  ///< the link of the receiver, at the host
};
struct ModelledLink {
  std::vector<urnic::test::CapturedFrame> frames;
  std::uint64_t pauses_sent = 0;  ///< pause frames that the two ports of the link have counted
};
/// With `receiver_pauses`, the receiver pauses the switch from 50 us to 350 us.
ModelledLink capture_modelled_link(Place place, bool receiver_pauses);

/// Of the receiver, and of senders 1 to 4.
Mac mac_of_modelled(std::size_t host);

}  // namespace urnic::check::test
