// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FarewellKeeper: keeps what peers are told if the process is killed.
#pragma once

#include "nic/cm/connection.h"
#include "nic/cm/types.h"
#include "transport/types.h"

namespace urnic::nic::cm {

/// What the peer of a connection has to hear.
struct Farewell {
  OutgoingMad mad;
  transport::Duration pause{};  ///< before it is sent again, as no answer came; 0: it has none
  bool was_sent = false;
};

/// Called under the engine lock; must not wait, nor call back.
class FarewellKeeper {
 public:
  virtual ~FarewellKeeper() = default;
  /// Should the process end at this moment, this is what the peer of the connection has to hear: what
  /// CommunicationManager::release() would send.
  virtual void keep(CommunicationId id, const Farewell& farewell) = 0;
  /// The peer needs to hear nothing.
  virtual void forget(CommunicationId id) = 0;
};

}  // namespace urnic::nic::cm
