// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SharedHost: what rdma_cm asks of a host whose addresses several NICs share.
#pragma once

#include <cstdint>
#include <optional>

#include "nic/rdma_cm/port_table.h"
#include "nic/rdma_cm/types.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::nic::rdma_cm {

/// Ports are the host's, so that a request finds the NIC that listens, and two NICs do not have one. Any
/// thread.
class SharedHost {
 public:
  virtual ~SharedHost() = default;

  // --- Under the engine's lock: these wait for nothing. ---

  /// A port of those that the host has lent to this NIC in advance, for an id that wants any port. No other
  /// id of the host has it, at whatever address, and none can listen at it. Nothing when all are in use:
  /// bind() waits for one then.
  virtual std::optional<std::uint16_t> take_lent(PortSpace space) = 0;
  virtual void give_back_lent(PortSpace space, std::uint16_t port) = 0;
  /// As PortTable::remove(), for what bind() gave.
  virtual void release(PortSpace space, std::uint16_t port, IdNumber id) = 0;

  // --- Without it: each waits for another process, a second at most. ---

  /// As PortTable::add(), for all NICs of the host. Port 0 has one chosen; returns the port. A lent one that
  /// the NIC has taken becomes the id's. EADDRINUSE, EADDRNOTAVAIL: as PortTable::error_of_adding(), or no
  /// port is free; EIO: the host's switch does not answer, and the id will not have the port.
  virtual Result<std::uint16_t, Error> bind(PortSpace space, const PortTable::Binding& binding) = 0;
  /// As PortTable::listen(), for what bind() gave. EADDRINUSE: another id listens there already, perhaps
  /// another NIC's; EIO as bind().
  virtual Result<void, Error> listen(PortSpace space, std::uint16_t port, IdNumber id) = 0;
};

}  // namespace urnic::nic::rdma_cm
