// What congestion control is for, with our devices on our network in virtual time: flows share a link fairly, queues stay short, and no sender
// is paused that was before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <vector>

#include "tests/unit/drivers/network/devices_on_network.h"

namespace urnic::network::test {
namespace {

using namespace std::chrono_literals;
using transport::congestion::Choice;

constexpr std::uint64_t kRate = 10'000'000'000;
constexpr std::uint64_t kMin = 40'000;
constexpr std::uint64_t kMax = 160'000;
constexpr unsigned kLossy = 0;  // DSCPs
constexpr unsigned kLosslessDscp = 26;
constexpr unsigned kLosslessPriority = 3;

/// Senders and one receiver, the last host, at a switch.
Topology incast_of(std::size_t senders) {
  Profile profile;
  profile.name = "marking";
  for (PriorityProfile& priority : profile.priorities) {
    priority.limit_bytes = 256 * 1024;
    priority.marking = Marking{.kmin_bytes = kMin, .kmax_bytes = kMax, .pmax = 0.2};
  }
  // Less than what one sender may have in flight: without a controller it is paused.
  profile.priorities[kLosslessPriority].lossless =
      Lossless{.xoff_bytes = 64 * 1024, .headroom_bytes = 64 * 1024};
  Topology topology;
  topology.profiles = {profile};
  topology.switches = {{.name = "switch", .profile = 0}};
  for (std::size_t host = 0; host <= senders; ++host) {
    topology.hosts.push_back({.name = "host" + std::to_string(host)});
    topology.links.push_back({.ends = {Node{.kind = Node::Kind::kHost, .index = host},
                                       Node{.kind = Node::Kind::kSwitch, .index = 0}},
                              .rate_bps = kRate,
                              .delay = 1us});
  }
  return topology;
}

Choice dcqcn() {
  return {.parameters = transport::congestion::kDcqcnOfHpcc, .line_rate = kRate};
}

class CongestedDevices : public testing::Test {
 protected:
  void start(std::size_t senders, const Choice& choice, unsigned dscp) {
    devices_ = std::make_unique<DevicesOnNetwork>(incast_of(senders), choice);
    receiver_ = senders;
    for (std::size_t sender = 0; sender < senders; ++sender) devices_->add_flow(sender, receiver_, dscp);
  }
  /// Bytes of each flow in the time that comes now.
  std::vector<double> run(Duration duration) {
    std::vector<std::uint64_t> before;
    for (std::size_t flow = 0; flow < receiver_; ++flow) before.push_back(devices_->completed_bytes(flow));
    devices_->run(duration);
    std::vector<double> bytes;
    for (std::size_t flow = 0; flow < receiver_; ++flow) {
      bytes.push_back(static_cast<double>(devices_->completed_bytes(flow) - before[flow]));
    }
    return bytes;
  }
  /// Of the switch's port to the receiver.
  std::uint64_t queue(unsigned priority) const {
    const auto port = port_id(static_cast<LinkId>(receiver_), 1);
    return devices_->network().queue_bytes(port, priority);
  }
  /// The queue at so many moments, a tenth of a millisecond apart, the longest last.
  std::vector<std::uint64_t> sampled_queue(unsigned priority, int moments) {
    std::vector<std::uint64_t> samples;
    for (int i = 0; i < moments; ++i) {
      devices_->run(100us);
      samples.push_back(queue(priority));
    }
    std::ranges::sort(samples);
    return samples;
  }
  std::uint64_t longest_queue(unsigned priority, int moments) {
    return sampled_queue(priority, moments).back();
  }
  static double fairness(const std::vector<double>& shares) {
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    const double squares = std::inner_product(shares.begin(), shares.end(), shares.begin(), 0.0);
    return sum * sum / (static_cast<double>(shares.size()) * squares);
  }
  static double gigabits(const std::vector<double>& bytes, Duration in) {
    return std::accumulate(bytes.begin(), bytes.end(), 0.0) * 8 / static_cast<double>(in.count());
  }

