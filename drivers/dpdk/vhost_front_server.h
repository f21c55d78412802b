// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// VhostFrontServer: where real backs come in and are introduced to a front's rings.
#pragma once

#include <memory>
#include <utility>

#include "drivers/descriptor.h"
#include "drivers/dpdk/driver_session.h"
#include "drivers/dpdk/lent_memory.h"
#include "drivers/dpdk/link.h"
#include "drivers/dpdk/shielded.h"
#include "transport/result.h"

namespace urnic::drivers {

/// Serves one peer at a time, on a thread of its own that sleeps unless peers come or go: the handshake as a
/// front does it, then silence until the peer hangs up or dies. Others wait in the listening socket. A peer
/// that does not answer within a second, does not know our features, or is another user's, is sent away.
///
/// A new peer goes on where the rings are: frames that the last one had not marked as used come again.
class VhostFrontServer {
 public:
  /// Lets peers in that connect to `listener`, and lends them `memory`, where the rings are. `setup` must be
  /// complete; `link` is told whether a peer is there. All of them must outlive this object.
  static Result<std::unique_ptr<VhostFrontServer>, Error> open(const VhostSetup& setup,
                                                               const LentMemory& memory, Descriptor listener,
                                                               Link& link);
  VhostFrontServer(const VhostFrontServer&) = delete;
  VhostFrontServer& operator=(const VhostFrontServer&) = delete;
  ~VhostFrontServer() { close(); }

  /// Has the peer stop its work on the rings, hangs up and lets no other peer in. False when the peer did not
  /// say that it has stopped: then it may still write to our memory.
  bool close();

 private:
  VhostFrontServer(const VhostSetup& setup, const LentMemory& memory, Descriptor listener, Link& link)
      : setup_(setup), memory_(memory), link_(link), listener_(std::move(listener)) {}
  void run();
  void let_in();
  bool introduce(int peer) const;
  bool dismiss() const;

  const VhostSetup& setup_;
  const LentMemory& memory_;
  Link& link_;
  Descriptor listener_;
  Descriptor peer_;
  Descriptor closing_;  // becomes readable when the thread shall end
  ShieldedThread thread_;
};

}  // namespace urnic::drivers
