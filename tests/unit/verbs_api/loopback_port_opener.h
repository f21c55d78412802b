// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What tests say of the port that they have.
#pragma once

namespace urnic::test {

/// What may_open_port_after_fork() answers; true at first.
extern bool port_may_be_opened_after_fork;

}  // namespace urnic::test
