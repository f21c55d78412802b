#include "tests/sim/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "tests/sim/wire_view.h"
#include "tests/support/pcap_file.h"

namespace urnic::sim {
namespace {

using std::chrono::microseconds;

/// Sends the same captured RoCE frame again and again from A and looks at what reaches B.
class NetworkTest : public ::testing::Test {
 protected:
  struct Arrival {
    Time time;
    std::vector<std::byte> bytes;
    bool damaged = false;
  };

  NetworkTest() : frame_(test::read_pcap(URNIC_FIXTURES "/vs_rnr.pcap").value()[0].bytes) {
    options_.seed = 1;
    options_.links[0].base_delay = microseconds(10);
    options_.links[0].jitter = microseconds(5);
    options_.links[0].reorder_delay = microseconds(100);
    options_.links[0].blackout_time = microseconds(100);
  }

  std::vector<Arrival> send(int count, bool stop_faults = false) {
    SimClock clock;
    EventQueue events;
    FramePool frames;
    Network network(options_, clock, events, frames);
    if (stop_faults) network.stop_faults();
    for (int i = 0; i < count; ++i) {
      clock.advance_to(clock.now() + microseconds(1));
      network.send(Side::kA, frame_);
    }
    counts_ = network.faults();
    std::vector<Arrival> arrivals;
    while (!events.is_empty()) {
      const Event event = events.take();
      EXPECT_EQ(event.side, Side::kB);
      arrivals.push_back({event.time, event.frame->bytes, event.frame->damaged});
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
  for (const Arrival& arrival : arrivals) EXPECT_EQ(arrival.bytes, frame_);
}

TEST_F(NetworkTest, IsTheSameEveryTimeForOneSeed) {
  faults() = {.loss = 0.1, .duplication = 0.1, .reordering = 0.1, .corruption = 0.1, .truncation = 0.1, .padding = 0.1};
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
    if (!is_roce(arrival.bytes)) continue;
    const std::span<const std::byte> icrc = std::span(arrival.bytes).last(4);
    std::uint32_t carried = 0;
    for (std::size_t i = 0; i < 4; ++i) carried |= std::to_integer<std::uint32_t>(icrc[i]) << (8 * i);
    EXPECT_NE(icrc_of(arrival.bytes), carried);
  }
}

TEST_F(NetworkTest, TruncationTakesFromTheEndAndPaddingAddsToIt) {
  faults() = {.truncation = 0.5, .padding = 1};
  for (const Arrival& arrival : send(200)) {
    EXPECT_EQ(arrival.damaged, arrival.bytes.size() < frame_.size());
    const std::size_t common = std::min(arrival.bytes.size(), frame_.size());
    EXPECT_TRUE(std::equal(frame_.begin(), frame_.begin() + static_cast<std::ptrdiff_t>(common), arrival.bytes.begin()));
  }
  EXPECT_GT(counts_.truncated, 0u);
  EXPECT_GT(counts_.padded, 0u);
}

TEST_F(NetworkTest, NeverDamagesWhatNoChecksumProtects) {
  faults() = {.corruption = 0.5, .truncation = 0.5};
  frame_ = test::read_pcap(URNIC_FIXTURES "/arp_nd_linux.pcap").value()[6].bytes;  // an ARP request
  for (const Arrival& arrival : send(200)) EXPECT_EQ(arrival.bytes, frame_);
}

TEST_F(NetworkTest, IsPeacefulAfterTheFaultsStopped) {
  faults() = {.loss = 1, .duplication = 1, .reordering = 1, .corruption = 1, .blackout = 1};
  EXPECT_EQ(send(100, true).size(), 100u);
}

}  // namespace
}  // namespace urnic::sim
