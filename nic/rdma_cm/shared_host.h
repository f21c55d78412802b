// SharedHost: what rdma_cm asks of a host whose addresses several NICs share.
#pragma once

#include <cstdint>

#include "nic/rdma_cm/port_table.h"
#include "nic/rdma_cm/types.h"
#include "transport/result.h"
#include "transport/wire/address.h"

namespace urnic::nic::rdma_cm {

/// Ports are the host's, so that a request finds the NIC that listens, and two NICs do not have one. All calls under
/// the engine lock; each waits for another process, a second at most.
class SharedHost {
 public:
  virtual ~SharedHost() = default;

  /// As PortTable::add(), for all NICs of the host. Port 0 has one chosen; returns the port. EADDRINUSE: it is taken;
  /// EADDRNOTAVAIL: all are; EIO: the host's switch does not answer.
  virtual Result<std::uint16_t, Error> bind(PortSpace space, const PortTable::Binding& binding) = 0;
  /// As PortTable::listen(). EADDRINUSE: another id listens there already, perhaps another NIC's; EIO as bind().
  virtual Result<void, Error> listen(PortSpace space, std::uint16_t port, IdNumber id) = 0;
  /// As PortTable::remove().
  virtual void release(PortSpace space, std::uint16_t port, IdNumber id) = 0;
};

}  // namespace urnic::nic::rdma_cm
