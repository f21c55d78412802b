// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QueuePairSnapshot: what can be said of a queue pair at one moment.
#pragma once

#include <cstdint>
#include <optional>

#include "nic/queues/qp_type.h"
#include "transport/congestion/controller.h"
#include "transport/endpoint.h"
#include "transport/qp_state.h"
#include "transport/time.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::nic {

struct QueuePairSnapshot {
  transport::QpNumber number{};
  QpType type = QpType::kRc;
  transport::QpState state = transport::QpState::kReset;
  transport::QpNumber peer_qp{};      ///< 0 without a peer, which datagrams have not
  transport::wire::Gid peer{};        ///< unspecified without a peer
  transport::Psn send_psn{};          ///< the next one to be sent
  transport::Psn receive_psn{};       ///< the next one expected
  std::uint32_t msn = 0;              ///< requests completed as a responder, 24 bits
  std::uint32_t sends_posted = 0;     ///< work requests that are not complete
  std::uint32_t receives_posted = 0;  ///< in a queue of its own; 0 if it shares one
  transport::SendProgress progress{};
  std::optional<transport::congestion::ControllerState>
      congestion{};                           ///< nothing: it sends as fast as it can
  std::uint8_t retry_count = 0;               ///< what is allowed of progress.retries_used
  std::uint8_t rnr_retry = 0;                 ///< and of progress.rnr_retries_used; 7: no limit (fact 37)
  std::uint8_t ack_timeout = 0;               ///< code: 4.096 us x 2^code; 0 never times out (fact 36)
  std::uint32_t path_mtu = 0;                 ///< bytes
  std::optional<std::uint32_t> domain{};      ///< the number of its protection domain, if it is in one
  std::optional<std::uint32_t> srq{};         ///< the number of the shared receive queue that it takes from
  transport::Time timer = transport::kNever;  ///< when the transport's timer runs out that is next
};

}  // namespace urnic::nic
