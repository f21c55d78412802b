// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// KeptId: what another RdmaCm needs to make an id again.
#pragma once

#include <cstdint>
#include <optional>

#include "nic/rdma_cm/types.h"

namespace urnic::nic::rdma_cm {

/// Of an id that has no peer and looks for none: one that is fresh, bound or listens.
struct KeptId {
  IdNumber number{};
  std::uint64_t uid = 0;
  PortSpace space = PortSpace::kTcp;
  Service service = Service::kRc;
  bool may_share_port = false;
  bool is_family_only = false;
  std::uint8_t type_of_service = 0;
  std::optional<std::uint8_t> ack_timeout{};
  std::optional<SocketAddress> bound{};    ///< with the port that it has
  std::optional<std::uint32_t> backlog{};  ///< of a listener
};

}  // namespace urnic::nic::rdma_cm
