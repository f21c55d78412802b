// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Lengths at the responder (fact 29).
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;

/// Lengths around a packet's: nothing, one byte, a full packet, and what needs two.
constexpr std::uint32_t kLengths[] = {0, 1, 3, 1023, 1024, 1025, 2048, 3000};

class RcResponderLength : public RcTest {
 protected:
  RcResponderLength() { connect(); }

  void expect_invalid_request_at(Psn psn, std::uint32_t msn = 0) {
    EXPECT_THAT(sent(), ElementsAre(nak(Nak::kInvalidRequest, psn, msn)));
    EXPECT_EQ(endpoint_.state(), QpState::kError);
    EXPECT_EQ(count(Counter::kRequestInvalid), 1u);
  }
};

class RcResponderGoodLength : public RcResponderLength,
                              public ::testing::WithParamInterface<std::uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Bytes, RcResponderGoodLength, ::testing::ValuesIn(kLengths));

TEST_P(RcResponderGoodLength, PlacesASendInTheReceive) {
  post_receives({1});
  const Bytes message = payload(GetParam());
  const auto packets = send_message(Psn(100), message, kMtu);

  peer_sends(packets);

  EXPECT_THAT(sent(), ElementsAre(ack(packets.back().psn, 1)));
  const auto completions = receive_completions();
  ASSERT_THAT(completions, ElementsAre(Succeeded(1)));
  EXPECT_EQ(completions[0].byte_length, GetParam());
  EXPECT_EQ(receive_memory(0, kRegionBytes),
            message + pattern(kReceiveAddress + GetParam(), kRegionBytes - GetParam()));
}

TEST_P(RcResponderGoodLength, PlacesAWriteAtItsAddress) {
  const Bytes message = payload(GetParam());
  const auto packets = write_message(Psn(100), message, kMtu, kShared + 5);

  peer_sends(packets);

  EXPECT_THAT(sent(), ElementsAre(ack(packets.back().psn, 1)));
  EXPECT_EQ(shared_memory(0, 8192), pattern(kShared.address, 5) + message +
                                        pattern(kShared.address + 5 + GetParam(), 8192 - 5 - GetParam()));
}

TEST_P(RcResponderGoodLength, AnswersAReadWithItsBytes) {
  peer_sends(read_request(Psn(100), GetParam(), kShared + 5));

  EXPECT_EQ(sent(), read_responses(Psn(100), pattern(kShared.address + 5, GetParam()), kMtu, 1));
}

TEST_F(RcResponderLength, RefusesASendFirstShorterThanThePathMtu) {
  post_receives({1});
  peer_sends(send_first(Psn(100), payload(1023)));
  expect_invalid_request_at(Psn(100));
}

TEST_F(RcResponderLength, RefusesASendFirstLongerThanThePathMtu) {
  post_receives({1});
  peer_sends(send_first(Psn(100), payload(1025)));
  expect_invalid_request_at(Psn(100));
}

TEST_F(RcResponderLength, RefusesASendMiddleShorterThanThePathMtu) {
  post_receives({1});
  peer_sends({send_first(Psn(100), payload(1024)), send_middle(Psn(101), payload(1023))});
  expect_invalid_request_at(Psn(101));
}

TEST_F(RcResponderLength, RefusesAnEmptySendLast) {
  post_receives({1});
  peer_sends({send_first(Psn(100), payload(1024)), send_last(Psn(101), {})});
  expect_invalid_request_at(Psn(101));
}

TEST_F(RcResponderLength, RefusesAnEmptySendLastWithImmediate) {
  post_receives({1});
  peer_sends({send_first(Psn(100), payload(1024)), send_last_with_immediate(Psn(101), {}, 7)});
  expect_invalid_request_at(Psn(101));
}

TEST_F(RcResponderLength, RefusesASendLastLongerThanThePathMtu) {
  post_receives({1});
  peer_sends({send_first(Psn(100), payload(1024)), send_last(Psn(101), payload(1025))});
  expect_invalid_request_at(Psn(101));
}

TEST_F(RcResponderLength, RefusesASendOnlyLongerThanThePathMtu) {
  post_receives({1});
  peer_sends(send_only(Psn(100), payload(1025)));
  expect_invalid_request_at(Psn(100));
  EXPECT_TRUE(receive_memory_is_untouched());
}

TEST_F(RcResponderLength, RefusesAWriteFirstShorterThanThePathMtu) {
  peer_sends(write_first(Psn(100), payload(1023), 3000));
  expect_invalid_request_at(Psn(100));
  EXPECT_TRUE(shared_memory_is_untouched());
}

TEST_F(RcResponderLength, RefusesAWriteMiddleShorterThanThePathMtu) {
  peer_sends({write_first(Psn(100), payload(1024), 3000), write_middle(Psn(101), payload(1023))});
  expect_invalid_request_at(Psn(101));
}

TEST_F(RcResponderLength, RefusesAWriteMiddleLongerThanThePathMtu) {
  peer_sends({write_first(Psn(100), payload(1024), 3000), write_middle(Psn(101), payload(1025))});
  expect_invalid_request_at(Psn(101));
}

