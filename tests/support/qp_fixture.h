// QpTest: what a test of one endpoint needs besides the endpoint: memory, queues and sinks, driven by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/fake_dma.h"
#include "tests/support/rc_builders.h"
#include "tests/support/recording_sinks.h"
#include "transport/counters.h"
#include "transport/dependencies.h"
#include "transport/endpoint.h"
#include "transport/qp_config.h"
#include "transport/receive_queue.h"
#include "transport/send_queue.h"

namespace urnic::transport::test {

/// A test is the peer, the program and the clock. Every input is followed by the drain that the contract of
/// Endpoint asks for, and every packet that comes out is checked for what holds of all packets: MigReq,
/// P_Key, padding, and that nothing was written behind it.
class QpTest : public ::testing::Test {
 protected:
  static constexpr QpNumber kOurQp{0x11};
  static constexpr QpNumber kPeerQp{0x22};
  static constexpr PdId kPd{7};
  static constexpr std::uint32_t kRegionBytes = 0x10000;
  static constexpr std::uint32_t kMtu = 1024;
  static constexpr std::uint32_t kInlineBytes = 64;

  QpTest();

  virtual Endpoint& endpoint() = 0;
  /// What the endpoint is made of.
  QpDependencies dependencies(bool shares_receive_queue = false);

  /// The first PSN expected is 100, the first sent 200; the peer may read and write; path MTU 1024.
  QpConfig config_;

  /// Takes the endpoint through INIT and RTR to RTS with `config_`, or just up to one of them.
  void connect();
  void connect_to_init();
  void connect_to_rtr();

  // --- What leaves ---

  /// The next packet only, from BTH to padding, of an endpoint that was not drained: none when there is
  /// nothing to send.
  std::optional<Bytes> poll_bytes();
  /// Lets the endpoint send what it wants, for sent_bytes() to return.
  void drain();
  /// Everything sent by drain() since the last call.
  std::vector<Bytes> sent_bytes();

  // --- The program ---

  /// Posts one batch and rings the doorbell.
  void post(std::initializer_list<SendWr> batch);
  void post(const SendWr& wr) { post({wr}); }
  /// Posts without a doorbell: the endpoint is not polled.
  void post_quietly(const SendWr& wr);

  /// Posts receives of `length` bytes with the work request ids given, one behind the other in the receive
  /// region.
  void post_receives(std::initializer_list<std::uint64_t> wr_ids, std::uint32_t length = 4096);
  void post_receive(std::uint64_t wr_id, const std::vector<Sge>& elements);

  std::vector<Completion> send_completions() { return send_completions_.take(); }
  std::vector<Completion> receive_completions() { return receive_completions_.take(); }
  std::vector<QpEvent> events() { return events_.take(); }

  /// Memory the peer may reach, our own, and that of receives.
  Bytes shared_memory(std::uint64_t offset, std::size_t size) const;
  Bytes local_memory(std::uint64_t offset, std::size_t size) const;
  Bytes receive_memory(std::uint64_t offset, std::size_t size) const;
  bool shared_memory_is_untouched() const { return dma_.is_untouched(to_integer(kShared.rkey)); }
  bool receive_memory_is_untouched() const { return dma_.is_untouched(to_integer(kReceiveKey)); }

  std::uint64_t count(Counter counter) const { return counters_.value(counter); }

  FakeDma dma_;
  SendQueue send_queue_{{.work_requests = 64, .sges = 4, .inline_bytes = kInlineBytes}};
  ReceiveQueue receive_queue_{{.work_requests = 64, .sges = 4}};
  RecordingCompletionSink send_completions_;
  RecordingCompletionSink receive_completions_;
  RecordingQpEventSink events_;
  Counters counters_;
  Time now_{std::chrono::seconds(1)};

 private:
  std::vector<std::byte> buffer_;
  std::vector<Bytes> sent_;
  std::uint64_t next_receive_address_ = kReceiveAddress;
};

/// A packet that an endpoint sent; a failure and nothing if it is not one.
std::optional<wire::Packet> parse_sent(const Bytes& bytes);

}  // namespace urnic::transport::test
