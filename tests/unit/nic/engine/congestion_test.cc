// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Two devices and congestion: marks are counted and answered by CNPs, CNPs are obeyed, requests and READ data
// are paced and other answers are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <set>
#include <vector>

#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "tests/unit/nic/device_pair.h"
#include "transport/wire/frame.h"
#include "transport/wire/internet_checksum.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using transport::SendOperation;
using transport::congestion::DcqcnParameters;
using transport::congestion::FixedParameters;
using transport::wire::Opcode;
using Bytes = FakeWire::Bytes;

constexpr std::size_t kIpAt = 14;
constexpr std::size_t kBthAt = kIpAt + 20 + 8;

bool is_roce(const Bytes& frame) {
  return transport::wire::parse_frame(frame).has_value();
}
Opcode opcode_of(const Bytes& frame) {
  return static_cast<Opcode>(frame.at(kBthAt));
}
std::vector<Bytes> cnps(const std::vector<Bytes>& frames) {
  std::vector<Bytes> found;
  std::ranges::copy_if(frames, std::back_inserter(found),
                       [](const Bytes& frame) { return is_roce(frame) && opcode_of(frame) == Opcode::kCnp; });
  return found;
}

/// As a switch marks it: both ECN bits, and a right checksum of the IPv4 header.
Bytes marked(Bytes frame) {
  frame[kIpAt + 1] |= std::byte{3};
  frame[kIpAt + 10] = frame[kIpAt + 11] = std::byte{0};
  transport::wire::InternetChecksum sum;
  sum.add(std::span<const std::byte>(frame).subspan(kIpAt, 20));
  const std::uint16_t checksum = sum.value();
  frame[kIpAt + 10] = static_cast<std::byte>(checksum >> 8);
  frame[kIpAt + 11] = static_cast<std::byte>(checksum & 0xff);
  return frame;
}

DevicePairOptions with_controller(transport::congestion::Choice choice) {
  DevicePairOptions options;
  options.congestion = {choice, {}};
  return options;
}

class CongestionTest : public testing::Test {
 protected:
  void start(const DevicePairOptions& options, std::uint8_t ack_timeout = 20) {
    pair_ = std::make_unique<DevicePair>(options);
    pair_->connect({.path_mtu = transport::PathMtu::k1024, .ack_timeout = ack_timeout});
  }
  /// From now on the network marks what this device sends, 0 or 1.
  void mark_frames_of(std::size_t device) {
    pair_->wire.is_lost = [this, device](std::size_t from, const Bytes& frame) {
      if (from != device || !is_roce(frame)) return false;
      pair_->wire.deliver(1 - device, marked(frame));
      return true;
    };
  }
  void mark_frames_of_a() { mark_frames_of(0); }
  void write(std::size_t bytes, std::uint64_t wr_id = 1) {
    pair_->a().post({.wr_id = wr_id,
                     .operation = SendOperation::kWrite,
                     .signaled = true,
                     .remote_address = pair_->b().region().address,
                     .rkey = transport::Rkey{pair_->b().region().key}},
                    0, bytes);
  }
  const std::vector<Bytes>& sent_by_b() const { return pair_->wire.sent_by(1); }

  std::unique_ptr<DevicePair> pair_;
};

TEST_F(CongestionTest, AMarkedPacketIsAnsweredByACnp) {
  start({});
  mark_frames_of_a();
  write(100);
  pair_->settle();
  EXPECT_EQ(pair_->a().poll_text(), "1 ok");
  EXPECT_EQ(pair_->b().counter("np_ecn_marked_roce_packets"), 1u);
  EXPECT_EQ(pair_->b().counter("np_cnp_sent"), 1u);
  EXPECT_EQ(cnps(sent_by_b()).size(), 1u);
  // There is no controller to obey it.
  EXPECT_EQ(pair_->a().counter("rp_cnp_ignored"), 1u);
  EXPECT_EQ(pair_->a().counter("rp_cnp_handled"), 0u);
}

TEST_F(CongestionTest, APacketWithoutMarkIsNot) {
  start({});
  write(100);
  pair_->settle();
  EXPECT_EQ(pair_->b().counter("np_cnp_sent"), 0u);
  EXPECT_THAT(cnps(sent_by_b()), testing::IsEmpty());
}

