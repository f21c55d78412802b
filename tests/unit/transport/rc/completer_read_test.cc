// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// READ responses at the completer (facts 26 and 28).
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

class RcCompleterRead : public RcTest {
 protected:
  RcCompleterRead() { connect(); }

  void expect_bad_response() {
    EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kBadResponse), Flushed(2)));
    EXPECT_EQ(endpoint_.state(), QpState::kError);
    EXPECT_EQ(count(Counter::kBadResponse), 1u);
  }
};

class RcCompleterReadLength : public RcCompleterRead, public ::testing::WithParamInterface<std::uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Bytes, RcCompleterReadLength,
                         ::testing::Values(0, 1, 3, 1023, 1024, 1025, 2048, 5000));

TEST_P(RcCompleterReadLength, PlacesTheResponses) {
  post(read_wr(1, GetParam()));
  const Bytes message = payload(GetParam());
  peer_sends(read_responses(Psn(200), message, kMtu));
  EXPECT_THAT(send_completions(),
              ElementsAre(AllOf(Succeeded(1), Field(&Completion::byte_length, GetParam()))));
  EXPECT_EQ(local_memory(0, 8192), message + pattern(kLocalAddress + GetParam(), 8192 - GetParam()));
  EXPECT_EQ(until_timeout(), std::nullopt);
}

TEST_F(RcCompleterRead, CompletesOnlyWithTheLastResponse) {
  post(read_wr(1, 3000));
  const auto responses = read_responses(Psn(200), payload(3000), kMtu);
  peer_sends({responses[0], responses[1]});
  EXPECT_THAT(send_completions(), IsEmpty());
  peer_sends(responses[2]);
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
}

// The peer answers the READs after the lost one before it gets to the repetition.
TEST_F(RcCompleterRead, DoesNotTimeOutWhileTheResponsesToLaterReadsGetOn) {
  post({read_wr(1, 1), read_wr(2, 3000), read_wr(3, 3000)});
  ASSERT_EQ(sent().size(), 3u);
  const auto later = read_responses(Psn(201), payload(6000), kMtu);
  peer_sends(later[0]);
  EXPECT_EQ(sent().size(), 3u) << "asks again at once";
  const Duration timeout = *until_timeout();
  for (const std::size_t i : {1u, 2u, 3u, 4u}) {
    pass(timeout * 3 / 4);
    peer_sends(later[i]);
    EXPECT_EQ(*until_timeout(), timeout);
  }
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(count(Counter::kLocalAckTimeout), 0u);
  peer_sends(read_response_only(Psn(200), payload(1)));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
}

TEST_F(RcCompleterRead, CountsRetriesAnewWhileTheResponsesToLaterReadsGetOn) {
  endpoint_.reset();
  config_.retry_count = 2;  // one for the gap and one for the timeout
  connect();
  post({read_wr(1, 1), read_wr(2, 3000)});
  const auto later = read_responses(Psn(201), payload(3000), kMtu);
  for (const QpPacket& response : later) {
    peer_sends(response);
    pass_to_timeout();
    EXPECT_THAT(send_completions(), IsEmpty());
  }
  peer_sends(later[0]);
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kRetryExceeded), Flushed(2)));
}

TEST_F(RcCompleterRead, TimesOutWhenThePeerSaysTheSameAgainAndAgain) {
  post({read_wr(1, 1), read_wr(2, 3000)});
  sent();
  const auto later = read_responses(Psn(201), payload(3000), kMtu);
  peer_sends({later[0], later[1]});
  EXPECT_EQ(sent().size(), 2u);
  const Duration timeout = *until_timeout();
  pass(timeout * 3 / 4);
  peer_sends({later[1], later[0]});
  pass(timeout / 4);
  EXPECT_EQ(count(Counter::kLocalAckTimeout), 1u);
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(200), 1)));
}

