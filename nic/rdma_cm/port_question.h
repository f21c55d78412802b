// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// PortQuestion: what RdmaCm has to know of the host before it can go on.
#pragma once

#include <cstdint>
#include <optional>

#include "nic/rdma_cm/port_table.h"
#include "nic/rdma_cm/shared_host.h"
#include "nic/rdma_cm/types.h"
#include "transport/result.h"

namespace urnic::nic::rdma_cm {

/// Where NICs share a host, only the host knows whether a port is free. To ask it takes time, and is done
/// without the engine's lock: RdmaCm returns the question, and the id is in state kBinding until
/// RdmaCm::answer() brings the answer.
struct PortQuestion {
  enum class Kind : std::uint8_t { kBind, kListen };

  Kind kind{};
  PortSpace space{};
  PortTable::Binding binding;
};

/// The port of the id, or the host's error.
using PortAnswer = Result<std::uint16_t, Error>;

/// Asks the host. Waits a second at most: not under the engine's lock.
PortAnswer ask(SharedHost& host, const PortQuestion& question);

/// What a command of a program has come to: it is done, or there is a question. When that is answered, the
/// same command is given again, and goes on.
using Step = Result<std::optional<PortQuestion>, Error>;

/// The command is done.
inline Step done() {
  return std::optional<PortQuestion>();
}

}  // namespace urnic::nic::rdma_cm