// All bytes but those that name the two ends, number packets, or sum up the rest.
TEST_F(CongestionTest, ACnpIsThatOfAConnectX) {
  const auto path = test::shared_captures() / "public" / "connectx4lx_cnp.pcap";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
  const auto frames = test::read_pcap(path);
  ASSERT_TRUE(frames) << frames.error().message;
  const Bytes captured = frames.value().at(0).bytes;
  start({});
  mark_frames_of_a();
  write(100);
  pair_->settle();
  const std::vector<Bytes> ours = cnps(sent_by_b());
  ASSERT_EQ(ours.size(), 1u);
  ASSERT_EQ(ours[0].size(), captured.size());
  const auto differs = [](std::size_t at) {
    const bool is_mac = at < 12;
    const bool is_id_or_sum = (at >= kIpAt + 4 && at < kIpAt + 6) || (at >= kIpAt + 10 && at < kIpAt + 20);
    const bool is_source_port = at >= kIpAt + 20 && at < kIpAt + 22;
    const bool is_qp = at >= kBthAt + 5 && at < kBthAt + 8;
    const bool is_icrc = at >= kBthAt + 28;
    return is_mac || is_id_or_sum || is_source_port || is_qp || is_icrc;
  };
  for (std::size_t at = 0; at < captured.size(); ++at) {
    if (!differs(at)) {
      EXPECT_EQ(ours[0][at], captured[at]) << "byte " << at;
    }
  }
  const auto parsed = transport::wire::parse_frame(ours[0]);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed.value().expected_icrc(), parsed.value().icrc);
}

TEST_F(CongestionTest, CnpsOfAQueuePairAreSpaced) {
  DevicePairOptions options;
  options.notifications.min_time_between_cnps = 50;
  start(options);
  mark_frames_of_a();
  write(8 * 1024);
  pair_->settle();
  EXPECT_EQ(pair_->b().counter("np_ecn_marked_roce_packets"), 8u);
  EXPECT_EQ(pair_->b().counter("np_cnp_sent"), 1u);
  pair_->clock.advance(49us);
  write(100);
  pair_->settle();
  EXPECT_EQ(pair_->b().counter("np_cnp_sent"), 1u);
  pair_->clock.advance(1us);
  write(100);
  pair_->settle();
  EXPECT_EQ(pair_->b().counter("np_cnp_sent"), 2u);
}

TEST_F(CongestionTest, CnpsAreSpacedByQueuePairOrByAddress) {
  for (const bool per_address : {false, true}) {
    DevicePairOptions options;
    options.notifications.per_address = per_address ? 1 : 0;
    start(options);
    pair_->connect();
    mark_frames_of_a();
    for (const std::size_t qp : {0, 1}) {
      pair_->a().post({.operation = SendOperation::kWrite,
                       .remote_address = pair_->b().region().address,
                       .rkey = transport::Rkey{pair_->b().region().key}},
                      0, 100, qp);
    }
    pair_->settle();
    EXPECT_EQ(pair_->b().counter("np_cnp_sent"), per_address ? 1u : 2u);
  }
}

TEST_F(CongestionTest, NoCnpsAreSentWhereThatIsSwitchedOff) {
  DevicePairOptions options;
  options.notifications.enable = 0;
  start(options);
  mark_frames_of_a();
  write(100);
  pair_->settle();
  EXPECT_EQ(pair_->b().counter("np_ecn_marked_roce_packets"), 1u);
  EXPECT_EQ(pair_->b().counter("np_cnp_sent"), 0u);
}

TEST_F(CongestionTest, ACnpIsNotAnsweredByACnp) {
  start({});
  pair_->wire.is_lost = [this](std::size_t from, const Bytes& frame) {
    const bool is_to_be_marked = is_roce(frame) && (from == 0 || opcode_of(frame) == Opcode::kCnp);
    if (is_to_be_marked) pair_->wire.deliver(1 - from, marked(frame));
    return is_to_be_marked;
  };
  write(100);
  pair_->settle();
  EXPECT_EQ(pair_->b().counter("np_cnp_sent"), 1u);
  EXPECT_EQ(pair_->a().counter("rp_cnp_ignored"), 1u);
  EXPECT_EQ(pair_->a().counter("np_cnp_sent"), 0u);
  EXPECT_EQ(pair_->a().counter("np_ecn_marked_roce_packets"), 0u);
}

