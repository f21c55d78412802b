// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Tester: what `urnic conform` plays on: the port of a NIC that `urnic run` would give to a program.
#pragma once

#include <memory>
#include <string>

#include "tools/conformance/conform/wire/port_wire.h"
#include "transport/result.h"
#include "transport/wire/address.h"
#include "verbs_api/config/environment.h"

namespace urnic::tools {

struct TesterChoice {
  std::string port;  ///< as `urnic run --port` takes it
  std::string ip;    ///< as `urnic run --ip` or `--ip6` takes it; empty: what a NIC on such a port has
  std::string mtu;   ///< as `urnic run --mtu` takes it; empty likewise
  transport::wire::Gid peer;
};

struct Tester {
  std::unique_ptr<verbs_api::NicEnvironment> environment;  ///< the wire's port looks at it
  std::unique_ptr<conform::PortWire> wire;
};

/// Opens the port. The process's URNIC_* variables are then the tester's; what the user has set there for
/// programs does not count. The error is for a person.
Result<Tester, Error> open_tester(TesterChoice choice);

}  // namespace urnic::tools