TEST_F(RcResponderLength, RefusesAnEmptyWriteLast) {
  peer_sends({write_first(Psn(100), payload(1024), 1025), write_last(Psn(101), {})});
  expect_invalid_request_at(Psn(101));
}

TEST_F(RcResponderLength, RefusesAWriteLastLongerThanThePathMtu) {
  peer_sends({write_first(Psn(100), payload(1024), 2049), write_last(Psn(101), payload(1025))});
  expect_invalid_request_at(Psn(101));
}

TEST_F(RcResponderLength, RefusesAWriteOnlyLongerThanThePathMtu) {
  peer_sends(write_only(Psn(100), payload(1025)));
  expect_invalid_request_at(Psn(100));
  EXPECT_TRUE(shared_memory_is_untouched());
}

TEST_F(RcResponderLength, RefusesAWriteThatEndsShortOfItsLength) {
  peer_sends({write_first(Psn(100), payload(1024), 3000), write_last(Psn(101), payload(100))});
  expect_invalid_request_at(Psn(101));
}

TEST_F(RcResponderLength, RefusesAWriteLastThatGoesBeyondItsLength) {
  peer_sends({write_first(Psn(100), payload(1024), 1100), write_last(Psn(101), payload(77))});
  expect_invalid_request_at(Psn(101));
  EXPECT_EQ(shared_memory(1024, 1024), pattern(kShared.address + 1024, 1024));
}

TEST_F(RcResponderLength, RefusesAWriteMiddleThatGoesBeyondItsLength) {
  peer_sends({write_first(Psn(100), payload(1024), 2000), write_middle(Psn(101), payload(1024))});
  expect_invalid_request_at(Psn(101));
  EXPECT_EQ(shared_memory(1024, 2048), pattern(kShared.address + 1024, 2048));
}

TEST_F(RcResponderLength, RefusesAWriteOnlyThatIsShorterThanItsLength) {
  peer_sends(write_only(Psn(100), payload(10)).with_length(11));
  expect_invalid_request_at(Psn(100));
  EXPECT_TRUE(shared_memory_is_untouched());
}

TEST_F(RcResponderLength, RefusesAWriteOnlyThatIsLongerThanItsLength) {
  peer_sends(write_only(Psn(100), payload(10)).with_length(9));
  expect_invalid_request_at(Psn(100));
  EXPECT_TRUE(shared_memory_is_untouched());
}

// Not a zero-length WRITE whose key would not be checked (fact 31).
TEST_F(RcResponderLength, RefusesAWriteOnlyWithPayloadAndLengthZero) {
  peer_sends(write_only(Psn(100), payload(10)).with_length(0).with_rkey(Rkey{0xbad}));
  expect_invalid_request_at(Psn(100));
  EXPECT_TRUE(shared_memory_is_untouched());
}

TEST_F(RcResponderLength, RefusesAWriteFirstWithLengthZero) {
  peer_sends(write_first(Psn(100), payload(1024), 0));
  expect_invalid_request_at(Psn(100));
  EXPECT_TRUE(shared_memory_is_untouched());
}

TEST_F(RcResponderLength, RefusesAWriteFirstLongerThan2To31) {
  peer_sends(write_first(Psn(100), payload(1024), 0x80000001));
  expect_invalid_request_at(Psn(100));
}

TEST_F(RcResponderLength, RefusesAReadLongerThan2To31) {
  peer_sends(read_request(Psn(100), 0x80000001));
  expect_invalid_request_at(Psn(100));
}

TEST_F(RcResponderLength, RefusesAReadOfTheLongestLengthThatCanBeWritten) {
  peer_sends(read_request(Psn(100), 0xffffffff));
  expect_invalid_request_at(Psn(100));
}

TEST_F(RcResponderLength, KeepsTheMsnOfWhatWasCompletedInTheNak) {
  peer_sends(write_only(Psn(100), payload(10)));
  sent();
  peer_sends(write_only(Psn(101), payload(1025)));
  expect_invalid_request_at(Psn(101), 1);
}

class RcResponderMtu : public RcTest, public ::testing::WithParamInterface<PathMtu> {};

INSTANTIATE_TEST_SUITE_P(Mtu, RcResponderMtu,
                         ::testing::Values(PathMtu::k256, PathMtu::k512, PathMtu::k1024, PathMtu::k2048,
                                           PathMtu::k4096),
                         [](const auto& mtu) { return std::to_string(bytes(mtu.param)); });

TEST_P(RcResponderMtu, CutsReadResponsesAtThePathMtu) {
  config_.path_mtu = GetParam();
  connect();

  peer_sends(read_request(Psn(100), 10000));

  EXPECT_EQ(sent(), read_responses(Psn(100), pattern(kShared.address, 10000), bytes(GetParam()), 1));
}

TEST_P(RcResponderMtu, TakesAWriteCutAtThePathMtu) {
  config_.path_mtu = GetParam();
  connect();
  const auto packets = write_message(Psn(100), payload(10000), bytes(GetParam()));

  peer_sends(packets);

  EXPECT_THAT(sent(), ElementsAre(ack(packets.back().psn, 1)));
  EXPECT_EQ(shared_memory(0, 10000), payload(10000));
}

}  // namespace
}  // namespace urnic::transport::test
