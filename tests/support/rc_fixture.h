// RcTest: one reliable connection endpoint, with its memory, queues and sinks, driven by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/fake_dma.h"
#include "tests/support/rc_builders.h"
#include "tests/support/recording_sinks.h"
#include "transport/counters.h"
#include "transport/qp_config.h"
#include "transport/rc/endpoint.h"
#include "transport/receive_queue.h"
#include "transport/send_queue.h"

namespace urnic::transport::test {

/// A test is the peer, the program and the clock. Every input is followed by the drain that the contract of
/// Endpoint asks for, and every packet that comes out is checked for what holds of all packets: MigReq,
/// P_Key, padding, destination, and that nothing was written behind it.
class RcTest : public ::testing::Test {
 protected:
  static constexpr QpNumber kOurQp{0x11};
  static constexpr QpNumber kPeerQp{0x22};
  static constexpr PdId kPd{7};
  static constexpr std::uint32_t kRegionBytes = 0x10000;
  static constexpr std::uint32_t kMtu = 1024;
  static constexpr std::uint32_t kInlineBytes = 64;

  RcTest();

  /// The first PSN expected is 100, the first sent 200; the peer may read and write; path MTU 1024.
  QpConfig config_;

  /// Takes the endpoint through INIT and RTR to RTS with `config_`, or just up to one of them.
  void connect();
  void connect_to_init();
  void connect_to_rtr();

  // --- The peer ---

  /// The packets arrive in one burst, then the endpoint may answer.
  void peer_sends(std::initializer_list<RcPacket> burst);
  void peer_sends(const std::vector<RcPacket>& burst);
  void peer_sends(const RcPacket& packet) { peer_sends({packet}); }
  /// The packet arrives, and nothing has been sent yet.
  void arrives(const RcPacket& packet) { endpoint_.on_packet(packet.view(kOurQp), now_); }

  /// Everything sent since the last call.
  std::vector<RcPacket> sent();
  /// The next packet only, of an endpoint that was not drained: none when there is nothing to send.
  std::optional<RcPacket> poll_one();
  /// Lets the endpoint send what it wants, for sent() to return.
  void drain();

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

  // --- The clock ---

  /// Lets time pass; timers that expire on the way do so at their time.
  void pass(Duration duration);
  /// Goes to the next deadline, whatever it is.
  void pass_to_timeout();
  /// How long until the next deadline; none when no timer runs.
  std::optional<Duration> until_timeout() const;

  std::uint64_t count(Counter counter) const { return counters_.value(counter); }

  FakeDma dma_;
  SendQueue send_queue_{{.work_requests = 64, .sges = 4, .inline_bytes = kInlineBytes}};
  ReceiveQueue receive_queue_{{.work_requests = 64, .sges = 4}};
  RecordingCompletionSink send_completions_;
  RecordingCompletionSink receive_completions_;
  RecordingQpEventSink events_;
  Counters counters_;
  RcEndpoint endpoint_;
  Time now_{std::chrono::seconds(1)};

 private:
  void expire_timer();

  std::vector<std::byte> buffer_;
  std::vector<RcPacket> sent_;
  std::uint64_t next_receive_address_ = kReceiveAddress;
};

/// 4.096 us x 2^code (fact 36).
constexpr Duration ack_timeout(unsigned code) {
  return Duration(4096) * (std::int64_t{1} << code);
}

}  // namespace urnic::transport::test
