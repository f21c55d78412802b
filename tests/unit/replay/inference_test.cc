// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What follows from a captured responder's answers.
#include "tools/conformance/replay/inference.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/replay/recording.h"
#include "tools/conformance/replay/responder_replay.h"

namespace urnic::replay::test {
namespace {

/// The index of a frame's event.
std::size_t event_of(const Direction& direction, std::uint64_t frame) {
  for (std::size_t index = 0; index < direction.events.size(); ++index) {
    if (direction.events[index].packet->number == frame) return index;
  }
  ADD_FAILURE() << "no frame " << frame;
  return 0;
}

TEST(Inference, FindsNoReceiveWhereAnRnrNakAnswers) {
  const Recording recording("vs_rnr");
  const Inference inference(recording.direction);
  // 9 and 10 are sent one after the other and refused by 11 and 12; 29 is accepted.
  for (const std::uint64_t frame : {1u, 3u, 9u, 10u, 27u}) {
    EXPECT_TRUE(inference.finds_no_receive(event_of(recording.direction, frame))) << frame;
  }
  for (const std::uint64_t frame : {29u, 30u, 33u, 39u}) {
    EXPECT_FALSE(inference.finds_no_receive(event_of(recording.direction, frame))) << frame;
  }
  EXPECT_EQ(inference.rnr_timer(), 20);
}

TEST(Inference, KnowsHowMuchOfATooLongSendDidFit) {
  const Recording recording("vs_send_toolong");
  const Inference inference(recording.direction);
  EXPECT_EQ(inference.room_for(recording.messages[0]), Inference::kAnyRoom);
  EXPECT_EQ(inference.room_for(recording.messages[1]), 1024u);
}

TEST(Inference, KnowsWhichRequestWasRefused) {
  const Recording recording("vs_write_badkey");
  const Inference inference(recording.direction);
  EXPECT_EQ(inference.refusal_of(event_of(recording.direction, 1)), 0x62);
  EXPECT_EQ(inference.refusal_of(event_of(recording.direction, 2)), std::nullopt);
}

TEST(Inference, FindsNoLossBehindThePlaceOfCaptureWhereThereIsNone) {
  for (const char* const fixture : {"vs_loss_both", "vs_loss_requests", "vs_duplicate", "vs_sizes"}) {
    const Recording recording(fixture);
    const Inference inference(recording.direction);
    for (std::size_t event = 0; event < recording.direction.events.size(); ++event) {
      EXPECT_FALSE(inference.is_lost_behind(event))
          << fixture << ", frame " << recording.direction.events[event].packet->number;
    }
  }
}

// A capture made at the sender has what the network lost: the packet that a NAK asks for is put back where it
// was.
TEST(Inference, FindsWhatWasLostBehindThePlaceOfCapture) {
  Frames frames = Frames::fixture("vs_loss_both");
  // b44b88 is NAKed in frame 201 and sent again in 202; here the capture also has it before the NAK, after
  // b44b87.
  std::size_t before = 200;
  while (frames.edit(before).psn() != 0xb44b87 || frames.edit(before).opcode() > 0x0c) --before;
  const std::size_t added = frames.repeat(202, before);
  const auto capture = take(frames);
  const Direction direction = directions_of(*capture).at(0);
  const Inference inference(direction);
  EXPECT_TRUE(inference.is_lost_behind(event_of(direction, added)));
  std::vector<std::string> notes;
  EXPECT_EQ(replay_responder(direction, messages_of(direction, notes), {}).verdict, Verdict::kEqual);
}

}  // namespace
}  // namespace urnic::replay::test