TEST_F(RcCompleterRead, ScattersOverAllElements) {
  post(read_wr(1, 0).from_elements({local(1000), local(1, 5000), local(1999, 10000)}));
  const Bytes message = payload(3000);
  peer_sends(read_responses(Psn(200), message, kMtu));
  EXPECT_EQ(local_memory(0, 1000), slice(message, 0, 1000));
  EXPECT_EQ(local_memory(5000, 1), slice(message, 1000, 1));
  EXPECT_EQ(local_memory(10000, 1999), slice(message, 1001, 1999));
}

TEST_F(RcCompleterRead, PlacesResponsesAcross2To24) {
  endpoint_.reset();
  config_.send_psn = Psn(0xfffffe);
  connect();
  post(read_wr(1, 4000));
  peer_sends(read_responses(Psn(0xfffffe), payload(4000), kMtu));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(local_memory(0, 4000), payload(4000));
}

TEST_F(RcCompleterRead, PlacesTheResponsesOfSeveralReads) {
  post({read_wr(1, 2000), read_wr(2, 0), read_wr(3, 0).from_elements({local(10, 5000)})});
  peer_sends(read_responses(Psn(200), payload(2000), kMtu, 1));
  peer_sends({read_response_only(Psn(202), {}, 2), read_response_only(Psn(203), payload(10, 1), 3)});
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1), Succeeded(2), Succeeded(3)));
  EXPECT_EQ(local_memory(5000, 10), payload(10, 1));
}

// Fact 26: PSN + n, address + n x PMTU, length reduced (4000 -> 2976 at +1024).
TEST_F(RcCompleterRead, ResumesAReadAtAMissingResponse) {
  post(read_wr(1, 4000));
  sent();
  const auto responses = read_responses(Psn(200), payload(4000), kMtu);
  peer_sends({responses[0], responses[2]});
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(201), 2976, kShared + 1024)));
}

TEST_F(RcCompleterRead, RepeatsAReadWhoseFirstResponseIsMissing) {
  post(read_wr(1, 4000));
  sent();
  peer_sends(read_response_middle(Psn(201), slice(payload(4000), 1024, 1024)));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(200), 4000)));
}

TEST_F(RcCompleterRead, ResumesAcross2To24) {
  endpoint_.reset();
  config_.send_psn = Psn(0xfffffe);
  connect();
  post(read_wr(1, 4000));
  sent();
  const auto responses = read_responses(Psn(0xfffffe), payload(4000), kMtu);
  peer_sends({responses[0], responses[1], responses[3]});
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(0), 1952, kShared + 2048)));
}

TEST_F(RcCompleterRead, ResumesOncePerGap) {
  post(read_wr(1, 5000));
  sent();
  const auto responses = read_responses(Psn(200), payload(5000), kMtu);
  peer_sends(responses[0]);
  peer_sends(responses[2]);
  peer_sends(responses[3]);
  peer_sends(responses[4]);
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(201), 3976, kShared + 1024)));
}

// Fact 26: FIRST again, as a ConnectX or we would answer.
TEST_F(RcCompleterRead, TakesTheResponsesOfAResumedReadThatBeginWithFirst) {
  post(read_wr(1, 4000));
  const Bytes message = payload(4000);
  const auto responses = read_responses(Psn(200), message, kMtu);
  peer_sends({responses[0], responses[2]});
  peer_sends(read_responses(Psn(201), slice(message, 1024, 2976), kMtu, 2));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(local_memory(0, 4000), message);
}

// As rxe answers in capture vs_loss_both, frames 52 and 60 to 67: the request resumes at PSN 11815761,
// and the responses go on with MIDDLE.
TEST_F(RcCompleterRead, TakesTheResponsesOfAResumedReadThatGoOnWithMiddle) {
  post(read_wr(1, 4000));
  const Bytes message = payload(4000);
  const auto responses = read_responses(Psn(200), message, kMtu);
  peer_sends({responses[0], responses[2]});
  peer_sends({responses[1], responses[2], responses[3]});
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(local_memory(0, 4000), message);
}