  std::unique_ptr<DevicesOnNetwork> devices_;
  std::size_t receiver_ = 0;
};

TEST_F(CongestedDevices, WithoutAControllerAnIncastOverflowsTheQueue) {
  start(8, {}, kLossy);
  run(20ms);
  EXPECT_GT(devices_->network().total(kLossy).dropped(DropReason::kTailDrop), 100u);
  EXPECT_GT(devices_->counter("packet_seq_err") + devices_->counter("local_ack_timeout_err"), 0u);
}

TEST_F(CongestedDevices, WithoutAControllerALosslessIncastPausesItsSenders) {
  start(8, {}, kLosslessDscp);
  run(50ms);
  const std::uint64_t pauses = devices_->network().total(kLosslessPriority).pauses_sent;
  EXPECT_GT(longest_queue(kLosslessPriority, 100), 3 * kMax);
  EXPECT_GT(devices_->network().total(kLosslessPriority).pauses_sent, pauses);
  EXPECT_EQ(devices_->network().total(kLosslessPriority).all_dropped(), 0u);
}

TEST_F(CongestedDevices, WithDcqcnALosslessIncastIsFairItsQueueShortAndNothingPaused) {
  start(8, dcqcn(), kLosslessDscp);
  run(50ms);
  const std::uint64_t pauses = devices_->network().total(kLosslessPriority).pauses_sent;
  const std::vector<std::uint64_t> queues = sampled_queue(kLosslessPriority, 500);
  EXPECT_LT(queues[queues.size() * 99 / 100], kMax);
  EXPECT_LT(queues.back(), kMax * 11 / 10);
  EXPECT_LT(queues[queues.size() / 2], kMax / 2);
  const std::vector<double> shares = run(50ms);
  EXPECT_GT(fairness(shares), 0.98);
  EXPECT_GT(gigabits(shares, 50ms), 8.5);  // 9.1 are possible: 1024 of 1126 bytes are payload
  EXPECT_EQ(devices_->network().total(kLosslessPriority).pauses_sent, pauses);
  EXPECT_EQ(devices_->network().total(kLosslessPriority).all_dropped(), 0u);
  EXPECT_GT(devices_->counter("rp_cnp_handled"), 1000u);
  EXPECT_EQ(devices_->counter("rp_cnp_ignored"), 0u);
}

TEST_F(CongestedDevices, AFlowThatComesLaterGetsItsShare) {
  devices_ = std::make_unique<DevicesOnNetwork>(incast_of(2), dcqcn());
  receiver_ = 2;
  devices_->add_flow(0, receiver_, kLosslessDscp);
  devices_->run(10ms);
  EXPECT_GT(devices_->completed_bytes(0), 10'000'000u) << "alone it has the link";
  devices_->add_flow(1, receiver_, kLosslessDscp);
  devices_->run(50ms);
  const std::vector<double> shares = run(50ms);
  EXPECT_GT(fairness(shares), 0.99) << shares[0] << " and " << shares[1];
  EXPECT_GT(gigabits(shares, 50ms), 8.5);
}

TEST_F(CongestedDevices, TimelyKeepsTheQueueShortWithoutMarks) {
  const transport::congestion::TimelyParameters parameters{.t_low = 50, .t_high = 300, .min_rtt = 20};
  start(8, {.parameters = parameters, .line_rate = kRate}, kLosslessDscp);
  run(50ms);
  EXPECT_LT(longest_queue(kLosslessPriority, 500), kMax / 2);
  const std::vector<double> shares = run(50ms);
  EXPECT_GT(fairness(shares), 0.95);
  EXPECT_GT(gigabits(shares, 50ms), 7.5);
}

// 10 Gb/s for 140 us are 175 kB.
TEST_F(CongestedDevices, SwiftKeepsTheQueueAtItsTargetDelay) {
  start(8, {.parameters = transport::congestion::SwiftParameters{.base_delay = 40, .fs_range = 100}},
        kLosslessDscp);
  run(50ms);
  EXPECT_LT(longest_queue(kLosslessPriority, 500), 200'000u);
  const std::vector<double> shares = run(50ms);
  EXPECT_GT(fairness(shares), 0.98);
  EXPECT_GT(gigabits(shares, 50ms), 8.5);
}

TEST_F(CongestedDevices, TheSameRunTwiceIsTheSame) {
  std::vector<std::vector<double>> runs;
  for (int i = 0; i < 2; ++i) {
    start(4, dcqcn(), kLossy);
    runs.push_back(run(20ms));
  }
  EXPECT_EQ(runs[0], runs[1]);
}

}  // namespace
}  // namespace urnic::network::test
