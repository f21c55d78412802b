// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Counters that are read are made fresh first.
#pragma once

namespace urnic::paths {

/// If `path` is a file of counters below the private folder, has the programs with a NIC write down what
/// they counted, unless that was done less than `lifespan` milliseconds ago (the file hw_counters/lifespan
/// beside it). Each does so when a program asks for its status (nic/diagnostics/status_server.h). Waits for
/// them 100 ms at most: one that is stopped does not answer. Leaves errno as it is.
void refresh_counters(const char* path);

}  // namespace urnic::paths
