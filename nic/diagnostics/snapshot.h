// DeviceSnapshot: what a device is and does at one moment, as a value.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "nic/queues/qp_type.h"
#include "transport/endpoint.h"
#include "transport/qp_state.h"
#include "transport/types.h"
#include "transport/wire/address.h"

namespace urnic::nic {

class Device;

struct QueuePairSnapshot {
  transport::QpNumber number{};
  QpType type = QpType::kRc;
  transport::QpState state = transport::QpState::kReset;
  transport::QpNumber peer_qp{};      ///< 0 without a peer, which datagrams have not
  transport::wire::Gid peer{};        ///< unspecified without a peer
  transport::Psn send_psn;            ///< the next one to be sent
  transport::Psn receive_psn;         ///< the next one expected
  std::uint32_t msn = 0;              ///< requests completed as a responder, 24 bits
  std::uint32_t sends_posted = 0;     ///< work requests that are not complete
  std::uint32_t receives_posted = 0;  ///< in a queue of its own; 0 if it shares one
  transport::SendProgress progress{};
  std::uint8_t retry_count = 0;  ///< what is allowed of progress.retries_used
  std::uint8_t rnr_retry = 0;    ///< and of progress.rnr_retries_used; 7 is for ever (fact 37)
  std::uint8_t ack_timeout = 0;  ///< code: 4.096 us x 2^code; 0 never times out (fact 36)
  std::uint32_t path_mtu = 0;    ///< bytes
};

struct DeviceSnapshot {
  std::string program;  ///< the name that it was started by, without folders; any bytes
  std::int64_t pid = 0;
  std::string device;
  std::string port;  ///< see PortSpec::to_string()
  std::string mac;
  std::vector<transport::wire::Gid> gids;  ///< those in use, in the order of their indexes
  std::uint32_t link_mtu = 0;              ///< bytes of the largest IP packet
  std::int64_t uptime_ns = 0;              ///< since the device was made
  bool is_started = false;                 ///< the port is open
  std::uint64_t completion_queues = 0;
  std::uint64_t shared_receive_queues = 0;
  std::uint64_t memory_regions = 0;
  std::uint64_t memory_windows = 0;
  std::vector<std::pair<std::string, std::uint64_t>> counters;  ///< all of Device::all_counters()
  std::vector<QueuePairSnapshot> queue_pairs;                   ///< in no particular order
};

/// Looks at the device, from any thread. The engine lock is held for a few dozen queue pairs at a time and
/// nothing is allocated meanwhile, so that traffic goes on between; what is said of two queue pairs need not
/// be of the same moment. Not in the child of a fork. Throws std::bad_alloc.
DeviceSnapshot take_snapshot(Device& device);

}  // namespace urnic::nic
