// Connects one queue pair of a reliable connection, RC or XRC, as programs do: INIT, RTR, RTS.
#pragma once

#include <cstdint>

#include "nic/queues/queue_pair.h"
#include "tools/simulation/seeds/scenario/options.h"
#include "tools/simulation/seeds/traffic/host.h"

namespace urnic::sim {

struct ConnectionEnd {
  nic::QueuePair& qp;
  const Host& host;
  const Host& peer;
  transport::QpNumber peer_qp{};
  transport::Psn send_psn{};
  transport::Psn receive_psn{};
  transport::Access access{};  ///< what the peer may do
  transport::Recovery recovery = transport::Recovery::kGoBackN;
  std::uint8_t traffic_class = 0;
};

/// The queue pair is in RESET. The error is that of the first transition that is refused.
Result<void, Error> connect(const ConnectionEnd& end, const Options& options);

}  // namespace urnic::sim
