// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Messages of the connection manager, from recordings of rdma_rxe. The numbers are those that tshark shows
// for RC; it does not take SIDR apart, and those were read in the bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/capture_folders.h"
#include "tests/support/value_of.h"
#include "tools/conformance/check/capture_reader.h"
#include "tools/conformance/check/cm/message.h"

namespace urnic::check::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<CmMessage> messages_in(const std::string& capture) {
  std::vector<CmMessage> messages;
  std::string why;
  auto reader = CaptureReader::open((urnic::test::fixtures() / (capture + ".pcap")).string(), why);
  if (!reader) urnic::test::end_test(why);
  while (true) {
    const auto raw = reader->next();
    if (!raw) break;
    const auto frame = parse_frame(raw->link_type, raw->bytes);
    if (const auto message = parse_cm(parse_packet(frame.value()))) messages.push_back(*message);
  }
  return messages;
}

std::vector<std::string> texts_of(const std::string& capture) {
  std::vector<std::string> texts;
  for (const CmMessage& message : messages_in(capture)) texts.push_back(describe(message));
  return texts;
}

TEST(CmMessage, SaysWhoWantsToConnectAndWithWhichPsns) {
  EXPECT_THAT(texts_of("rping_ipv6"),
              ElementsAre("CM REQ port 7174 qp 0x00001b psn 4564813", "CM REP qp 0x00001b psn 1671758",
                          "CM RTU", "CM DREQ qp 0x00001b", "CM DREP"));
}

TEST(CmMessage, SaysWhyAConnectionIsRejected) {
  EXPECT_THAT(texts_of("cm_reject"),
              ElementsAre("CM REQ port 7174 qp 0x00001d psn 12436593", "CM REJ 8, no listener"));
}

TEST(CmMessage, SaysWhichQueuePairTakesDatagrams) {
  EXPECT_THAT(texts_of("udaddy"), ElementsAre("CM SIDR_REQ UDP port 7174", "CM SIDR_REP qp 0x000020"));
}

// Fact 46: a REJ of a REQ without a listener has no communication ID of its own.
TEST(CmMessage, AnswersTheIdOfTheRequest) {
  const auto rejected = messages_in("cm_reject");
  ASSERT_EQ(rejected.size(), 2u);
  EXPECT_EQ(rejected[1].local_id, 0u);
  EXPECT_EQ(rejected[1].remote_id, rejected[0].local_id);
  const auto accepted = messages_in("rping_ipv6");
  ASSERT_EQ(accepted.size(), 5u);
  EXPECT_EQ(accepted[1].remote_id, accepted[0].local_id);
  EXPECT_EQ(accepted[2].local_id, accepted[0].local_id);
  EXPECT_EQ(accepted[2].remote_id, accepted[1].local_id);
}

TEST(CmMessage, IsNothingElse) {
  EXPECT_THAT(messages_in("mckey"), IsEmpty());
}

/// A REQ made by hand.
class MadeMessage : public testing::Test {
 protected:
  MadeMessage() : bytes_(256) {
    put(1, 7);
    put(17, 0x10);
  }
  void put(std::size_t at, std::uint8_t value) { bytes_[at] = std::byte{value}; }
  std::optional<CmMessage> read() const {
    Packet packet;
    packet.destination_qp = 1;
    packet.payload = bytes_;
    return parse_cm(packet);
  }

  std::vector<std::byte> bytes_;
};

TEST_F(MadeMessage, HasATransport) {
  EXPECT_EQ(read()->transport, CmTransport::kRc);
  put(24 + 43, 1 << 1);
  EXPECT_EQ(describe(*read()), "CM REQ UC service 0x0 qp 0x000000 psn 0");
  put(24 + 43, 3 << 1);
  EXPECT_EQ(read()->transport, CmTransport::kOther);
  put(24 + 51, 1);
  EXPECT_EQ(read()->transport, CmTransport::kXrc);
}

TEST_F(MadeMessage, IsReadWhereAllOfItWasCaptured) {
  bytes_.resize(255);
  EXPECT_FALSE(read());
}

TEST_F(MadeMessage, HasAnAttributeOfConnectionManagement) {
  for (unsigned attribute = 0; attribute < 0x100; ++attribute) {
    put(17, static_cast<std::uint8_t>(attribute));
    const auto message = read();
    EXPECT_EQ(message.has_value(), attribute >= 0x10 && attribute <= 0x1a);
    if (message) {
      EXPECT_THAT(describe(*message), testing::StartsWith("CM "));
    }
  }
}

}  // namespace
}  // namespace urnic::check::test
