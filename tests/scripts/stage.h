// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Stage: one endpoint with everything around it that a script speaks of.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/scripts/memory.h"
#include "tests/scripts/packet_text.h"
#include "tests/scripts/script.h"
#include "transport/counters.h"
#include "transport/dependencies.h"
#include "transport/endpoint.h"
#include "transport/qp_config.h"
#include "transport/receive_queue.h"
#include "transport/send_queue.h"

namespace urnic::scripts {

/// What the settings of a script say, and what holds without them.
struct Settings {
  struct SharedQueue {
    std::uint32_t number = 0;
    std::optional<std::uint32_t> pd;
  };
  struct Region {
    std::string name;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    std::uint32_t key = 0;
    transport::Access rights{};
    std::optional<std::uint32_t> pd;
  };
  struct Window {
    std::string name;
    std::uint32_t key = 0;
    unsigned type = 1;
  };

  Settings();

  transport::QpConfig config;
  transport::QpState start = transport::QpState::kReadyToSend;
  bool is_xrc_target = true;
  bool shares_receives = false;
  std::vector<SharedQueue> xrc_queues;
  std::vector<Region> regions;
  std::vector<Window> windows;
};

/// Everything that came out and was not yet looked at, stream by stream.
struct Outputs {
  struct Packet {
    PacketFields fields;
    std::string fault;
    std::uint32_t address_handle = 0;
  };
  struct Received {
    transport::Completion completion;
    std::optional<std::uint32_t> srq;
  };

  std::deque<Packet> packets;
  std::deque<transport::Completion> send_completions;
  std::deque<Received> receive_completions;
  std::deque<std::string> events;
};

class Stage final : private transport::QpEventSink,
                    private transport::LimitSink,
                    private transport::XrcReceivers {
 public:
  static constexpr std::uint32_t kQueueDepth = 64;
  static constexpr std::uint32_t kInlineBytes = 256;
  /// Packets that come and go and timers that expire, in one script.
  static constexpr int kMostSteps = 20'000;

  explicit Stage(const Settings& settings);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Whether there is an endpoint for the service; otherwise nothing else may be called.
  bool is_set() const { return endpoint_ != nullptr; }

  transport::Endpoint& endpoint() { return *endpoint_; }
  transport::QpConfig& config() { return settings_.config; }
  const Settings& settings() const { return settings_; }
  ScriptMemory& memory() { return memory_; }
  transport::SendQueue& send_queue() { return send_queue_; }
  /// The queue pair's own, or the XRC queue of this number; null if there is none.
  transport::ReceiveQueue* receive_queue(std::optional<std::uint64_t> srq_number);
  void arm_limit(transport::ReceiveQueue& queue, std::uint32_t limit) { queue.arm_limit(limit, this); }
  const transport::Counters& counters() const { return counters_; }
  Outputs& outputs() { return outputs_; }

  transport::Time now() const { return now_; }
  /// What happened, line by line, with times.
  const std::deque<std::string>& ladder() const { return ladder_; }
  void note(std::string_view text);

  // Each of these returns what went wrong with the run itself.

  /// Gives the packet's bytes to the endpoint; it may answer at drain().
  std::optional<std::string> arrive(const PacketFields& packet, std::span<const std::byte> network_header);
  /// Takes everything that the endpoint wants to send now.
  std::optional<std::string> drain();
  /// Lets time pass; timers that expire on the way do so at their time.
  std::optional<std::string> pass(transport::Duration duration);
  /// A legal step of modify_qp; config() has its attributes.
  std::optional<std::string> modify(transport::QpState to);

 private:
  class SendSink final : public transport::CompletionSink {
   public:
    explicit SendSink(Stage& stage) : stage_(stage) {}
    void complete(const transport::Completion& completion) override;

   private:
    Stage& stage_;
  };
  class ReceiveSink final : public transport::CompletionSink {
   public:
    ReceiveSink(Stage& stage, std::optional<std::uint32_t> srq) : stage_(stage), srq_(srq) {}
    void complete(const transport::Completion& completion) override;

   private:
    Stage& stage_;
    std::optional<std::uint32_t> srq_;
  };
  struct XrcQueue {
    XrcQueue(Stage& stage, std::uint32_t number, transport::PdId pd);
    transport::ReceiveQueue queue;
    ReceiveSink sink;
    transport::ReceiveEnd end;
  };

  void on_qp_event(transport::QpNumber qp, transport::QpEvent event) override;
  void on_limit_reached() override;
  const transport::ReceiveEnd* find(std::uint32_t srq_number) override;

  /// False once the script has used up all the packets and timers that one may have.
  bool may_go_on() { return budget_ > 0 && --budget_ > 0; }
  void take_packet(std::span<const std::byte> bytes, std::uint32_t address_handle);
  std::string find_fault(const PacketFields& packet) const;

  Settings settings_;
  ScriptMemory memory_;
  transport::SendQueue send_queue_;
  transport::ReceiveQueue receive_queue_;
  SendSink send_sink_{*this};
  ReceiveSink receive_sink_{*this, std::nullopt};
  std::map<std::uint32_t, std::unique_ptr<XrcQueue>> xrc_queues_;
  transport::Counters counters_;
  Outputs outputs_;
  std::deque<std::string> ladder_;
  int budget_ = kMostSteps;
  transport::Time now_{std::chrono::seconds(1)};
  std::unique_ptr<transport::Endpoint> endpoint_;
};

/// As the ladder and failures show it.
std::string describe(const transport::Completion& completion, std::string_view word);

}  // namespace urnic::scripts
