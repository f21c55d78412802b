// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// DPDK's environment layer (EAL): started once per process image, as an ordinary user, quietly.
#pragma once

#include "drivers/dpdk/options.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Starts EAL unless it runs already. EAL can be started once per process image and never again: not after a
/// failure either (the same error comes back), nor in the child of a fork. The first caller's options win, so
/// that a later caller for another PCI card gets EBUSY.
///
/// Takes about 110 ms, of which 100 are DPDK's clock calibration. It needs no root, huge pages or devices
/// except for a PCI card, opens no sockets, leaves the calling thread's affinity and signal mask alone, and
/// prints nothing unless `options.verbose`. It leaves one thread ("eal-intr-thread") and nothing in the file
/// system. Safe from any thread.
Result<void, Error> start_eal(const DpdkOptions& options);

}  // namespace urnic::drivers
