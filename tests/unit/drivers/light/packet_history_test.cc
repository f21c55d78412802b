// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/packet_history.h"

#include <gtest/gtest.h>

#include "tests/unit/drivers/light/roce_frames.h"

namespace urnic::drivers::test::packet_history {
namespace {

using transport::Psn;
using transport::QpNumber;

/// A NIC whose queue pairs exchange packets with its peer's.
struct Line {
  std::optional<PacketHistory::Place> request(Way way, std::uint32_t qp, std::uint32_t psn) {
    return note(way, qp, psn, Part::kRequest);
  }
  std::optional<PacketHistory::Place> answer(Way way, std::uint32_t qp, std::uint32_t psn) {
    return note(way, qp, psn, Part::kAnswer);
  }
  std::optional<PacketHistory::Place> note(Way way, std::uint32_t qp, std::uint32_t psn, Part part) {
    const bool is_sent = way == Way::kSent;
    return history.note({.way = way,
                         .source = is_sent ? ends.near : ends.far,
                         .destination = is_sent ? ends.far : ends.near,
                         .destination_qp = QpNumber{qp},
                         .psn = Psn(psn),
                         .part = part});
  }
  RoceEnds ends = kIpv4Ends;
  PacketHistory history{};
};

TEST(PacketHistory, CountsPsnsFromTheFirstOfAFlow) {
  Line line;
  EXPECT_EQ(line.request(Way::kSent, 5, 100)->psn, 0);
  EXPECT_EQ(line.request(Way::kSent, 5, 107)->psn, 7);
  EXPECT_EQ(line.request(Way::kSent, 5, 99)->psn, -1);
}

TEST(PacketHistory, CountsOnBeyondTheLargestPsn) {
  Line line;
  EXPECT_EQ(line.request(Way::kSent, 5, 0xfffffe)->psn, 0);
  const auto place = line.request(Way::kSent, 5, 3);
  EXPECT_EQ(place->psn, 5);
  EXPECT_FALSE(place->is_again);
  EXPECT_TRUE(line.request(Way::kSent, 5, 0xffffff)->is_again);
}

TEST(PacketHistory, KnowsWhatWasThereBefore) {
  Line line;
  EXPECT_FALSE(line.request(Way::kSent, 5, 100)->is_again);
  EXPECT_FALSE(line.request(Way::kSent, 5, 101)->is_again);
  EXPECT_TRUE(line.request(Way::kSent, 5, 100)->is_again);
  EXPECT_TRUE(line.request(Way::kSent, 5, 101)->is_again);
  EXPECT_FALSE(line.request(Way::kSent, 5, 102)->is_again);
  EXPECT_FALSE(line.answer(Way::kSent, 5, 100)->is_again) << "answers are apart";
}

TEST(PacketHistory, NumbersQueuePairsInTheirOrderAndByDirection) {
  Line line;
  EXPECT_EQ(line.request(Way::kSent, 9, 0)->queue_pair, 1u);
  EXPECT_EQ(line.request(Way::kSent, 4, 0)->queue_pair, 2u);
  EXPECT_EQ(line.request(Way::kReceived, 4, 0)->queue_pair, 1u);
  EXPECT_EQ(line.request(Way::kSent, 9, 1)->queue_pair, 1u);
  line.ends = kIpv6Ends;
  EXPECT_EQ(line.request(Way::kSent, 9, 0)->queue_pair, 3u) << "the same number at another address";
}

TEST(PacketHistory, CountsAnswersAsTheRequestsThatTheyAnswer) {
  Line line;
  line.request(Way::kSent, 5, 100);
  line.request(Way::kSent, 5, 103);
  EXPECT_EQ(line.answer(Way::kReceived, 80, 103)->psn, 3) << "the first answer acknowledges four requests";
  EXPECT_EQ(line.answer(Way::kReceived, 80, 104)->psn, 4);
}

TEST(PacketHistory, FindsTheRequestsOfAnAnswerAmongThoseOfOtherQueuePairs) {
  Line line;
  line.request(Way::kSent, 5, 1000);
  line.request(Way::kSent, 6, 5000);
  line.request(Way::kSent, 6, 5010);
  line.request(Way::kSent, 7, 0x800001);
  EXPECT_EQ(line.answer(Way::kReceived, 81, 5001)->psn, 1);
  EXPECT_EQ(line.answer(Way::kReceived, 80, 1003)->psn, 3) << "a READ's answer goes beyond its request";
  EXPECT_EQ(line.answer(Way::kReceived, 82, 0x800001)->psn, 0);
}

TEST(PacketHistory, TakesAnAnswerToNothingForTheFirst) {
  Line line;
  EXPECT_EQ(line.answer(Way::kReceived, 80, 700)->psn, 0);
  line.request(Way::kSent, 5, 100);
  EXPECT_EQ(line.answer(Way::kReceived, 80, 702)->psn, 2) << "and stays with it";
}

TEST(PacketHistory, LooksForRequestsBetweenTheSameAddressesOnly) {
  Line line;
  line.request(Way::kSent, 5, 100);
  line.request(Way::kReceived, 6, 100);
  line.ends = kIpv6Ends;
  EXPECT_EQ(line.answer(Way::kReceived, 80, 105)->psn, 0);
}

TEST(PacketHistory, DoesNotReadThePsnOfACnp) {
  Line line;
  line.request(Way::kSent, 5, 100);
  const auto place = line.note(Way::kReceived, 80, 0, Part::kNeither);
  EXPECT_EQ(place->queue_pair, 1u);
  EXPECT_FALSE(place->psn);
  EXPECT_EQ(line.answer(Way::kReceived, 80, 101)->psn, 1);
}

TEST(PacketHistory, IsBounded) {
  Line line;
  for (std::uint32_t qp = 0; qp < PacketHistory::kMaxFlows; ++qp)
    EXPECT_TRUE(line.request(Way::kSent, qp, 0));
  EXPECT_FALSE(line.request(Way::kSent, PacketHistory::kMaxFlows, 0));
  EXPECT_TRUE(line.request(Way::kSent, 0, 1));
  EXPECT_TRUE(line.request(Way::kReceived, 0, 1)) << "the other direction has room of its own";
  EXPECT_EQ(line.history.untracked(), 1u);
}

}  // namespace
}  // namespace urnic::drivers::test::packet_history
