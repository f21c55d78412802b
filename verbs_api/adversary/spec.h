// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the user writes after --chaos.
#pragma once

#include <string>
#include <string_view>

#include "nic/adversary/settings.h"
#include "transport/result.h"

namespace urnic::verbs_api {

/// Words with commas between:
///
///   seed=N              of all that is drawn; 1 where it is left out
///   only=NAME+NAME...   these behaviors, whether the seed has them or not; `all`: all usual ones
///   off=NAME+NAME...    not these
///   scale=X             of all pauses, above 0 and up to 100; 1 where it is left out
///   log=FILE            where the last unusual acts are kept; %p stands for the process's number
///
/// Without `only` it is about half of the usual behaviors, drawn from the seed. The error says in one line
/// what is wrong.
Result<nic::AdversarySettings, Error> parse_adversary(std::string_view text);

/// The faults of frames, and the events, that such an adversary has: as FaultList::parse() takes them; empty
/// if there are none.
std::string faults_of(const nic::AdversarySettings& settings);

}  // namespace urnic::verbs_api
