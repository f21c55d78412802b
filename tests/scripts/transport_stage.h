// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// TransportStage: a stage around one endpoint of the transport, on a clock of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/scripts/memory.h"
#include "tools/conformance/player/runner.h"
#include "tools/conformance/player/stage.h"
#include "transport/dependencies.h"
#include "transport/endpoint.h"
#include "transport/receive_queue.h"
#include "transport/send_queue.h"

namespace urnic::scripts {

class TransportStage final : public Stage,
                             private transport::QpEventSink,
                             private transport::LimitSink,
                             private transport::XrcReceivers {
 public:
  /// Packets that come and go and timers that expire, in one script.
  static constexpr int kMostSteps = 20'000;

  explicit TransportStage(const Settings& settings);

  /// Whether there is an endpoint for the service; otherwise nothing else may be called.
  bool is_set() const { return endpoint_ != nullptr; }

  void note(std::string_view text) override;
  std::optional<Trouble> post(const transport::SendRequest& request, std::span<const transport::Sge> elements,
                              bool is_inline) override;
  std::optional<Trouble> receive(std::optional<std::uint64_t> srq, std::uint64_t wr_id,
                                 std::span<const transport::Sge> elements) override;
  std::optional<Trouble> arm_limit(std::optional<std::uint64_t> srq, std::uint32_t limit) override;
  std::optional<Trouble> modify(transport::QpState to) override;
  std::optional<Trouble> deregister(const std::string& region) override;
  std::optional<Trouble> change_rights(const std::string& region, transport::Access rights) override;
  std::optional<Trouble> store(const Place& place, std::span<const std::byte> bytes) override;

  /// Gives the packet's bytes to the endpoint; it may answer at drain().
  std::optional<Trouble> arrive(const PacketFields& packet,
                                std::span<const std::byte> network_header) override;
  /// Takes everything that the endpoint wants to send now.
  std::optional<Trouble> drain() override;
  /// Timers that expire on the way do so at their time.
  std::optional<Trouble> pass(transport::Duration duration) override;

  Result<Octets, Trouble> load(const Place& place, std::size_t length) override;
  std::optional<RemotePlace> window(const std::string& name) override;
  Result<transport::QpState, Trouble> state() override { return endpoint_->state(); }
  Result<Psns, Trouble> psns() override;
  Result<std::optional<transport::Duration>, Trouble> next_timer() override;
  Result<std::uint64_t, Trouble> counter(transport::Counter counter, std::uint64_t) override {
    return counters_.value(counter);
  }
  std::vector<FlushRecord>* flushes() override { return &memory_.flushes(); }

 private:
  class SendSink final : public transport::CompletionSink {
   public:
    explicit SendSink(TransportStage& stage) : stage_(stage) {}
    void complete(const transport::Completion& completion) override;

   private:
    TransportStage& stage_;
  };
  class ReceiveSink final : public transport::CompletionSink {
   public:
    ReceiveSink(TransportStage& stage, std::optional<std::uint32_t> srq) : stage_(stage), srq_(srq) {}
    void complete(const transport::Completion& completion) override;

   private:
    TransportStage& stage_;
    std::optional<std::uint32_t> srq_;
  };
  struct XrcQueue {
    XrcQueue(TransportStage& stage, std::uint32_t number, transport::PdId pd);
    transport::ReceiveQueue queue;
    ReceiveSink sink;
    transport::ReceiveEnd end;
  };

  void on_qp_event(transport::QpNumber qp, transport::QpEvent event) override;
  void on_limit_reached() override;
  const transport::ReceiveEnd* find(std::uint32_t srq_number) override;

  /// False once the script has used up all the packets and timers that one may have.
  bool may_go_on() { return budget_ > 0 && --budget_ > 0; }
  /// The queue pair's own, or the XRC queue of this number; null if there is none.
  transport::ReceiveQueue* receive_queue(std::optional<std::uint64_t> srq_number);
  std::optional<Trouble> copy_inline(const transport::SendRequest& request,
                                     std::span<const transport::Sge> elements, std::uint32_t length);
  void take_packet(std::span<const std::byte> bytes, std::uint32_t address_handle);

  ScriptMemory memory_;
  transport::SendQueue send_queue_;
  transport::ReceiveQueue receive_queue_;
  SendSink send_sink_{*this};
  ReceiveSink receive_sink_{*this, std::nullopt};
  std::map<std::uint32_t, std::unique_ptr<XrcQueue>> xrc_queues_;
  transport::Counters counters_;
  int budget_ = kMostSteps;
  transport::Time now_{std::chrono::seconds(1)};
  std::unique_ptr<transport::Endpoint> endpoint_;
};

/// Bounded in time and memory, whatever the script says.
Outcome run_script(const Script& script);

/// Does what the script does and checks no result; skips what cannot be done. For fuzzing.
void play_script(const Script& script);

}  // namespace urnic::scripts
