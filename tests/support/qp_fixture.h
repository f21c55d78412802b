// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// QpTest: one endpoint of any service, with its memory, queues and sinks, driven by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/fake_dma.h"
#include "tests/support/fake_withdrawn_keys.h"
#include "tests/support/qp_packets.h"
#include "tests/support/recording_sinks.h"
#include "tests/support/work_requests.h"
#include "transport/counters.h"
#include "transport/dependencies.h"
#include "transport/endpoint.h"
#include "transport/qp_config.h"
#include "transport/receive_queue.h"
#include "transport/send_queue.h"
#include "transport/time.h"
#include "transport/wire/opcode.h"

namespace urnic::transport::test {

/// A test is the peer, the program and the clock. Every input is followed by the drain that the contract of
/// Endpoint requires. Every packet that comes out is checked for what holds of all packets: MigReq, P_Key,
/// padding, and that the endpoint wrote nothing beyond its end.
class QpTest : public ::testing::Test {
 protected:
  static constexpr QpNumber kOurQp{0x11};
  static constexpr QpNumber kPeerQp{0x22};
  static constexpr PdId kPd{7};
  static constexpr std::uint32_t kRegionBytes = 0x10000;
  static constexpr std::uint32_t kMtu = 1024;
  static constexpr std::uint32_t kInlineBytes = 64;
  static constexpr std::uint32_t kQkey = 0x11111111;

  explicit QpTest(wire::Service service, bool shares_receive_queue = false);

  /// What the endpoint is made of.
  QpDependencies dependencies(bool shares_receive_queue = false);

  /// The first PSN expected is 100, the first sent 200; the peer may read and write; path MTU 1024. Datagrams
  /// have no peer.
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
  std::vector<QpPacket> sent();
  /// As poll_bytes().
  std::optional<QpPacket> poll_one();

  // --- The peer ---

  /// Headers that packets came with; the bytes do not repeat.
  static Bytes ipv4_header() { return payload(20, 4); }
  static Bytes ipv6_header() { return payload(40, 6); }

  /// The packet arrives, and nothing has been sent yet. On an unreliable connection it is made one of that.
  void arrives(const QpPacket& packet, const Bytes& network_header = ipv4_header());
  /// The packets arrive in one burst, then the endpoint may answer, if its service does.
  void peer_sends(const std::vector<QpPacket>& burst, const Bytes& network_header = ipv4_header());
  void peer_sends(std::initializer_list<QpPacket> burst) { peer_sends(std::vector<QpPacket>(burst)); }
  void peer_sends(const QpPacket& packet) { peer_sends({packet}); }

  // --- The clock ---

  /// Lets time pass; timers that expire on the way do so at their time.
  void pass(Duration duration);
  /// Goes to the next deadline, whatever it is.
  void pass_to_timeout();
  /// How long until the next deadline; none when no timer runs.
  std::optional<Duration> until_timeout() const;

  // --- The program ---

  /// Posts one batch and rings the doorbell.
  void post(std::initializer_list<SendWr> batch);
  void post(const SendWr& wr) { post({wr}); }
  /// Posts without a doorbell: the endpoint is not polled.
  void post_quietly(const SendWr& wr);

  /// Posts receives of `length` bytes with the given work request ids, one after the other in the receive
  /// region.
  void post_receives(std::initializer_list<std::uint64_t> wr_ids, std::uint32_t length = 4096);
  void post_receive(std::uint64_t wr_id, const std::vector<Sge>& elements);

  std::vector<Completion> send_completions() { return send_completions_.take(); }
  std::vector<Completion> receive_completions() { return receive_completions_.take(); }
  std::vector<QpEvent> events() { return events_.take(); }

  /// What is sent from the start of our own memory.
  void fill_local_memory(const Bytes& bytes) { dma_.write(to_integer(kLocalKey), kLocalAddress, bytes); }
  /// The memory that the peer may reach, our own, and the memory of receives.
  Bytes shared_memory(std::uint64_t offset, std::size_t size) const;
  Bytes local_memory(std::uint64_t offset, std::size_t size) const;
  Bytes receive_memory(std::uint64_t offset, std::size_t size) const;
  bool shared_memory_is_untouched() const { return dma_.is_untouched(to_integer(kShared.rkey)); }
  bool receive_memory_is_untouched() const { return dma_.is_untouched(to_integer(kReceiveKey)); }

  std::uint64_t count(Counter counter) const { return counters_.value(counter); }

  FakeDma dma_;
  FakeWithdrawnKeys withdrawn_keys_;
  SendQueue send_queue_{{.work_requests = 64, .sges = 4, .inline_bytes = kInlineBytes}};
  ReceiveQueue receive_queue_{{.work_requests = 64, .sges = 4}};
  RecordingCompletionSink send_completions_;
  RecordingCompletionSink receive_completions_;
  RecordingQpEventSink events_;
  Counters counters_;
  Time now_{std::chrono::seconds(1)};
  /// Packets leave as they do on a link that takes runs, but one by one.
  bool link_takes_runs_ = false;

 private:
  void expire_timer();
  QpPacket value_of_sent(const Bytes& bytes) const;
  bool acknowledges() const { return config_.service == wire::Service::kRc; }

  std::unique_ptr<Endpoint> owned_endpoint_;
  std::vector<std::byte> buffer_;
  std::vector<Bytes> sent_;
  std::uint64_t next_receive_address_ = kReceiveAddress;

 protected:
  Endpoint& endpoint_ = *owned_endpoint_;
};

class RcTest : public QpTest {
 protected:
  RcTest() : QpTest(wire::Service::kRc) {}
};

/// Tests name packets by the reliable connection's builders; what the peer sends is made UC's.
class UcTest : public QpTest {
 protected:
  explicit UcTest(bool shares_receive_queue = false) : QpTest(wire::Service::kUc, shares_receive_queue) {}
};

class UdTest : public QpTest {
 protected:
  static constexpr AddressHandleId kPeerAddress{5};

  explicit UdTest(bool shares_receive_queue = false) : QpTest(wire::Service::kUd, shares_receive_queue) {}

  /// A datagram from the peer to us, PSN 0.
  static QpPacket datagram(Bytes payload);
  /// A datagram from us to the peer.
  static QpPacket to_peer(Psn psn, Bytes payload);
  /// A SEND of `length` bytes to the peer.
  static SendWr datagram_wr(std::uint64_t wr_id, std::uint32_t length, std::uint32_t qkey = kQkey);
};

/// 4.096 us x 2^code (fact 36).
constexpr Duration ack_timeout(unsigned code) {
  return Duration(4096) * (std::int64_t{1} << code);
}

}  // namespace urnic::transport::test
