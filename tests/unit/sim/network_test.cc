// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/network/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "tools/conformance/check/packets/icrc.h"
#include "tools/simulation/kernel/addresses.h"

namespace urnic::sim {
namespace {

using std::chrono::microseconds;

/// Sends the same captured RoCE frame, addressed to B, again and again from A and looks at what reaches whom.
class NetworkTest : public ::testing::Test {
 protected:
  static constexpr HostId kFrom = host_id(0);
  static constexpr HostId kTo = host_id(1);

  struct Arrival {
    HostId host;
    Time time;
    std::vector<std::byte> bytes;
    bool damaged = false;
  };

  NetworkTest() : frame_(test::read_pcap(test::fixtures() / "vs_rnr.pcap").value()[0].bytes) {
    options_.seed = 1;
    address_to(kTo);
    options_.links.resize(3);
    options_.links[0].base_delay = microseconds(10);
    options_.links[0].jitter = microseconds(5);
    options_.links[0].reorder_delay = microseconds(100);
    options_.links[0].blackout_time = microseconds(100);
  }

  void address_to(HostId host) {
    const auto mac = kernel::mac_of(index(host));
    std::memcpy(frame_.data(), mac.octets.data(), mac.octets.size());
  }

  std::vector<Arrival> send(int count, bool stop_faults = false) {
    kernel::Clock clock;
    EventQueue events;
    Network network(options_, clock, events);
    if (stop_faults) network.stop_faults();
    for (int i = 0; i < count; ++i) {
      clock.advance_to(clock.now() + microseconds(1));
      network.send(kFrom, frame_);
    }
    counts_ = network.faults();
    std::vector<Arrival> arrivals;
    while (!events.is_empty()) {
      const Event event = events.take();
      arrivals.push_back({event.host, event.time, event.frame.bytes, event.frame.damaged});
    }
    return arrivals;
  }
  FaultRates& faults() { return options_.links[0].faults; }

  Options options_;
  std::vector<std::byte> frame_;
  FaultCounts counts_;
};

TEST_F(NetworkTest, DeliversEverythingInOrderAndUnchangedWithoutFaults) {
  const auto arrivals = send(100);
  ASSERT_EQ(arrivals.size(), 100u);
  for (const Arrival& arrival : arrivals) {
    EXPECT_EQ(arrival.host, kTo);
    EXPECT_EQ(arrival.bytes, frame_);
  }
}

TEST_F(NetworkTest, ABroadcastReachesAllOthers) {
  std::fill_n(frame_.begin(), 6, std::byte{0xff});
  std::vector<HostId> reached;
  for (const Arrival& arrival : send(1)) reached.push_back(arrival.host);
  EXPECT_THAT(reached, ::testing::UnorderedElementsAre(host_id(1), host_id(2)));
}

TEST_F(NetworkTest, APartitionStopsOneDirectionForItsTime) {
  options_.partitions = {
      {.from = kFrom, .to = kTo, .begin = Time(microseconds(11)), .end = Time(microseconds(31))}};
  EXPECT_EQ(send(100).size(), 80u);
  EXPECT_EQ(counts_.lost_in_partition, 20u);
  options_.partitions[0].from = kTo;
  options_.partitions[0].to = kFrom;
  EXPECT_EQ(send(100).size(), 100u);
}

TEST_F(NetworkTest, LosesExactlyThePacketsOfAKindThatItWasTold) {
  options_.exact_losses = {{.from = kFrom, .kind = PacketKind::kSend, .first = 3, .count = 2}};
  EXPECT_EQ(send(10).size(), 8u);
  options_.exact_losses[0].kind = PacketKind::kAcknowledge;
  EXPECT_EQ(send(10).size(), 10u);
}

TEST_F(NetworkTest, ABurstLosesSeveralInARow) {
  faults().burst = 0.02;
  const auto arrivals = send(1000);
  EXPECT_EQ(arrivals.size(), 1000 - counts_.lost_in_burst);
  EXPECT_GT(counts_.lost_in_burst, 40u);
}

TEST_F(NetworkTest, ACongestionMarkLeavesTheFrameGood) {
  faults().congestion = 1;
  for (const Arrival& arrival : send(3)) {
    EXPECT_EQ(arrival.bytes[15] & std::byte{3}, std::byte{3});
    const auto frame = check::parse_frame(check::LinkType::kEthernet, arrival.bytes);
    ASSERT_TRUE(frame);
    EXPECT_TRUE(check::ipv4_checksum_is_right(frame->ip_header));
    EXPECT_TRUE(check::judge_icrc(*frame)->is_right());
  }
}

TEST_F(NetworkTest, IsTheSameEveryTimeForOneSeed) {
  faults() = {.loss = 0.1,
              .duplication = 0.1,
              .reordering = 0.1,
              .corruption = 0.1,
              .truncation = 0.1,
              .padding = 0.1};
  const auto once = send(300);
  const auto again = send(300);
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].time, again[i].time);
    EXPECT_EQ(once[i].bytes, again[i].bytes);
  }
  options_.seed = 2;
  EXPECT_NE(send(300).front().time, once.front().time);
}

