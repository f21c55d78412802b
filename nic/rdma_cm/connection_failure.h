// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ConnectionFailure: what is known when a connection is not made, in facts and not in words.
#pragma once

#include <cstdint>

#include "nic/cm/types.h"
#include "nic/rdma_cm/types.h"
#include "transport/time.h"
#include "transport/types.h"

namespace urnic::nic::rdma_cm {

struct ConnectionFailure {
  enum class Kind : std::uint8_t {
    kRejected,           ///< by the peer's REJ
    kServiceRefused,     ///< by the peer's SIDR_REP
    kNoAnswer,           ///< to our REQ, REP or SIDR_REQ
    kNoAddressOfFamily,  ///< the NIC, or the id, has no address of the family of `peer`
    kNoRoute,            ///< of the host leads to `peer`, from `local` if the program named it
    kHostUnreachable,    ///< ICMP says so of the host of `peer`, or that it has no RoCEv2
    kAddressSilent,      ///< no host answers for the address of `peer`
    kAddressTimeout,     ///< none did within the program's timeout
    kRefused,            ///< a request of the peer's, by us
    kBacklogFull,        ///< a request of the peer's was ignored
  };

  Kind kind{};
  Service service = Service::kRc;
  bool is_passive = false;  ///< the peer asked
  SocketAddress local{};
  SocketAddress peer{};
  cm::RejectReason reason{};  ///< of kRejected; of kRefused where it is no datagram service
  cm::SidrStatus status{};    ///< of kServiceRefused
  int code = 0;           ///< where no message of a peer is the reason: the errno value that the program gets
  unsigned messages = 0;  ///< of kNoAnswer: that were sent
  transport::Duration waited{};                            ///< of kNoAnswer
  transport::PathMtu path_mtu = transport::PathMtu::k256;  ///< the requested one
};

/// Hears why connections are not made.
class ConnectionObserver {
 public:
  virtual ~ConnectionObserver() = default;
  /// Called under the engine lock: must not wait, and must not call back.
  virtual void on_connection_failure(const ConnectionFailure& failure) = 0;
};

}  // namespace urnic::nic::rdma_cm
