// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// open_port: the port of a NIC, with everything the user wanted wrapped around it.
#pragma once

#include "nic/engine/opened_port.h"
#include "transport/result.h"
#include "verbs_api/config/environment.h"

namespace urnic::verbs_api {

/// Opens the wire that `environment.port` names and puts the fault injector, the hairpin to ourselves and the
/// recorder around it, as `environment` asks. Blocks as nic::PortOpener does; the error is for a person.
/// EBUSY: another process of the same `urnic run` has it open. `environment` must outlive the port.
///
/// Declared here and defined in tools/runtime/port, where drivers meet the verbs: nothing in verbs_api
/// knows a driver.
Result<nic::OpenedPort, Error> open_port(const NicEnvironment& environment);

/// Whether a process may open a port after its parent had this one open when it forked: not over DPDK, whose
/// state a child inherits without the threads that go with it.
bool may_open_port_after_fork(const NicEnvironment& environment);

}  // namespace urnic::verbs_api
