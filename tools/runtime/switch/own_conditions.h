// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Under which conditions of the system a switch runs that a program has started for all.
#pragma once

namespace urnic::tools {

/// Takes back, as far as this user may, what the process has inherited of a program that was meant to run
/// with less than others: processors (taskset), priority (nice, chrt), and soft limits (ulimit). Hard limits
/// and the control group stay.
void take_own_conditions();

}  // namespace urnic::tools
