// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Captures that were spoilt: each must be a mismatch, on the right side and at the right frame.
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/unit/replay/recording.h"

namespace urnic::replay::test {
namespace {

constexpr auto kResponder = Side::kResponder;
constexpr auto kRequester = Side::kRequester;

struct Mutation {
  const char* name;
  Side side;
  const char* fixture;
  std::uint64_t frame;  ///< where the difference must be seen first
  std::function<void(Frames&)> spoil;
};

void PrintTo(const Mutation& mutation, std::ostream* out) {
  *out << mutation.name;
}

// Frames of vs_sizes: 1 to 26 are SENDs of 0, 1, 2, 3, 5, 1023, 1024, 1025, 2048 and 4097 bytes and their
// ACKs, 27 to 41 WRITEs of 0, 1, 1024, 1025 and 4097, 42 to 58 READs of 0, 1, 1023, 1024, 1025 and 4097. The
// path MTU is 1024.
const std::vector<Mutation> kMutations = {
    {"AckOfTheFuture", kResponder, "vs_sizes", 4,
     [](Frames& f) { f.edit(4).psn(f.edit(4).psn() + 1).seal(); }},
    {"AckOfThePast", kResponder, "vs_sizes", 4, [](Frames& f) { f.edit(4).psn(f.edit(4).psn() - 1).seal(); }},
    {"MsnTooLarge", kResponder, "vs_sizes", 4, [](Frames& f) { f.edit(4).msn(f.edit(4).msn() + 1).seal(); }},
    {"MsnTooSmall", kResponder, "vs_sizes", 14,
     [](Frames& f) { f.edit(14).msn(f.edit(14).msn() - 1).seal(); }},
    {"MsnOfAReadResponse", kResponder, "vs_sizes", 45,
     [](Frames& f) { f.edit(45).msn(f.edit(45).msn() + 1).seal(); }},
    {"SequenceNakForAck", kResponder, "vs_sizes", 4, [](Frames& f) { f.edit(4).syndrome(0x60).seal(); }},
    {"InvalidRequestForAck", kResponder, "vs_sizes", 4, [](Frames& f) { f.edit(4).syndrome(0x61).seal(); }},
    {"RemoteAccessForAck", kResponder, "vs_sizes", 4, [](Frames& f) { f.edit(4).syndrome(0x62).seal(); }},
    {"RnrForAck", kResponder, "vs_sizes", 4, [](Frames& f) { f.edit(4).syndrome(0x2e).seal(); }},
    {"AckTwice", kResponder, "vs_sizes", 5, [](Frames& f) { f.repeat(4, 4); }},
    {"ReadResponseMissing", kResponder, "vs_sizes", 51, [](Frames& f) { f.erase(51); }},
    {"ReadResponseMissingUnnoticed", kRequester, "vs_sizes", 51, [](Frames& f) { f.erase(51); }},
    {"ReadResponsesSwapped", kResponder, "vs_sizes", 55, [](Frames& f) { std::swap(f[55], f[56]); }},
    {"ReadResponsePsn", kResponder, "vs_sizes", 55,
     [](Frames& f) { f.edit(55).psn(f.edit(55).psn() + 1).seal(); }},
    {"ReadResponseTooLong", kResponder, "vs_sizes", 47, [](Frames& f) { f.edit(47).resize(4).seal(); }},
    {"ReadByteThatWasWrittenOtherwise", kResponder, "vs_sizes", 49,
     [](Frames& f) { f.edit(49).flip(16 + 700, 1).seal(); }},
    {"RequestMissing", kResponder, "vs_sizes", 25, [](Frames& f) { f.erase(23); }},
    {"SendInsideWrite", kResponder, "vs_sizes", 41, [](Frames& f) { f.edit(38).opcode(0x01).seal(); }},
    {"SolicitedWrite", kRequester, "vs_sizes", 29, [](Frames& f) { f.edit(29).flip(1, 0x80).seal(); }},
    {"AnotherPkey", kRequester, "vs_sizes", 29, [](Frames& f) { f.edit(29).byte(3, 0xfe).seal(); }},
    {"PaddingThatIsNotZero", kRequester, "vs_sizes", 3, [](Frames& f) { f.edit(3).byte(12 + 2, 7).seal(); }},
    {"IcrcOfAnAnswer", kResponder, "vs_sizes", 47, [](Frames& f) { f[45].bytes.back() ^= std::byte{1}; }},
    {"IcrcOfARequest", kResponder, "vs_sizes", 4, [](Frames& f) { f[3].bytes.back() ^= std::byte{1}; }},
    {"AtomicFoundAnotherValue", kResponder, "vs_atomics", 6,
     [](Frames& f) { f.edit(6).flip(16 + 7, 1).seal(); }},
    {"AtomicCarriedOutTwice", kResponder, "vs_loss_both", 68,
     [](Frames& f) { f.edit(68).flip(16 + 7, 1).seal(); }},
    {"RepeatedAtomicWithOldMsn", kResponder, "vs_loss_both", 68, [](Frames& f) { f.edit(68).msn(4).seal(); }},
    {"RepeatedReadWithOtherData", kResponder, "vs_loss_both", 236,
     [](Frames& f) { f.edit(236).flip(16 + 9, 1).seal(); }},
    {"AnotherRnrTimer", kResponder, "vs_rnr", 4, [](Frames& f) { f.edit(4).syndrome(0x35).seal(); }},
    {"AckForRnr", kResponder, "vs_rnr", 4, [](Frames& f) { f.edit(4).syndrome(0x1f).seal(); }},
    {"SentBeforeTheRnrTimer", kRequester, "vs_rnr", 3,
     [](Frames& f) { f[3].time_ns = f[2].time_ns + 9'000'000; }},
    {"RepeatedWithAnotherByte", kRequester, "vs_loss_requests", 0,
     [](Frames& f) {
       for (std::size_t first = 1; first <= f.size(); ++first) {
         for (std::size_t again = first + 1; again <= f.size(); ++again) {
           if (f.edit(first).opcode() != 1 || f.edit(again).opcode() != 1) continue;
           if (f.edit(first).psn() == f.edit(again).psn()) return f.edit(again).flip(100, 1).seal();
         }
       }
     }},
    {"ReadResumedAtAnotherAddress", kRequester, "vs_loss_both", 225,
     [](Frames& f) { f.edit(225).flip(12 + 7, 8).seal(); }},
    {"ReadResumedWithAnotherLength", kRequester, "vs_loss_both", 225,
     [](Frames& f) { f.edit(225).flip(12 + 15, 8).seal(); }},
    {"AnotherKeyWhenRepeated", kRequester, "vs_loss_both", 203,
     [](Frames& f) { f.edit(203).flip(12 + 11, 1).seal(); }},
    {"SequenceNakTwice", kResponder, "vs_loss_both", 202, [](Frames& f) { f.repeat(201, 201); }},
    {"SequenceNakOfAnotherPsn", kResponder, "vs_loss_both", 201,
     [](Frames& f) { f.edit(201).psn(f.edit(201).psn() + 1).seal(); }},
    {"RefusedWithAnotherReason", kResponder, "vs_write_badkey", 4,
     [](Frames& f) { f.edit(f.size()).syndrome(0x63).seal(); }},
    {"PaddingOfADatagram", kRequester, "vs_ud", 2, [](Frames& f) { f.edit(2).byte(20 + 2, 7).seal(); }},
    {"PaddingOfAnUnreliableConnection", kRequester, "vs_uc_mtu4096", 2,
     [](Frames& f) { f.edit(2).byte(12 + 6, 7).seal(); }},
};

class SpoiltCapture : public testing::TestWithParam<Mutation> {};

TEST_P(SpoiltCapture, IsAMismatch) {
  Frames frames = Frames::fixture(GetParam().fixture);
  GetParam().spoil(frames);
  const auto capture = take(frames);
  const Report report = replay("spoilt", *capture, {});
  const Outcome* const mismatch = find_mismatch(report, GetParam().side);
  ASSERT_NE(mismatch, nullptr) << text_report(report);
  const std::uint64_t frame = GetParam().frame != 0 ? GetParam().frame : mismatch->frame;
  EXPECT_EQ(mismatch->frame, frame) << text_report(report);
  EXPECT_EQ(judgement_of(report), Judgement::kMismatch);
}

std::string name_of_mutation(const testing::TestParamInfo<Mutation>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, SpoiltCapture, testing::ValuesIn(kMutations), name_of_mutation);

TEST(SpoiltCaptures, AreMany) {
  EXPECT_GE(kMutations.size(), 30u);
}

// What the capture says once cannot be wrong, and what the responder's program may have done cannot either if
// one says so.
TEST(MemoryChanges, AreBelievedWhenAskedTo) {
  Frames frames = Frames::fixture("vs_sizes");
  frames.edit(49).flip(16 + 700, 1).seal();
  const Report report = replay("changed", *take(frames), {.memory_changes = true});
  EXPECT_EQ(judgement_of(report), Judgement::kEqual) << text_report(report);
}

TEST(Mismatch, IsDrawnSideBySideWithAnArrowAtTheFirstDifference) {
  Frames frames = Frames::fixture("vs_sizes");
  frames.edit(14).msn(frames.edit(14).msn() + 1).seal();
  const std::string text = text_report(replay("spoilt", *take(frames), {}));
  const std::size_t arrow = text.find("==>");
  ASSERT_NE(arrow, std::string::npos) << text;
  const std::string line = text.substr(arrow, text.find('\n', arrow) - arrow);
  EXPECT_NE(line.find(" 14 "), std::string::npos) << line;
  EXPECT_NE(line.find("msn 8 "), std::string::npos) << line;
  EXPECT_NE(line.find("msn 7 "), std::string::npos) << line;
  EXPECT_EQ(text.find("==>", arrow + 1), std::string::npos) << text;
}

}  // namespace
}  // namespace urnic::replay::test
