// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Rules that a single frame or packet keeps or breaks, whatever came before it.
#pragma once

#include <cstdint>

#include "tools/conformance/check/findings/findings.h"
#include "tools/conformance/check/packets/frame.h"
#include "tools/conformance/check/packets/packet.h"

namespace urnic::check {

/// IP and UDP around the packet.
void check_frame(const Frame& frame, std::uint64_t number, std::uint32_t flow, Findings& findings);

/// A packet that could not be taken apart. `packet.fault` says why.
void report_fault(const Frame& frame, const Packet& packet, std::uint64_t number, std::uint32_t flow,
                  Findings& findings);

/// BTH and extended headers of a packet without fault.
void check_packet(const Packet& packet, std::uint64_t number, std::uint32_t flow, Findings& findings);

}  // namespace urnic::check