TEST_F(RcCompleterRead, TakesTheLastResponseOfAResumedReadAsOnly) {
  post(read_wr(1, 2000));
  const Bytes message = payload(2000);
  peer_sends(read_response_first(Psn(200), slice(message, 0, 1024)));
  pass_to_timeout();
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(200), 2000), read_request(Psn(201), 976, kShared + 1024)));
  peer_sends(read_response_only(Psn(201), slice(message, 1024, 976)));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(local_memory(0, 2000), message);
}

TEST_F(RcCompleterRead, TakesTheLastResponseOfAResumedReadAsLast) {
  post(read_wr(1, 2000));
  const Bytes message = payload(2000);
  peer_sends(read_response_first(Psn(200), slice(message, 0, 1024)));
  pass_to_timeout();
  peer_sends(read_response_last(Psn(201), slice(message, 1024, 976)));
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  EXPECT_EQ(local_memory(0, 2000), message);
}

TEST_F(RcCompleterRead, IgnoresResponsesThatCameTwice) {
  post({read_wr(1, 3000), send_wr(2, 10)});
  const auto responses = read_responses(Psn(200), payload(3000), kMtu);
  sent();
  peer_sends({responses[0], responses[0], responses[1], responses[0], responses[1], responses[2]});
  EXPECT_THAT(send_completions(), ElementsAre(Succeeded(1)));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(local_memory(0, 3000), payload(3000));
}

// The memory is the program's again: a late response must not write to it.
TEST_F(RcCompleterRead, DoesNotPlaceAResponseAfterTheCompletion) {
  post(read_wr(1, 10));
  peer_sends(read_response_only(Psn(200), payload(10)));
  dma_.forget_calls();
  peer_sends(read_response_only(Psn(200), payload(10, 1)));
  EXPECT_THAT(dma_.calls(), IsEmpty());
  EXPECT_EQ(local_memory(0, 10), payload(10));
}

TEST_F(RcCompleterRead, IgnoresResponsesToSends) {
  post(send_wr(1, 10));
  sent();
  peer_sends(read_response_only(Psn(200), payload(10)));
  for (const Completion& completion : send_completions()) {
    EXPECT_NE(completion.status, CompletionStatus::kSuccess);
  }
  EXPECT_EQ(local_memory(0, 10), pattern(kLocalAddress, 10));
}

TEST_F(RcCompleterRead, IgnoresAResponseToAReadThatWasNotSent) {
  post(read_wr(1, 10));
  sent();
  peer_sends(read_response_only(Psn(201), payload(10)));
  EXPECT_THAT(send_completions(), IsEmpty());
  EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
}

TEST_F(RcCompleterRead, FailsOnAFirstResponseThatIsTooShort) {
  post({read_wr(1, 3000), send_wr(2, 10)});
  peer_sends(read_response_first(Psn(200), payload(1023)));
  expect_bad_response();
}

TEST_F(RcCompleterRead, FailsOnAFirstResponseThatIsTooLong) {
  post({read_wr(1, 3000), send_wr(2, 10)});
  peer_sends(read_response_first(Psn(200), payload(1025)));
  expect_bad_response();
}

TEST_F(RcCompleterRead, FailsOnAMiddleResponseThatIsTooShort) {
  post({read_wr(1, 3000), send_wr(2, 10)});
  peer_sends({read_response_first(Psn(200), payload(1024)), read_response_middle(Psn(201), payload(1000))});
  expect_bad_response();
}

TEST_F(RcCompleterRead, FailsOnALastResponseThatIsTooShort) {
  post({read_wr(1, 2000), send_wr(2, 10)});
  peer_sends({read_response_first(Psn(200), payload(1024)), read_response_last(Psn(201), payload(975))});
  expect_bad_response();
}

TEST_F(RcCompleterRead, FailsOnALastResponseThatIsTooLong) {
  post({read_wr(1, 2000), send_wr(2, 10)});
  peer_sends({read_response_first(Psn(200), payload(1024)), read_response_last(Psn(201), payload(977))});
  expect_bad_response();
  EXPECT_EQ(local_memory(2000, 100), pattern(kLocalAddress + 2000, 100));
}

