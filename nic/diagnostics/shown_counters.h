// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which counters the files of a device show: what `urnic run` has chosen, for all processes that it starts.
#pragma once

#include <string>

#include "nic/personality/personality.h"

namespace urnic::nic {

/// The file in the folder of the shown files ($URNIC_PATHS) that names the list of a device. Programs are not
/// shown it.
std::string counter_names_file(const std::string& tree, const std::string& device);

/// What it says; kOwn where there is no such file. A process may be like another NIC than the one for which
/// the files were made: it counts in those that there are.
CounterNames shown_counter_names(const std::string& tree, const std::string& device);

}  // namespace urnic::nic
