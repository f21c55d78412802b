// The judge of selective repeat, by packets written from transport/rc/SELECTIVE_REPEAT.md: it must complain about
// what the page forbids, and about nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <initializer_list>

#include "tools/sim/checks/flow_observer.h"

namespace urnic::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr std::uint32_t kMtu = 256;
constexpr std::uint32_t kFirst = 100;
constexpr std::array<std::byte, kMtu> kData{};
constexpr std::uint8_t kRnrNak = 0x20 | 14;  // 1.28 ms

/// A WRITE of one packet.
WireView write_only(std::uint32_t psn) {
  return {.opcode = 0x0a,
          .psn = psn,
          .ack_request = true,
          .kind = PacketKind::kWrite,
          .is_first = true,
          .is_last = true,
          .length = 8,
          .payload = std::span(kData).first(8)};
}

WireView send_only(std::uint32_t psn) {
  return {.opcode = 4,
          .psn = psn,
          .ack_request = true,
          .kind = PacketKind::kSend,
          .is_first = true,
          .is_last = true,
          .payload = std::span(kData).first(8)};
}

WireView read(std::uint32_t psn, std::uint32_t packets, std::uint64_t address = 0x1000) {
  return {.opcode = 12,
          .psn = psn,
          .ack_request = true,
          .kind = PacketKind::kReadRequest,
          .is_first = true,
          .is_last = true,
          .has_reth = true,
          .address = address,
          .length = packets * kMtu};
}

WireView read_response(std::uint32_t psn, bool first, bool last, std::uint32_t msn) {
  return {.psn = psn,
          .kind = PacketKind::kReadResponse,
          .is_first = first,
          .is_last = last,
          .has_aeth = first || last,
          .syndrome = 0x1f,
          .msn = msn,
          .payload = kData};
}

WireView acknowledge(std::uint32_t psn, std::uint32_t msn, std::uint8_t syndrome = 0x1f) {
  return {.opcode = 17,
          .psn = psn,
          .kind = PacketKind::kAcknowledge,
          .has_aeth = true,
          .syndrome = syndrome,
          .msn = msn};
}

/// Two ends of which one sends from PSN 100 on. What leaves is lost unless a test says that it is taken.
class SelectiveRepeat : public ::testing::Test {
 protected:
  explicit SelectiveRepeat(std::uint32_t first_psn = kFirst)
      : observer_({.mtu_bytes = kMtu,
                   .window_packets = 8,
                   .max_reads_in_flight = 4,
                   .ack_timeout = 4ms,
                   .first_psn = first_psn,
                   .recovery = transport::Recovery::kSelectiveRepeat}) {
    for (int i = 0; i < 300; ++i) observer_.on_posted({});
  }

  /// `held` are PSNs.
  WireView selective_nak(std::uint32_t psn, std::uint32_t msn, std::initializer_list<std::uint32_t> held) {
    bits_ = {};
    for (const std::uint32_t one : held) {
      const std::uint32_t bit = one - psn - 1;
      bits_[bit / 8] |= std::byte{1} << (bit % 8);
    }
    return {.opcode = 0xd1,
            .psn = psn,
            .kind = PacketKind::kAcknowledge,
            .has_aeth = true,
            .is_selective_nak = true,
            .syndrome = 0x60,
            .msn = msn,
            .payload = bits_};
  }

  FlowObserver::Complaint sent(const WireView& packet) { return observer_.on_request_sent(packet, now_); }
  FlowObserver::Complaint answered(const WireView& packet) {
    return observer_.on_response_sent(packet, now_);
  }
  void take(const WireView& packet) { observer_.on_request_taken(packet, now_); }
  void learn(const WireView& packet) { observer_.on_response_taken(packet, now_); }

  void lose(const WireView& packet) { EXPECT_THAT(sent(packet), Eq(std::nullopt)) << packet.psn; }
  void request(const WireView& packet) {
    lose(packet);
    take(packet);
  }
  void lose_answer(const WireView& packet) { EXPECT_THAT(answered(packet), Eq(std::nullopt)); }
  void answer(const WireView& packet) {
    lose_answer(packet);
    learn(packet);
  }
  /// WRITEs of one packet each.
  void request_writes(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t psn = first; psn <= last; ++psn) request(write_only(psn));
  }

  Time now_{1s};
  std::array<std::byte, 32> bits_{};
  FlowObserver observer_;
};

