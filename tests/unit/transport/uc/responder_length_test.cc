// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Lengths at a UC responder (fact 29): a message that breaks the rules is dropped, and the next one is not.
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

class UcResponderLength : public UcTest {
 protected:
  UcResponderLength() {
    connect();
    post_receives({1, 2});
  }

  /// None of the packets completes anything; a message after them does.
  void expect_dropped(const std::vector<QpPacket>& packets, std::uint64_t refused = 1) {
    const std::uint64_t before = count(Counter::kRequestInvalid);
    peer_sends(packets);
    EXPECT_THAT(receive_completions(), IsEmpty());
    EXPECT_EQ(count(Counter::kRequestInvalid) - before, refused);
    post_receives({7});
    peer_sends(send_only(endpoint_.next_receive_psn(), payload(3)));
    EXPECT_THAT(receive_completions(), ::testing::SizeIs(1));
    EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
  }
};

TEST_F(UcResponderLength, TakesSendsOfEveryLength) {
  for (const std::size_t length : {0u, 1u, 1023u, 1024u, 1025u, 2048u, 4096u}) {
    SCOPED_TRACE(length);
    post_receives({5});
    peer_sends(send_message(endpoint_.next_receive_psn(), payload(length), kMtu));
    EXPECT_THAT(receive_completions(), ElementsAre(Field(&Completion::byte_length, length)));
  }
}

TEST_F(UcResponderLength, TakesWritesOfEveryLength) {
  for (const std::uint8_t length_code : std::to_array<std::uint8_t>({0, 1, 2, 3, 4, 5})) {
    const std::size_t length = std::array{0u, 1u, 1023u, 1024u, 1025u, 4097u}[length_code];
    SCOPED_TRACE(length);
    const Bytes message = payload(length, length_code);
    peer_sends(write_message(endpoint_.next_receive_psn(), message, kMtu));
    EXPECT_EQ(shared_memory(0, length), message);
  }
}

TEST_F(UcResponderLength, DropsAFirstPacketThatDoesNotFillThePathMtu) {
  expect_dropped({send_first(Psn(100), payload(1023))});
  expect_dropped({send_first(Psn(110), {})});
  expect_dropped({send_first(Psn(120), payload(1025))});
  expect_dropped({write_first(Psn(130), payload(1023), 2000)});
  EXPECT_TRUE(shared_memory_is_untouched());
}

TEST_F(UcResponderLength, DropsAMiddlePacketThatDoesNotFillThePathMtu) {
  expect_dropped({send_first(Psn(100), payload(1024)), send_middle(Psn(101), payload(1020)),
                  send_last(Psn(102), payload(1))});
  expect_dropped({send_first(Psn(110), payload(1024)), send_middle(Psn(111), payload(1025))});
}

TEST_F(UcResponderLength, DropsALastPacketThatIsEmptyOrTooLong) {
  expect_dropped({send_first(Psn(100), payload(1024)), send_last(Psn(101), {})});
  expect_dropped({send_first(Psn(110), payload(1024)), send_last(Psn(111), payload(1025))});
  expect_dropped({send_only(Psn(120), payload(1025))});
}

TEST_F(UcResponderLength, DropsAWriteThatBringsLessThanItAnnounced) {
  expect_dropped({write_only(Psn(100), payload(10)).with_length(11)});
  expect_dropped({write_first(Psn(110), payload(1024), 2000), write_last(Psn(111), payload(975))});
  EXPECT_EQ(shared_memory(1024, 975), pattern(kShared.address + 1024, 975));
}

TEST_F(UcResponderLength, DropsAWriteThatBringsMoreThanItAnnounced) {
  expect_dropped({write_only(Psn(100), payload(10)).with_length(9)});
  expect_dropped({write_only(Psn(105), payload(10)).with_length(0)});
  expect_dropped({write_first(Psn(110), payload(1024), 1024)});
  expect_dropped({write_first(Psn(120), payload(1024), 2000), write_last(Psn(121), payload(977))});
  expect_dropped({write_first(Psn(130), payload(1024), 2000), write_middle(Psn(131), payload(1024))});
  EXPECT_EQ(shared_memory(1024, 1024), pattern(kShared.address + 1024, 1024));
}

TEST_F(UcResponderLength, DropsAWriteThatAnnouncesMoreThanTheLongestMessage) {
  expect_dropped({write_first(Psn(100), payload(1024), kMaxMessageBytes + 1)});
  EXPECT_EQ(count(Counter::kRequestAccessError), 0u);
}

TEST_F(UcResponderLength, ReportsTheBytesOfTheWholeWriteWithItsImmediate) {
  peer_sends({write_first(Psn(100), payload(1024), 1500),
              write_last_with_immediate(Psn(101), payload(476), 0x0a0b)});
  EXPECT_THAT(
      receive_completions(),
      ElementsAre(AllOf(Succeeded(1), Field(&Completion::byte_length, 1500u),
                        Field(&Completion::opcode, CompletionOpcode::kReceiveRdmaWithImmediate),
                        Field(&Completion::has_immediate, true), Field(&Completion::immediate, 0x0a0bu))));
}

}  // namespace
}  // namespace urnic::transport::test
