// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What tshark reads in messages that we wrote.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nic/cm/message.h"

namespace urnic::nic::cm {

/// One text for each of `mads` (REQ, REP, RTU, REJ, DREQ or DREP), as describe() has it. Empty without
/// tshark.
std::vector<std::string> read_by_tshark(std::span<const Mad> mads);

/// What describe() says, apart from flow label and rate of a REQ, which tshark 4.0 reads in wrong places.
std::string without_what_tshark_misreads(const std::string& text);

}  // namespace urnic::nic::cm