// --- What the page describes ---

TEST_F(SelectiveRepeat, OnePacketIsLostAndSentAgainAlone) {
  request(write_only(100));
  lose(write_only(101));
  request_writes(102, 104);
  answer(selective_nak(101, 1, {102, 103, 104}));
  request(write_only(101));
  answer(acknowledge(104, 5));
  request_writes(105, 112);
}

TEST_F(SelectiveRepeat, EachPacketAheadMayHaveItsOwnNak) {
  lose(write_only(100));
  request(write_only(101));
  request(write_only(102));
  answer(selective_nak(100, 0, {101, 102}));
  answer(selective_nak(100, 0, {101, 102}));
  request(write_only(100));
}

TEST_F(SelectiveRepeat, ASecondGapIsReportedWhenTheFirstIsClosed) {
  lose(write_only(100));
  request(write_only(101));
  lose(write_only(102));
  request(write_only(103));
  answer(selective_nak(100, 0, {101, 103}));
  request(write_only(100));
  answer(selective_nak(102, 2, {103}));
  request(write_only(102));
  answer(acknowledge(103, 4));
}

TEST_F(SelectiveRepeat, ARepetitionIsLostAgainWhenSomethingNewerIsHeld) {
  lose(write_only(100));
  request(write_only(101));
  answer(selective_nak(100, 0, {101}));
  lose(write_only(100));
  request(write_only(102));
  answer(selective_nak(100, 0, {101, 102}));
  request(write_only(100));
}

TEST_F(SelectiveRepeat, WhatIsHeldIsNotInFlight) {
  lose(write_only(100));
  request_writes(101, 107);
  answer(selective_nak(100, 0, {101, 102, 103, 104, 105, 106, 107}));
  lose(write_only(100));
  request_writes(108, 114);
  EXPECT_THAT(sent(write_only(115)), Optional(HasSubstr("9 packets in flight of at most 8")));
}

TEST_F(SelectiveRepeat, AfterATimeoutEverythingIsSentAgain) {
  lose(write_only(100));
  request(write_only(101));
  answer(selective_nak(100, 0, {101}));
  lose(write_only(100));
  now_ += 4ms;
  request(write_only(100));
  request(write_only(101));
  request(write_only(102));
}

TEST_F(SelectiveRepeat, WhatComesTooFarAheadIsDropped) {
  lose(read(100, 300));
  request(write_only(400));
  answer(selective_nak(100, 0, {}));
  request(read(100, 300));
  request(write_only(400));
}

TEST_F(SelectiveRepeat, AHeldPacketThatFindsNoReceiveIsSentAgain) {
  lose(write_only(100));
  request(send_only(101));
  request(write_only(102));
  answer(selective_nak(100, 0, {101, 102}));
  request(write_only(100));
  answer(acknowledge(101, 1, kRnrNak));
  now_ += 1280us;
  request(send_only(101));
  answer(acknowledge(102, 3));
}

TEST_F(SelectiveRepeat, ANakTellsThatAHeldPacketWasRefused) {
  lose(write_only(100));
  request(send_only(101));
  request(write_only(102));
  answer(selective_nak(100, 0, {101, 102}));
  request(write_only(100));
  lose_answer(acknowledge(101, 1, kRnrNak));
  request(write_only(103));
  answer(selective_nak(101, 1, {102, 103}));
  request(send_only(101));
}

TEST_F(SelectiveRepeat, TheResponseToAHeldReadReportsTheEndOfAGap) {
  lose(write_only(100));
  request(read(101, 1));
  lose_answer(selective_nak(100, 0, {101}));
  now_ += 4ms;
  request(write_only(100));
  lose_answer(read_response(101, true, true, 2));
  now_ += 4ms;
  request(write_only(100));
  EXPECT_EQ(observer_.longest_silence(), 0ms);
}

