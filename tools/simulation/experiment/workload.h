// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Workload: what hosts do in an experiment: messages to each other, computations, and what waits for what.
// Plain values; workload_file.h reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "drivers/fault/fault_spec.h"
#include "drivers/network/topology.h"
#include "nic/congestion/choice_text.h"
#include "transport/qp_config.h"
#include "transport/time.h"
#include "transport/types.h"

namespace urnic::experiment {

using network::HostId;
using transport::Duration;
using transport::Time;

enum class Operation : std::uint8_t {
  kWrite,               ///< RDMA WRITEs; the last one has immediate data, so that the receiver knows
  kWriteWithImmediate,  ///< every message has
  kSend,
  kRead,
  kCompute,  ///< nothing is sent: the host works for Step::duration
};

/// One thing that one host does. It begins when all steps before it are over as far as its host can know:
/// those that it began itself are complete, and what others sent to it has arrived.
struct Step {
  Operation operation = Operation::kWrite;
  HostId host{};                     ///< who posts it; of a READ who gets the data
  HostId peer{};                     ///< the other side
  std::size_t job = 0;               ///< in Workload::jobs
  std::uint64_t bytes = 0;           ///< of all messages together
  std::vector<std::size_t> after{};  ///< steps before it, each of which `host` takes part in
  Duration duration{};               ///< of kCompute
};

/// Steps of one kind, and how they are carried out.
struct Job {
  std::string name;
  Duration start{};                   ///< its steps without steps before them begin then
  std::uint32_t message_bytes = 0;    ///< longest message, 1 or more
  std::uint32_t messages_posted = 0;  ///< on one connection at once, 1 or more
  std::uint32_t elements = 1;         ///< scatter/gather elements of a message
  std::uint8_t dscp = 0;
};

struct Workload {
  static constexpr std::size_t kMaxSteps = 1'000'000;
  static constexpr std::size_t kMaxBefore = 8'000'000;  ///< of all steps together
  static constexpr std::uint32_t kMaxMessageBytes = 64 * 1024 * 1024;
  static constexpr std::uint32_t kMaxMessagesPosted = 4096;

  std::string name;
  transport::PathMtu path_mtu = transport::PathMtu::k4096;
  nic::CongestionOptions congestion;
  /// ACK timeout: 4.096 us x 2^code (fact 36); 0: none.
  std::uint8_t ack_timeout = 14;
  std::uint8_t retry_count = 7;
  std::uint32_t window_packets = 128;  ///< which a queue pair has in flight at most
  transport::Recovery recovery = transport::Recovery::kGoBackN;
  Duration until{};  ///< when the experiment ends, over or not; 0: when it is over
  std::map<HostId, drivers::FaultSpec> faults;
  std::vector<Job> jobs;
  std::vector<Step> steps;
};

}  // namespace urnic::experiment
