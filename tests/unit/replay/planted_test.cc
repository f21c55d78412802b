// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Differences planted on our side: another work request, or other answers, must not pass for the same.
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/unit/replay/recording.h"
#include "tools/conformance/replay/requester_replay.h"
#include "tools/conformance/replay/responder_replay.h"

namespace urnic::replay::test {
namespace {

using check::Operation;
using Messages = std::vector<Message>;

struct Plant {
  const char* name;
  const char* fixture;
  std::function<void(Messages&)> change;
};

void PrintTo(const Plant& plant, std::ostream* out) {
  *out << plant.name;
}

Message& first_of(Messages& messages, Operation operation, std::size_t least_bytes = 0) {
  for (Message& message : messages) {
    if (message.operation == operation && message.length >= least_bytes) return message;
  }
  ADD_FAILURE() << "no such message";
  return messages.front();
}

const std::vector<Plant> kPlants = {
    {"APayloadByte", "vs_sizes",
     [](Messages& m) { first_of(m, Operation::kSend, 2048).payload[1500] ^= std::byte{1}; }},
    {"TheLastPayloadByte", "vs_sizes",
     [](Messages& m) { first_of(m, Operation::kWrite, 1).payload.back() ^= std::byte{1}; }},
    {"OneByteLess", "vs_sizes", [](Messages& m) { --first_of(m, Operation::kSend, 1025).length; }},
    {"OneByteMore", "vs_sizes", [](Messages& m) { ++first_of(m, Operation::kWrite, 1024).length; }},
    {"AnotherAddress", "vs_sizes", [](Messages& m) { ++first_of(m, Operation::kWrite, 1024).address; }},
    {"AnotherKey", "vs_sizes", [](Messages& m) { ++first_of(m, Operation::kRead, 1024).r_key; }},
    {"AReadThatIsShorter", "vs_sizes", [](Messages& m) { --first_of(m, Operation::kRead, 1025).length; }},
    {"SendForWrite", "vs_sizes",
     [](Messages& m) { first_of(m, Operation::kWrite, 1).operation = Operation::kSend; }},
    {"AMessageLess", "vs_sizes", [](Messages& m) { m.erase(m.begin() + 3); }},
    {"TwoMessagesSwapped", "vs_sizes",
     [](Messages& m) { std::swap(m[3].payload, m[4].payload), std::swap(m[3].length, m[4].length); }},
    {"AnotherImmediate", "vs_imm_inv", [](Messages& m) { *first_of(m, Operation::kSend).immediate ^= 1; }},
    {"NoImmediate", "vs_imm_inv", [](Messages& m) { first_of(m, Operation::kSend).immediate.reset(); }},
    {"NotSolicited", "vs_imm_inv",
     [](Messages& m) {
       for (Message& message : m) message.solicited = false;
     }},
    {"AnotherKeyToInvalidate", "vs_imm_inv",
     [](Messages& m) {
       for (Message& message : m) {
         if (message.invalidate) ++*message.invalidate;
       }
     }},
    {"AnotherOperandToAdd", "vs_atomics",
     [](Messages& m) { ++first_of(m, Operation::kFetchAdd).swap_or_add; }},
    {"AnotherOperandToCompare", "vs_atomics",
     [](Messages& m) { ++first_of(m, Operation::kCompareSwap).compare; }},
    {"AddForSwap", "vs_atomics",
     [](Messages& m) { first_of(m, Operation::kCompareSwap).operation = Operation::kFetchAdd; }},
    {"APayloadByteOfUc", "vs_loss_uc", [](Messages& m) { m.front().payload.back() ^= std::byte{1}; }},
    {"AnotherQkey", "vs_ud", [](Messages& m) { ++m[2].q_key; }},
    {"APayloadByteOfUd", "vs_ud", [](Messages& m) { m[2].payload[0] ^= std::byte{1}; }},
};

class PlantedWorkRequest : public testing::TestWithParam<Plant> {};

TEST_P(PlantedWorkRequest, IsFound) {
  Recording recording(GetParam().fixture);
  ASSERT_EQ(replay_requester(recording.direction, recording.messages, false).verdict, Verdict::kEqual);
  GetParam().change(recording.messages);
  const Outcome outcome = replay_requester(recording.direction, recording.messages, false);
  EXPECT_EQ(outcome.verdict, Verdict::kMismatch);
  EXPECT_FALSE(outcome.what.empty());
  const auto& rows = outcome.ladder.rows();
  EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.is_difference; }));
}

std::string name_of_plant(const testing::TestParamInfo<Plant>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, PlantedWorkRequest, testing::ValuesIn(kPlants), name_of_plant);

// What our responder received is compared with what was sent, not with itself.
TEST(PlantedMessage, IsNotWhatOurResponderReceived) {
  for (const char* const fixture : {"vs_sizes", "vs_uc_mtu4096", "vs_ud"}) {
    Recording recording(fixture);
    ASSERT_EQ(replay_responder(recording.direction, recording.messages, {}).verdict, Verdict::kEqual);
    for (Message& message : recording.messages) {
      if (message.operation != Operation::kSend || message.payload.empty()) continue;
      message.payload.back() ^= std::byte{1};
      break;
    }
    EXPECT_EQ(replay_responder(recording.direction, recording.messages, {}).verdict, Verdict::kMismatch)
        << fixture;
  }
}

TEST(PlantedMessage, IsNotWhatOurResponderWrote) {
  Recording recording("vs_sizes");
  first_of(recording.messages, Operation::kWrite, 1024).payload[5] ^= std::byte{1};
  const Outcome outcome = replay_responder(recording.direction, recording.messages, {});
  EXPECT_EQ(outcome.what, "what was written is not what ours has in memory");
}

}  // namespace
}  // namespace urnic::replay::test