// The first one is lost by the NAK too: only the second one tells that a timeout has sent both.
TEST_F(SelectiveRepeat, ATimeoutCountsFromTheFirstPacketThatIsSentAgain) {
  lose(write_only(100));
  request(write_only(101));
  answer(selective_nak(100, 0, {101}));
  now_ += 4ms;
  lose(write_only(100));
  now_ += 1ms;  // the port took no more
  lose(write_only(101));
  now_ += 3ms;
  lose(write_only(100));
  lose(write_only(101));
}

TEST_F(SelectiveRepeat, ANakMayComeInPlaceOfAnRnrNak) {
  request(send_only(100));  // there was no receive
  request(write_only(101));
  lose_answer(selective_nak(100, 0, {101}));
}

TEST_F(SelectiveRepeat, AReadIsAskedAgainWithoutWhatItPassed) {
  request(read(100, 2));
  lose_answer(read_response(100, true, false, 1));
  lose_answer(read_response(101, false, true, 1));
  request(write_only(102));
  answer(acknowledge(102, 2));
  request(read(100, 2));
  EXPECT_THAT(sent(write_only(102)), Optional(HasSubstr("the peer has it")));
}

TEST_F(SelectiveRepeat, ADuplicateIsAnsweredByANakWhilePacketsAreHeld) {
  request(write_only(100));
  answer(acknowledge(100, 1));
  lose(write_only(101));
  request(write_only(102));
  lose_answer(selective_nak(101, 1, {102}));
  take(write_only(100));
  answer(selective_nak(101, 1, {102}));
}

class SelectiveRepeatNearTheWrap : public SelectiveRepeat {
 protected:
  SelectiveRepeatNearTheWrap() : SelectiveRepeat(0xfffffe) {}
};

TEST_F(SelectiveRepeatNearTheWrap, PsnsGoOnAtZero) {
  lose(write_only(0xfffffe));
  request(write_only(0xffffff));
  request(write_only(0));
  request(write_only(1));
  WireView nak = selective_nak(0xfffffe, 0, {});
  bits_[0] = std::byte{7};
  answer(nak);
  request(write_only(0xfffffe));
  answer(acknowledge(1, 4));
}

// --- What the responder gets wrong ---

TEST_F(SelectiveRepeat, ComplainsAboutASelectiveNakWithoutAnAgreement) {
  FlowObserver observer({.mtu_bytes = kMtu, .first_psn = kFirst});
  for (int i = 0; i < 2; ++i) observer.on_posted({});
  EXPECT_THAT(observer.on_request_sent(write_only(100), now_), Eq(std::nullopt));
  EXPECT_THAT(observer.on_request_sent(write_only(101), now_), Eq(std::nullopt));
  observer.on_request_taken(write_only(101), now_);
  EXPECT_THAT(observer.on_response_sent(selective_nak(100, 0, {101}), now_),
              Optional(HasSubstr("goes back N")));
}

TEST_F(SelectiveRepeat, ComplainsAboutANakThatDoesNotSayWhatIsHeld) {
  lose(write_only(100));
  request(write_only(101));
  EXPECT_THAT(answered(acknowledge(100, 0, 0x60)), Optional(HasSubstr("does not say what is held")));
}

TEST_F(SelectiveRepeat, ComplainsAboutAnotherSyndrome) {
  lose(write_only(100));
  request(write_only(101));
  WireView nak = selective_nak(100, 0, {101});
  nak.syndrome = 0x61;
  EXPECT_THAT(answered(nak), Optional(HasSubstr("syndrome")));
}

TEST_F(SelectiveRepeat, ComplainsAboutANakThatPassesWhatIsMissing) {
  lose(write_only(100));
  request(write_only(101));
  request(write_only(102));
  EXPECT_THAT(answered(selective_nak(101, 1, {102})), Optional(HasSubstr("passes PSN 0x64")));
}

TEST_F(SelectiveRepeat, ComplainsAboutANakOfAPacketThatHasCome) {
  request(write_only(100));
  request(write_only(101));
  lose(write_only(102));
  request(write_only(103));
  EXPECT_THAT(answered(selective_nak(101, 1, {103})), Optional(HasSubstr("does not name PSN 0x66")));
}

