// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Stage: an endpoint of ours with everything around it that a replay needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tools/conformance/check/packets/opcode.h"
#include "tools/conformance/replay/direction.h"
#include "transport/counters.h"
#include "transport/dependencies.h"
#include "transport/dma.h"
#include "transport/endpoint.h"
#include "transport/qp_config.h"
#include "transport/receive_queue.h"
#include "transport/send_queue.h"

namespace urnic::replay {

/// The product's name of a service that can be played.
transport::wire::Service service_of(check::Service service);
/// When the replay begins, `first_ns` of the capture.
transport::Time time_of(std::int64_t time_ns, std::int64_t first_ns);

/// Keeps what completes.
class Completions final : public transport::CompletionSink {
 public:
  void complete(const transport::Completion& completion) override { all.push_back(completion); }
  std::vector<transport::Completion> all;
};

/// One endpoint in RTS, driven by hand: packets in, packets out, time as an argument. `dma` must outlive it.
class Stage final : private transport::QpEventSink {
 public:
  /// `sends` is the most work requests that are posted to it.
  Stage(transport::Dma& dma, const transport::QpConfig& config, std::size_t sends);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  transport::Endpoint& endpoint() { return *endpoint_; }
  const transport::Endpoint& endpoint() const { return *endpoint_; }
  const transport::Counters& counters() const { return counters_; }

  /// Gives it a packet; false when the product's parser refuses that.
  bool give(const CapturedPacket& packet, transport::Time now);
  /// The next packet that it sends now, BTH to padding; empty if it has none. Good until the next call.
  std::span<const std::byte> take(transport::Time now);
  /// Begins again with config.send_psn.
  void restart(const transport::QpConfig& config);

  void post_send(const transport::SendRequest& request, const transport::Sge& element);
  void post_receive(const transport::Sge& element);
  bool has_receive() const { return !receive_queue_.is_empty(); }

  const std::vector<transport::Completion>& sends() const { return send_completions_.all; }
  const std::vector<transport::Completion>& receives() const { return receive_completions_.all; }

 private:
  void on_qp_event(transport::QpNumber, transport::QpEvent) override {}

  transport::SendQueue send_queue_;
  transport::ReceiveQueue receive_queue_;
  Completions send_completions_;
  Completions receive_completions_;
  transport::Counters counters_;
  std::vector<std::byte> room_;
  std::unique_ptr<transport::Endpoint> endpoint_;
};

}  // namespace urnic::replay
