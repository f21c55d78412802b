// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Reports and queries of IGMP and MLD as Linux sends them: pcap_fixtures/igmp_mld_linux.pcap.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>

#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "tests/support/value_of.h"
#include "tests/unit/transport/wire/captured.h"
#include "transport/wire/ethernet.h"

namespace urnic::transport::wire::test {

constexpr std::size_t kIgmpOffset = 24;     // in an IPv4 packet with router alert
constexpr std::size_t kMldOffset = 40 + 8;  // in an IPv6 packet with hop-by-hop header

/// Frame `number` of the capture, as Wireshark counts, without its Ethernet header.
inline Bytes membership_packet(std::size_t number) {
  const auto frames =
      urnic::test::value_of(urnic::test::read_pcap(urnic::test::fixtures() / "igmp_mld_linux.pcap"));
  const Bytes& frame = frames.at(number - 1).bytes;
  return {frame.begin() + Ethernet::kMinBytes, frame.end()};
}

}  // namespace urnic::transport::wire::test