TEST_F(SelectiveRepeat, ComplainsAboutAClaimToHoldWhatWasLost) {
  lose(write_only(100));
  request(write_only(101));
  lose(write_only(102));
  request(write_only(103));
  EXPECT_THAT(answered(selective_nak(100, 0, {101, 102, 103})),
              Optional(HasSubstr("claims to hold PSN 0x66")));
}

TEST_F(SelectiveRepeat, ComplainsAboutAHeldPacketThatIsNotNamed) {
  lose(write_only(100));
  request(write_only(101));
  request(write_only(102));
  EXPECT_THAT(answered(selective_nak(100, 0, {102})),
              Optional(HasSubstr("does not say that PSN 0x65 is held")));
}

TEST_F(SelectiveRepeat, ComplainsAboutAClaimToHoldWhatWasRefused) {
  request(send_only(100));
  lose(write_only(101));
  request(write_only(102));
  lose_answer(acknowledge(100, 0, kRnrNak));
  lose(write_only(103));
  take(write_only(103));
  lose_answer(selective_nak(100, 0, {102, 103}));
  take(write_only(103));
  EXPECT_THAT(answered(selective_nak(100, 0, {101, 102, 103})), Optional(HasSubstr("claims to hold")));
}

TEST_F(SelectiveRepeat, ComplainsAboutTheMsnOfMessagesThatAreHeld) {
  lose(write_only(100));
  request(write_only(101));
  EXPECT_THAT(answered(selective_nak(100, 1, {101})), Optional(HasSubstr("MSN 1 where 0..0 is right")));
}

TEST_F(SelectiveRepeat, ComplainsAboutANakThatNothingCalledFor) {
  lose(write_only(100));
  request(write_only(101));
  answer(selective_nak(100, 0, {101}));
  EXPECT_THAT(answered(selective_nak(100, 0, {101})), Optional(HasSubstr("no packet called for")));
}

TEST_F(SelectiveRepeat, ComplainsAboutAnAckOfWhatIsHeld) {
  lose(write_only(100));
  request(write_only(101));
  EXPECT_THAT(answered(acknowledge(101, 2)), Optional(HasSubstr("has not come yet")));
}

TEST_F(SelectiveRepeat, ComplainsAboutAnAckWhilePacketsAreHeld) {
  request(write_only(100));
  lose(write_only(101));
  request(write_only(102));
  EXPECT_THAT(answered(acknowledge(100, 1)), Optional(HasSubstr("an ACK though packets are held")));
}

TEST_F(SelectiveRepeat, NotesHowLongAGapIsNotReported) {
  lose(write_only(100));
  request(write_only(101));
  now_ += 3ms;
  EXPECT_EQ(observer_.longest_silence(), 0ms);
  request(write_only(102));
  EXPECT_EQ(observer_.longest_silence(), 3ms);
}

TEST_F(SelectiveRepeat, NotesHowLongTheEndOfAGapIsNotReported) {
  lose(write_only(100));
  request(write_only(101));
  answer(selective_nak(100, 0, {101}));
  request(write_only(100));
  now_ += 2ms;
  request(write_only(102));
  EXPECT_EQ(observer_.longest_silence(), 2ms);
  answer(acknowledge(102, 3));
  now_ += 3ms;
  request(write_only(103));
  EXPECT_EQ(observer_.longest_silence(), 2ms);
}

TEST_F(SelectiveRepeat, ComplainsAboutAReceiveOfAHeldMessageThatCompletesBeforeTheReport) {
  lose(write_only(100));
  request(send_only(101));
  answer(selective_nak(100, 0, {101}));
  now_ += 6ms;
  request(write_only(100));
  EXPECT_THAT(observer_.on_receive_completed(now_), Optional(HasSubstr("before its acknowledgement leaves")));
}

// --- What the requester gets wrong ---

