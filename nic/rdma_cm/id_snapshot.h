// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// IdSnapshot: what can be said of a program's id at one moment.
#pragma once

#include <cstdint>
#include <optional>

#include "nic/cm/connection.h"
#include "nic/rdma_cm/id.h"
#include "nic/rdma_cm/types.h"
#include "transport/types.h"

namespace urnic::nic::rdma_cm {

struct IdSnapshot {
  IdNumber number{};
  Service service = Service::kRc;
  PortSpace space = PortSpace::kTcp;
  IdState state = IdState::kIdle;
  std::optional<cm::State> connection_state;  ///< none: the communication manager knows no connection of it
  SocketAddress local;
  SocketAddress peer;
  transport::QpNumber qp{};  ///< that the program connects; 0 as long as it is not known
  transport::QpNumber peer_qp{};
  std::uint32_t backlog = 0;  ///< of a listener: requests that may still come before the program fetches one
};

}  // namespace urnic::nic::rdma_cm
