// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Consumer: what the communication manager tells the layer above it.
#pragma once

#include <cstdint>

#include "nic/cm/message.h"
#include "nic/cm/types.h"
#include "transport/time.h"
#include "transport/wire/address.h"

namespace urnic::nic::cm {

/// Where a message came from, and to which of our addresses.
struct Arrival {
  transport::wire::Gid source{};
  transport::wire::Gid destination{};
  transport::wire::Mac mac{};  ///< of the station that sent the frame
};

/// What happens to a request.
struct Decision {
  enum class Kind : std::uint8_t {
    kPending,  ///< the consumer will accept or reject it
    kReject,
    kIgnore,  ///< the peer will ask again
  };
  Kind kind = Kind::kPending;
  RejectReason reason{};  ///< of kReject
};
struct SidrDecision {
  Decision::Kind kind = Decision::Kind::kPending;
  SidrStatus status{};  ///< of kReject
};

/// What a peer did not answer.
struct Silence {
  unsigned messages = 0;  ///< that were sent
  transport::Duration waited{};
};

/// Called under the engine lock, out of the communication manager's inputs; it may be called back. Nothing is
/// told of a connection that was released.
class Consumer {
 public:
  virtual ~Consumer() = default;

  /// A new connection wants to be made.
  virtual Decision on_request(CommunicationId id, const Req& req, const Arrival& from,
                              transport::Time now) = 0;
  /// The peer accepts: the consumer answers by ready() or reject().
  virtual void on_reply(CommunicationId id, const Rep& rep) = 0;
  /// A request was refused before the consumer was asked.
  virtual void on_refused(const Req& req, RejectReason reason, const Arrival& from) = 0;
  /// The peer is ready, too. Of the passive side only.
  virtual void on_ready(CommunicationId id) = 0;
  /// The connection will not be; its id means nothing any more.
  virtual void on_rejected(CommunicationId id, const Rej& rej) = 0;
  /// The peer does not answer REQ, REP or SIDR_REQ; the id means nothing any more.
  virtual void on_unanswered(CommunicationId id, const Silence& silence) = 0;
  /// The peer disconnects: the consumer answers by disconnect().
  virtual void on_disconnect_request(CommunicationId id) = 0;
  /// Our disconnecting was answered, or will never be.
  virtual void on_disconnected(CommunicationId id, bool is_answered) = 0;
  /// The queue pair's number may be used again. The id means nothing any more.
  virtual void on_timewait_exit(CommunicationId id) = 0;

  virtual SidrDecision on_sidr_request(CommunicationId id, const SidrReq& request, const Arrival& from,
                                       transport::Time now) = 0;
  /// The id means nothing any more.
  virtual void on_sidr_reply(CommunicationId id, const SidrRep& reply) = 0;
};

}  // namespace urnic::nic::cm
