// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The management datagrams of captures.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/bytes.h"
#include "transport/wire/address.h"

namespace urnic::nic::cm {

struct CapturedMad {
  std::size_t frame = 0;  ///< as Wireshark counts
  transport::wire::Gid source{};
  transport::wire::Gid destination{};
  transport::wire::Mac source_mac{};
  transport::test::Bytes bytes;
};

/// The datagrams of CAPTURE.pcap, in this tree or outside of it; empty when there is no such capture.
std::vector<CapturedMad> mads_in(const std::string& capture);

/// The names of all captures of this tree, and of those outside if they are there.
std::vector<std::string> all_captures();

}  // namespace urnic::nic::cm