TEST_F(SelectiveRepeat, ComplainsAboutARepetitionOfWhatIsHeld) {
  lose(write_only(100));
  request(write_only(101));
  answer(selective_nak(100, 0, {101}));
  request(write_only(100));
  EXPECT_THAT(sent(write_only(101)), Optional(HasSubstr("the peer holds it")));
}

TEST_F(SelectiveRepeat, ComplainsAboutARepetitionOfWhatIsBehindTheLastHeldPacket) {
  lose(write_only(100));
  request(write_only(101));
  lose(write_only(102));
  answer(selective_nak(100, 0, {101}));
  request(write_only(100));
  EXPECT_THAT(sent(write_only(102)), Optional(HasSubstr("not lost")));
}

TEST_F(SelectiveRepeat, ComplainsAboutASecondRepetitionInARound) {
  lose(write_only(100));
  request(write_only(101));
  request(write_only(102));
  answer(selective_nak(100, 0, {101, 102}));
  lose(write_only(100));
  answer(selective_nak(100, 0, {101, 102}));
  EXPECT_THAT(sent(write_only(100)), Optional(HasSubstr("no packet is held that was new")));
}

TEST_F(SelectiveRepeat, ComplainsAboutANewPacketBeforeALostOne) {
  lose(write_only(100));
  request(write_only(101));
  answer(selective_nak(100, 0, {101}));
  EXPECT_THAT(sent(write_only(102)), Optional(HasSubstr("a new packet before PSN 0x64")));
}

TEST_F(SelectiveRepeat, ComplainsAboutARepetitionAfterAnOldNak) {
  lose(read(100, 300));
  request(write_only(400));
  request(write_only(401));
  lose_answer(selective_nak(100, 0, {}));
  answer(selective_nak(100, 0, {}));
  request(read(100, 300));
  request(write_only(400));
  request(write_only(401));
  for (std::uint32_t psn = 100; psn < 400; ++psn) {
    lose_answer(read_response(psn, psn == 100, psn == 399, 1));
  }
  answer(acknowledge(401, 3));
  learn(selective_nak(100, 0, {}));
  EXPECT_THAT(sent(write_only(400)), Optional(HasSubstr("the peer has it")));
}

TEST_F(SelectiveRepeat, ComplainsAboutARepetitionBeforeTheTimeout) {
  request(write_only(100));
  now_ += 3ms;
  EXPECT_THAT(sent(write_only(100)), Optional(HasSubstr("not lost")));
}

TEST_F(SelectiveRepeat, ComplainsWhenATimeoutDoesNotBeginWithTheOldest) {
  request(write_only(100));
  request(write_only(101));
  now_ += 4ms;
  EXPECT_THAT(sent(write_only(101)), Optional(HasSubstr("not to PSN 0x64")));
}

TEST_F(SelectiveRepeat, ComplainsWhenATimeoutDoesNotForgetWhatIsHeld) {
  lose(write_only(100));
  request(write_only(101));
  answer(selective_nak(100, 0, {101}));
  lose(write_only(100));
  now_ += 4ms;
  request(write_only(100));
  EXPECT_THAT(sent(write_only(102)), Optional(HasSubstr("a new packet before PSN 0x65")));
}

TEST_F(SelectiveRepeat, ComplainsWhenTheReceiverWasNotGivenItsTime) {
  request(send_only(100));
  request(write_only(101));
  answer(acknowledge(100, 0, kRnrNak));
  EXPECT_THAT(sent(send_only(100)), Optional(HasSubstr("before the receiver said it would be ready")));
}

TEST_F(SelectiveRepeat, ComplainsAboutMoreUnacknowledgedPacketsThanCanBeHeld) {
  lose(write_only(100));
  for (std::uint32_t psn = 101; psn < 100 + 256; ++psn) {
    request(write_only(psn));
    WireView nak = selective_nak(100, 0, {});
    for (std::uint32_t held = 0; held < psn - 100; ++held) bits_[held / 8] |= std::byte{1} << (held % 8);
    answer(nak);
    lose(write_only(100));
  }
  EXPECT_THAT(sent(write_only(356)), Optional(HasSubstr("while 256 are not acknowledged")));
}

}  // namespace
}  // namespace urnic::sim
