// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Connection: a pair of queue pairs over which one host carries out its steps towards another one, in their
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "tools/simulation/experiment/machine.h"
#include "tools/simulation/experiment/workload.h"

namespace urnic::experiment {

/// Immediate data: which step's message has arrived, and whether it is the last one.
struct Notice {
  static constexpr std::uint32_t kLast = 1u << 31;

  std::uint32_t step = 0;
  bool is_last = false;

  std::uint32_t to_immediate() const { return step | (is_last ? kLast : 0); }
  static Notice of(std::uint32_t immediate) {
    return {.step = immediate & ~kLast, .is_last = (immediate & kLast) != 0};
  }
};

class Connection {
 public:
  struct Ends {
    HostId host{};  ///< posts the steps
    HostId peer{};
    std::uint8_t dscp = 0;
    std::uint32_t sends = 0;  ///< messages posted at once, of the step that wants most
  };
  Connection(const Workload& workload, const Ends& ends, Machine& machine, Machine& peer);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  const Ends& ends() const { return ends_; }
  transport::QpNumber requester() const { return requester_->number(); }
  transport::QpNumber responder() const { return responder_->number(); }
  nic::QueuePairSnapshot snapshot() const { return requester_->snapshot(); }

  /// Posts the step's messages, after the messages of earlier steps.
  void add(std::size_t step);

  struct Completed {
    std::size_t step = 0;
    std::uint32_t bytes = 0;
    bool is_last = false;  ///< the step is complete
  };
  /// The requester's oldest message is complete.
  Completed on_complete();
  /// The responder has used one of its receives.
  void replace_receive();
  /// Payload that is acknowledged, or answered, by what snapshot() says; whole packets of a message that is
  /// not complete.
  std::uint64_t acknowledged_bytes(const nic::QueuePairSnapshot& requester) const;

 private:
  struct Waiting {
    std::size_t step = 0;
    std::uint64_t bytes_left = 0;
  };
  void post();
  void post_message(const Step& step, Completed message);

  const Workload& workload_;
  Ends ends_;
  Machine& machine_;
  Machine& peer_;
  std::unique_ptr<nic::QueuePair> requester_;
  std::unique_ptr<nic::QueuePair> responder_;
  std::deque<Waiting> waiting_;      // of which something is not posted yet
  std::deque<Completed> in_flight_;  // posted, as they will complete
  std::uint64_t completed_bytes_ = 0;
  std::uint32_t completed_packets_ = 0;  // modulo 2^32: how many PSNs they had
};

}  // namespace urnic::experiment