TEST_F(CongestionTest, DcqcnObeysCnpsAndCutsItsRate) {
  start(with_controller({.parameters = DcqcnParameters{}, .line_rate = 1'000'000'000}));
  const auto rate = [this] { return pair_->a().qp().snapshot().congestion->allowance.rate; };
  EXPECT_EQ(rate(), 1'000'000'000u);
  mark_frames_of_a();
  write(100);
  pair_->settle();
  EXPECT_EQ(pair_->a().counter("rp_cnp_handled"), 1u);
  pair_->clock.advance(5us);
  EXPECT_LT(rate(), 600'000'000u);
  EXPECT_GE(rate(), 500'000'000u);
  // 300 us later it begins to rise again.
  pair_->clock.advance(10ms);
  EXPECT_GT(rate(), 900'000'000u);
}

TEST_F(CongestionTest, DcqcnSendsPacketsThatMayBeMarked) {
  start(with_controller({.parameters = DcqcnParameters{}}));
  write(100);
  pair_->settle();
  std::set<unsigned> ecn;
  for (const Bytes& frame : pair_->wire.sent_by(0)) {
    if (is_roce(frame)) ecn.insert(std::to_integer<unsigned>(frame[kIpAt + 1]) & 3u);
  }
  EXPECT_THAT(ecn, testing::ElementsAre(2u));  // ECT(0)
  // The peer has no controller.
  for (const Bytes& frame : sent_by_b()) {
    if (is_roce(frame)) {
      EXPECT_EQ(std::to_integer<unsigned>(frame[kIpAt + 1]) & 3u, 0u);
    }
  }
  EXPECT_EQ(pair_->a().qp().query().address->traffic_class, 0u) << "the program asked for none";
}

TEST_F(CongestionTest, RequestsLeaveAtTheRate) {
  start(with_controller({.parameters = FixedParameters{.rate = 100}}));
  const transport::Time begin = pair_->clock.now();
  constexpr std::size_t kBytes = 64 * 1024;
  write(kBytes);
  while (pair_->a().poll_text().empty() && pair_->clock.now() - begin < 1s) pair_->pass(100us);
  // 64 packets of 1024 bytes, headers and 70 bytes around each, at 100 Mb/s: 5.7 ms; 0.1 ms are given away,
  // and the last one waits for none.
  const transport::Duration took = pair_->clock.now() - begin;
  EXPECT_GE(took, 5400us);
  EXPECT_LT(took, 6100us);
}

// What `a` asks for, while `b` has requests of its own that wait.
class AnswersOfAPacedQueuePair : public CongestionTest {
 protected:
  void start_with_rate(std::uint32_t rate) {
    DevicePairOptions options;
    options.congestion = {transport::congestion::Choice{}, {.parameters = FixedParameters{.rate = rate}}};
    start(options);
  }
  void write_from_b(std::size_t bytes) {
    pair_->b().post({.wr_id = 8,
                     .operation = SendOperation::kWrite,
                     .signaled = true,
                     .remote_address = pair_->a().region().address,
                     .rkey = transport::Rkey{pair_->a().region().key}},
                    0, bytes);
  }
  void read_by_a(std::size_t bytes) { post_by_a(SendOperation::kRead, bytes); }
  void post_by_a(SendOperation operation, std::size_t bytes) {
    pair_->a().post({.wr_id = 7,
                     .operation = operation,
                     .signaled = true,
                     .remote_address = pair_->b().region().address,
                     .rkey = transport::Rkey{pair_->b().region().key}},
                    0, bytes);
  }
};

TEST_F(AnswersOfAPacedQueuePair, AcknowledgementsAndAtomicAnswersNeverWait) {
  start_with_rate(1);
  write_from_b(64 * 1024);
  pair_->settle();
  EXPECT_EQ(pair_->b().poll_text(), "");
  post_by_a(SendOperation::kWrite, 64 * 1024);
  pair_->settle();
  EXPECT_EQ(pair_->a().poll_text(), "7 ok");
  post_by_a(SendOperation::kFetchAdd, 8);
  pair_->settle();
  EXPECT_EQ(pair_->a().poll_text(), "7 ok");
}

// As RequestsLeaveAtTheRate: 5.7 ms.
TEST_F(AnswersOfAPacedQueuePair, ReadDataLeaveAtTheRate) {
  start_with_rate(100);
  const transport::Time begin = pair_->clock.now();
  read_by_a(64 * 1024);
  while (pair_->a().poll_text().empty() && pair_->clock.now() - begin < 1s) pair_->pass(100us);
  const transport::Duration took = pair_->clock.now() - begin;
  EXPECT_GE(took, 5400us);
  EXPECT_LT(took, 6100us);
}

TEST_F(AnswersOfAPacedQueuePair, RequestsAndReadDataTakeTurns) {
  start_with_rate(100);
  write_from_b(64 * 1024);
  read_by_a(64 * 1024);
  pair_->pass(9ms);
  EXPECT_EQ(pair_->a().poll_text(), "");
  EXPECT_EQ(pair_->b().poll_text(), "");
  pair_->pass(3ms);  // 11.4 ms are needed for both
  EXPECT_EQ(pair_->a().poll_text(), "7 ok");
  EXPECT_EQ(pair_->b().poll_text(), "8 ok");
}

TEST_F(AnswersOfAPacedQueuePair, ACnpSlowsReadDataDown) {
  DevicePairOptions options;
  options.congestion = {transport::congestion::Choice{},
                        {.parameters = DcqcnParameters{}, .line_rate = 1'000'000'000}};
  start(options);
  mark_frames_of(1);
  read_by_a(100);
  pair_->settle();
  EXPECT_EQ(pair_->a().poll_text(), "7 ok");
  EXPECT_EQ(pair_->a().counter("np_cnp_sent"), 1u);
  EXPECT_EQ(pair_->b().counter("rp_cnp_handled"), 1u);
  const transport::Time begin = pair_->clock.now();
  read_by_a(64 * 1024);
  while (pair_->a().poll_text().empty() && pair_->clock.now() - begin < 1s) pair_->pass(10us);
  EXPECT_GE(pair_->clock.now() - begin, 700us) << "it takes 570 us at the line rate";
}

TEST_F(CongestionTest, AQueuePairThatIsHeldBackEndsAtOnceInErr) {
  start(with_controller({.parameters = FixedParameters{.rate = 1}}));
  write(64 * 1024);
  pair_->settle();
  EXPECT_EQ(pair_->a().poll_text(), "");
  ASSERT_TRUE(pair_->a().qp().modify({.state = transport::QpState::kError}));
  pair_->settle();
  EXPECT_EQ(pair_->a().poll_text(), "1 flushed");
  EXPECT_EQ(pair_->a().qp().endpoint().next_timeout(), transport::kNever);
}

// A packet takes longer than the ACK timeout lasts; who asked only now and then for an ACK would take each
// for lost.
TEST_F(CongestionTest, ASlowRateIsNotTakenForLoss) {
  start(with_controller({.parameters = FixedParameters{.rate = 1}}), 8);
  write(16 * 1024);
  pair_->pass(1s);
  EXPECT_EQ(pair_->a().poll_text(), "1 ok");
  EXPECT_EQ(pair_->a().counter("local_ack_timeout_err"), 0u);
  EXPECT_EQ(pair_->b().counter("duplicate_request"), 0u);
}

// A small window must not close without an acknowledgement on its way.
TEST_F(CongestionTest, SwiftsWindowKeepsMoving) {
  start(with_controller({.parameters = transport::congestion::SwiftParameters{.max_window = 2 * 1024}}));
  write(256 * 1024);
  pair_->settle();
  EXPECT_EQ(pair_->a().poll_text(), "1 ok");
}

CongestionSettings dcqcn_of(std::uint32_t max_rate) {
  return {.choice = {.parameters = DcqcnParameters{.rpg_max_rate = max_rate}, .line_rate = 1'000'000'000},
          .notifications = {}};
}

TEST_F(CongestionTest, NewParametersReachQueuePairsThatRunAndThoseThatCome) {
  start(with_controller(dcqcn_of(0).choice));
  const auto rate = [this](std::size_t qp) {
    return pair_->a().qp(qp).snapshot().congestion->allowance.rate;
  };
  ASSERT_EQ(rate(0), 1'000'000'000u);
  ASSERT_TRUE(pair_->a().device().update_congestion(dcqcn_of(100)));
  EXPECT_EQ(rate(0), 100'000'000u);
  pair_->connect();
  EXPECT_EQ(rate(1), 100'000'000u);
  const CongestionSettings in_force = pair_->a().device().congestion();
  EXPECT_EQ(std::get<DcqcnParameters>(in_force.choice.parameters).rpg_max_rate, 100u);
}

TEST_F(CongestionTest, RequestsLeaveAtTheNewRate) {
  start(with_controller(dcqcn_of(10).choice));
  write(64 * 1024);
  pair_->pass(10ms);
  ASSERT_EQ(pair_->a().poll_text(), "");
  ASSERT_TRUE(pair_->a().device().update_congestion(dcqcn_of(100)));
  pair_->pass(6ms);  // 47 ms are left at the old rate, 4.7 at the new one
  EXPECT_EQ(pair_->a().poll_text(), "1 ok");
}

TEST_F(CongestionTest, ADeviceKeepsTheKindOfItsControllers) {
  for (const transport::congestion::Choice& kind :
       {transport::congestion::Choice{}, {.parameters = FixedParameters{.rate = 5}}}) {
    start(with_controller(kind));
    const auto updated = pair_->a().device().update_congestion(dcqcn_of(100));
    ASSERT_FALSE(updated);
    EXPECT_EQ(updated.error().code, EINVAL);
    const auto state = pair_->a().qp().snapshot().congestion;
    EXPECT_EQ(state ? state->allowance.rate : 0, kind.is_none() ? 0u : 5'000'000u);
  }
}

TEST_F(CongestionTest, ANewSpacingOfCnpsIsThatOfTheNextOne) {
  DevicePairOptions options;
  options.notifications.min_time_between_cnps = 4000;
  start(options);
  mark_frames_of_a();
  const auto marked_write = [this] {
    write(100);
    pair_->settle();
    return pair_->b().counter("np_cnp_sent");
  };
  EXPECT_EQ(marked_write(), 1u);
  CongestionSettings now = pair_->b().device().congestion();
  now.notifications = {.min_time_between_cnps = 10, .cnp_dscp = 7};
  ASSERT_TRUE(pair_->b().device().update_congestion(now));
  pair_->clock.advance(3999us);
  EXPECT_EQ(marked_write(), 1u);
  pair_->clock.advance(1us);
  EXPECT_EQ(marked_write(), 2u);
  EXPECT_EQ(std::to_integer<unsigned>(cnps(sent_by_b()).back()[kIpAt + 1]) >> 2, 7u);
  pair_->clock.advance(10us);
  EXPECT_EQ(marked_write(), 3u);
}

TEST_F(CongestionTest, TimelyTakesLongRoundTripsForCongestion) {
  start(
      with_controller({.parameters = transport::congestion::TimelyParameters{}, .line_rate = 1'000'000'000}));
  const auto rate = [this] { return pair_->a().qp().snapshot().congestion->allowance.rate; };
  std::size_t held = 0;
  for (std::uint64_t i = 0; i < 10; ++i) {
    // Acknowledgements take longer and longer.
    pair_->wire.is_lost = [&](std::size_t from, const Bytes& frame) {
      return from == 1 && is_roce(frame) && ++held > 0;
    };
    write(100, i);
    pair_->settle();
    const Bytes acknowledgement = sent_by_b().back();
    pair_->clock.advance(10ms);
    pair_->wire.deliver(0, acknowledgement);
    pair_->settle();
  }
  EXPECT_EQ(held, 10u);
  EXPECT_LT(rate(), 100'000'000u);
}

}  // namespace
}  // namespace urnic::nic
