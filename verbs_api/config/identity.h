// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Which NIC a device of the process is: its port, its lease and its addresses.
#pragma once

#include "nic/host/host_addresses.h"
#include "nic/host/port_spec.h"
#include "transport/result.h"
#include "verbs_api/config/environment.h"
#include "verbs_api/config/variables.h"

namespace urnic::verbs_api {

/// A port, and whether it is for us to say which end of a wire, or which port of a fabric, it is.
struct PortChoice {
  nic::PortSpec port;
  bool any_slot = false;
};

Result<PortChoice, Error> read_port(const Variables& variables);

/// Whether the host's addresses may still become ready: `urnic run` has waited already.
nic::AddressWait wait_for_addresses(const Variables& variables);

/// Fills in port, lease, and what follows from them: link MTU, a default address, a default MAC. The number
/// and the name of the device, and the addresses that the user gave, must be there.
Result<void, Error> read_identity(const Variables& variables, NicEnvironment& environment);

}  // namespace urnic::verbs_api
