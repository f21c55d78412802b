// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FailureReport: all that is known about one failure when it happens, in facts and not in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "nic/diagnostics/qp_history.h"
#include "nic/memory/memory_region.h"
#include "nic/path/neighbor_table.h"
#include "nic/port/medium.h"
#include "nic/queues/queue_pair_snapshot.h"
#include "nic/rdma_cm/connection_failure.h"
#include "transport/completion.h"
#include "transport/observer.h"
#include "transport/types.h"
#include "transport/wire/address.h"
#include "transport/wire/encapsulation.h"
#include "transport/work_request.h"

namespace urnic::nic {

struct FailureReport {
  enum class Kind : std::uint8_t {
    kCompletion,  ///< a work request failed
    kRefusal,     ///< a request of the peer's was refused; our program gets no completion
    kStray,       ///< a host sends to a queue pair that is not here
    /// Packets for a queue pair, or a connection request, come from another address than the sender's.
    kTranslated,
    /// The peer's packets come as RoCE v1 to a queue pair of RoCE v2, or the other way round.
    kOtherEncapsulation,
    kConnection,      ///< one of rdma_cm was not made; see `connection`
    kReceiveMissing,  ///< nothing has failed here: the peer was told to wait for a receive
    kDropped,         ///< nothing has failed here: a message of an unreliable service found no receive
    kNoDepth,         ///< nothing has failed here: a READ or atomic leaves though max_rd_atomic is 0
  };

  Kind kind = Kind::kCompletion;
  transport::Time at{};
  /// Before the failure changed its state. Of what is about packets that came (kStray, kTranslated,
  /// kOtherEncapsulation) the number sent to, and the peer.
  QueuePairSnapshot qp{};
  std::uint64_t other_failures = 0;  ///< that there was no room for since the last report

  // --- kCompletion ---
  bool is_receive = false;
  transport::Completion completion{};
  std::optional<transport::SendRequest> request{};  ///< that failed
  std::uint32_t request_length = 0;                 ///< bytes

  // --- Where the reason was one of these ---
  std::optional<transport::RefusedRequest> refused{};
  struct BadElement {
    std::size_t index = 0;  ///< among the elements of the work request
    transport::Sge sge{};
    transport::DmaStatus status = transport::DmaStatus::kOk;
    bool is_write = false;
  };
  std::optional<BadElement> bad_element{};
  KeyFacts key{};  ///< that the refused request or the bad element names

  // --- The path ---
  Medium medium = Medium::kEthernet;  ///< over IP no neighbors are known
  NeighborState neighbor = NeighborState::kUnknown;
  transport::wire::Mac neighbor_mac{};
  bool is_on_our_segment = false;  ///< the peer's address is within our own prefix
  std::uint32_t link_mtu = 0;      ///< of our port
  std::uint8_t min_rnr_timer = 0;  ///< code that we send

  QpHistory history{};

  transport::wire::Gid seen_as{};            ///< the address in place of the peer's, of kTranslated
  transport::wire::Encapsulation came_as{};  ///< of kOtherEncapsulation

  std::optional<rdma_cm::ConnectionFailure> connection{};
};

}  // namespace urnic::nic
