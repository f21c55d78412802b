// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// OpenedPort: a port, and what comes with it where NICs share a host's addresses.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "nic/port/granted_time.h"
#include "nic/port/host_probe.h"
#include "nic/port/host_route.h"
#include "nic/port/last_words.h"
#include "nic/port/number_share.h"
#include "nic/port/packet_port.h"
#include "nic/rdma_cm/shared_host.h"
#include "nic/recording/journal.h"
#include "transport/result.h"

namespace urnic::nic {

struct OpenedPort {
  OpenedPort() = default;
  /// A port whose NIC has its addresses, and so all numbers, for itself.
  template <typename Port>
  OpenedPort(std::unique_ptr<Port> own) : port(std::move(own)) {}

  std::unique_ptr<PacketPort> port;
  NumberShare numbers;
  HostRoutes routes;                          ///< where its addresses are the host's
  HostProbes probes;                          ///< likewise
  std::unique_ptr<rdma_cm::SharedHost> host;  ///< null: no other NIC shares them
  std::unique_ptr<LastWords> last_words;      ///< null: no process speaks for this one
  GrantedTime* time = nullptr;                ///< of a port whose wire grants it; part of the port
  Journal* journal = nullptr;                 ///< of a port that takes notes; part of the port
};

/// Opens a port. Blocks until the port can be used (a peer need not be there). Returns an error for a person
/// when the port is not available.
using PortOpener = std::function<Result<OpenedPort, Error>()>;

}  // namespace urnic::nic
