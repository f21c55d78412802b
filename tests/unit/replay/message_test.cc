// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Work requests read out of captured packets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/replay/recording.h"

namespace urnic::replay::test {
namespace {

using check::Operation;
using testing::ElementsAre;

std::vector<std::uint32_t> lengths_of(const std::vector<Message>& messages, Operation operation) {
  std::vector<std::uint32_t> lengths;
  for (const Message& message : messages) {
    if (message.operation == operation) lengths.push_back(message.length);
  }
  return lengths;
}

// The command lines are in pcap_fixtures/README.md.
TEST(Messages, HaveTheSizesThatTheProgramAskedFor) {
  const Recording recording("vs_sizes");
  EXPECT_THAT(lengths_of(recording.messages, Operation::kSend),
              ElementsAre(0, 1, 2, 3, 5, 1023, 1024, 1025, 2048, 4097));
  EXPECT_THAT(lengths_of(recording.messages, Operation::kWrite), ElementsAre(0, 1, 1024, 1025, 4097));
  EXPECT_THAT(lengths_of(recording.messages, Operation::kRead), ElementsAre(0, 1, 1023, 1024, 1025, 4097));
}

TEST(Messages, ArePutTogetherFromWhatWasSentTwice) {
  const Recording recording("vs_loss_requests");
  EXPECT_THAT(lengths_of(recording.messages, Operation::kSend), ElementsAre(9000, 9000));
  EXPECT_THAT(lengths_of(recording.messages, Operation::kWrite), ElementsAre(9000, 9000));
  EXPECT_THAT(lengths_of(recording.messages, Operation::kRead), ElementsAre(9000));
  for (const Message& message : recording.messages) EXPECT_TRUE(message.is_whole) << message.frame;
}

TEST(Messages, KnowImmediatesAndKeys) {
  const Recording recording("vs_imm_inv");
  std::size_t immediates = 0;
  std::size_t invalidates = 0;
  for (const Message& message : recording.messages) {
    immediates += message.immediate ? 1 : 0;
    invalidates += message.invalidate ? 1 : 0;
  }
  EXPECT_EQ(immediates, 5u);
  EXPECT_EQ(invalidates, 1u);
}

// 20 % of the requests are lost: send:5000 three times, write:5000 twice, writeimm:5000, send:10, send:5000.
TEST(Messages, OfUnreliableConnectionsAreCompletedWhereTheCaptureHasHoles) {
  const Recording recording("vs_loss_uc");
  EXPECT_THAT(lengths_of(recording.messages, Operation::kWrite), ElementsAre(5000, 5000, 5000));
  ExtendedPsn next = recording.messages.front().first;
  for (const Message& message : recording.messages) {
    EXPECT_EQ(message.first, next);
    next = message.end();
  }
}

TEST(Messages, AreFoundByEveryPsnOfTheirs) {
  const Recording recording("vs_sizes");
  for (std::size_t index = 0; index < recording.messages.size(); ++index) {
    const Message& message = recording.messages[index];
    for (ExtendedPsn at = message.first; at < message.end(); ++at) {
      EXPECT_EQ(find_message(recording.messages, at), index);
    }
  }
  EXPECT_EQ(find_message(recording.messages, recording.messages.front().first - 1), std::nullopt);
  EXPECT_EQ(find_message(recording.messages, recording.messages.back().end()), std::nullopt);
}

TEST(ExtendedPsns, CountOnAcrossTheWrap) {
  EXPECT_EQ(extended_psn_near(0xfffffe, check::Psn(1)), 0x1000001);
  EXPECT_EQ(extended_psn_near(0x1000001, check::Psn(0xfffffe)), 0xfffffe);
  EXPECT_EQ(psn_of(0x1000001), check::Psn(1));
  EXPECT_EQ(psn_of(-1), check::Psn(0xffffff));
}

}  // namespace
}  // namespace urnic::replay::test