TEST_F(RcCompleterRead, FailsOnAnEmptyLastResponse) {
  post({read_wr(1, 2000), send_wr(2, 10)});
  peer_sends({read_response_first(Psn(200), payload(1024)), read_response_last(Psn(201), {})});
  expect_bad_response();
}

TEST_F(RcCompleterRead, FailsOnAnOnlyResponseThatIsTooShort) {
  post({read_wr(1, 10), send_wr(2, 10)});
  peer_sends(read_response_only(Psn(200), payload(9)));
  expect_bad_response();
}

TEST_F(RcCompleterRead, FailsOnAnOnlyResponseThatIsTooLong) {
  post({read_wr(1, 10), send_wr(2, 10)});
  peer_sends(read_response_only(Psn(200), payload(11)));
  expect_bad_response();
  EXPECT_EQ(local_memory(0, 20), pattern(kLocalAddress, 20));
}

TEST_F(RcCompleterRead, FailsOnAnOnlyResponseToALongRead) {
  post({read_wr(1, 3000), send_wr(2, 10)});
  peer_sends(read_response_only(Psn(200), payload(1024)));
  expect_bad_response();
}

TEST_F(RcCompleterRead, FailsOnAFirstResponseToAShortRead) {
  post({read_wr(1, 1024), send_wr(2, 10)});
  peer_sends(read_response_first(Psn(200), payload(1024)));
  expect_bad_response();
}

TEST_F(RcCompleterRead, FailsOnALastResponseThatComesTooEarly) {
  post({read_wr(1, 3000), send_wr(2, 10)});
  peer_sends({read_response_first(Psn(200), payload(1024)), read_response_last(Psn(201), payload(952))});
  expect_bad_response();
}

TEST_F(RcCompleterRead, FailsOnAMiddleResponseThatShouldBeTheLast) {
  post({read_wr(1, 2048), send_wr(2, 10)});
  peer_sends({read_response_first(Psn(200), payload(1024)), read_response_middle(Psn(201), payload(1024))});
  expect_bad_response();
}

TEST_F(RcCompleterRead, FailsOnAMiddleResponseThatShouldBeTheFirst) {
  post({read_wr(1, 3000), send_wr(2, 10)});
  peer_sends(read_response_middle(Psn(200), payload(1024)));
  expect_bad_response();
}

TEST_F(RcCompleterRead, FailsWhenItsOwnMemoryIsNotThere) {
  post({read_wr(1, 0).from_elements({{.address = kLocalAddress, .length = 10, .lkey = Lkey{0xbad}}}),
        send_wr(2, 10)});
  peer_sends(read_response_only(Psn(200), payload(10)));
  EXPECT_THAT(send_completions(),
              ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError), Flushed(2)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

TEST_F(RcCompleterRead, FailsWhenItMayNotWriteItsOwnMemory) {
  dma_.set_access(to_integer(kLocalKey), Access::kNone);
  post(read_wr(1, 10));
  peer_sends(read_response_only(Psn(200), payload(10)));
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError)));
}

TEST_F(RcCompleterRead, FailsWhenItsOwnMemoryVanishesMidway) {
  post(read_wr(1, 3000));
  const auto responses = read_responses(Psn(200), payload(3000), kMtu);
  peer_sends(responses[0]);
  dma_.remove_region(to_integer(kLocalKey));
  peer_sends(responses[1]);
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError)));
}

// The peer says it in the response's own AETH.
TEST_F(RcCompleterRead, DoesNotTakeDataFromAResponseThatIsANak) {
  post(read_wr(1, 10));
  sent();
  peer_sends(read_response_only(Psn(200), payload(10)).with_syndrome(0x62));
  for (const Completion& completion : send_completions()) {
    EXPECT_NE(completion.status, CompletionStatus::kSuccess);
  }
}

}  // namespace
}  // namespace urnic::transport::test