TEST_F(NetworkTest, LosesAndDuplicatesAboutAsOftenAsTold) {
  faults() = {.loss = 0.1, .duplication = 0.2};
  const auto arrivals = send(1000);
  EXPECT_EQ(arrivals.size(), 1000 - counts_.lost + counts_.duplicated);
  EXPECT_NEAR(static_cast<double>(counts_.lost), 100, 40);
  EXPECT_NEAR(static_cast<double>(counts_.duplicated), 180, 60);
}

TEST_F(NetworkTest, ABlackoutLosesFramesInARow) {
  faults().blackout = 0.01;
  const auto arrivals = send(1000);
  EXPECT_EQ(arrivals.size(), 1000 - counts_.lost_in_blackout);
  EXPECT_GT(counts_.lost_in_blackout, 20u);
}

TEST_F(NetworkTest, EveryCorruptedFrameHasAWrongIcrc) {
  faults().corruption = 1;
  for (const Arrival& arrival : send(500)) {
    EXPECT_TRUE(arrival.damaged);
    EXPECT_EQ(arrival.bytes.size(), frame_.size());
    EXPECT_NE(arrival.bytes, frame_);
    const auto frame = check::parse_frame(check::LinkType::kEthernet, arrival.bytes);
    if (!frame) continue;
    const auto icrc = check::judge_icrc(*frame);
    EXPECT_FALSE(icrc && icrc->is_right());
  }
}

TEST_F(NetworkTest, TruncationTakesFromTheEndAndPaddingAddsToIt) {
  faults() = {.truncation = 0.5, .padding = 1};
  for (const Arrival& arrival : send(200)) {
    EXPECT_EQ(arrival.damaged, arrival.bytes.size() < frame_.size());
    const std::size_t common = std::min(arrival.bytes.size(), frame_.size());
    EXPECT_TRUE(std::equal(frame_.begin(), frame_.begin() + static_cast<std::ptrdiff_t>(common),
                           arrival.bytes.begin()));
  }
  EXPECT_GT(counts_.truncated, 0u);
  EXPECT_GT(counts_.padded, 0u);
}

TEST_F(NetworkTest, NeverDamagesWhatNoChecksumProtects) {
  faults() = {.corruption = 0.5, .truncation = 0.5};
  frame_ = test::read_pcap(test::fixtures() / "arp_nd_linux.pcap").value()[6].bytes;  // an ARP request
  for (const Arrival& arrival : send(200)) EXPECT_EQ(arrival.bytes, frame_);
}

TEST_F(NetworkTest, IsPeacefulAfterTheFaultsStopped) {
  faults() = {.loss = 1, .duplication = 1, .reordering = 1, .corruption = 1, .blackout = 1};
  EXPECT_EQ(send(100, true).size(), 100u);
}

TEST_F(NetworkTest, CutsOffMessagesOfTheConnectionManagerAlone) {
  options_.connections.attempts = 1;
  options_.connections.cuts = {{.from = kFrom, .to = kTo, .begin = Time{}, .end = Time(microseconds(50))}};
  EXPECT_EQ(send(100).size(), 100u);
  frame_ = test::read_pcap(test::fixtures() / "cm_reject.pcap").value()[0].bytes;
  address_to(kTo);
  EXPECT_EQ(send(100).size(), 51u);
  EXPECT_EQ(counts_.management_lost, 49u);
  EXPECT_EQ(send(100, true).size(), 100u);
}

}  // namespace
}  // namespace urnic::sim
