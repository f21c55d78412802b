// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How numbers of packets are written for people, in check and replay: as Wireshark writes them.
#pragma once

#include <cstdint>
#include <string>

#include "tools/conformance/check/packets/psn.h"

namespace urnic::check {

std::string to_string(Psn psn);             ///< "11848775", as MSNs
std::string qp_text(std::uint32_t number);  ///< "0x000011"
std::string key_text(std::uint32_t key);    ///< "0x00000404"

}  // namespace urnic::check
