// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/checks/management_observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"

namespace urnic::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr HostId kActive = host_id(0);
constexpr HostId kPassive = host_id(1);

TEST(ManagementView, ReadsARejectedRequest) {
  std::vector<CmMessage> messages;
  const auto frames = test::read_pcap(test::fixtures() / "cm_reject.pcap").value();
  for (const auto& frame : frames) {
    if (!is_management(frame.bytes)) continue;
    messages.push_back(read_management(frame.bytes).value());
  }
  ASSERT_GE(messages.size(), 2u);
  EXPECT_EQ(messages[0].kind, CmKind::kRequest);
  EXPECT_EQ(messages[1].kind, CmKind::kReject);
  EXPECT_EQ(messages[1].reason, 8);  // fact 46
  EXPECT_EQ(messages[1].local_id, 0u);
  EXPECT_EQ(messages[1].remote_id, messages[0].local_id);
}

TEST(ManagementView, TakesOtherPacketsForWhatTheyAre) {
  EXPECT_FALSE(is_management(test::read_pcap(test::fixtures() / "vs_rnr.pcap").value()[0].bytes));
}

class ManagementObserverTest : public ::testing::Test {
 protected:
  static constexpr CmMessage kRequest{.kind = CmKind::kRequest, .digest = 0xd1, .local_id = 7};

  std::string send(HostId by, HostId to, const CmMessage& message, Duration at = {}) {
    return observer_.on_sent(by, to, message, Time(at)).value_or("");
  }

  ManagementObserver observer_{std::chrono::milliseconds(10)};
};

TEST_F(ManagementObserverTest, WantsTheTimeOfTheAnswerBetweenRepeats) {
  EXPECT_EQ(send(kActive, kPassive, kRequest), "");
  EXPECT_EQ(send(kActive, kPassive, kRequest, milliseconds(4295)), "");
  EXPECT_THAT(send(kActive, kPassive, kRequest, milliseconds(4295 + 4200)), HasSubstr("within the time"));
  EXPECT_EQ(observer_.repeated(CmKind::kRequest), 2u);
}

// 4.096 us x 2^24, as Linux asks for it.
TEST_F(ManagementObserverTest, WantsTheTimeThatThePeerAsksFor) {
  const CmMessage mra{.kind = CmKind::kMessageReceipt, .local_id = 9, .remote_id = 7, .service_timeout = 24};
  EXPECT_EQ(send(kActive, kPassive, kRequest), "");
  observer_.on_taken(kActive, kPassive, mra, Time(seconds(1)));
  EXPECT_THAT(send(kActive, kPassive, kRequest, milliseconds(1000 + 68'600)), HasSubstr("asked for"));
  EXPECT_EQ(send(kActive, kPassive, kRequest, milliseconds(1000 + 68'720)), "");
}

TEST_F(ManagementObserverTest, WantsRepeatsToBeTheSame) {
  EXPECT_EQ(send(kActive, kPassive, kRequest), "");
  CmMessage another = kRequest;
  another.digest = 0xd2;
  EXPECT_THAT(send(kActive, kPassive, another, seconds(5)), HasSubstr("another content"));
}

TEST_F(ManagementObserverTest, CountsFifteenRepeats) {
  for (int i = 0; i < 16; ++i) EXPECT_EQ(send(kActive, kPassive, kRequest, i * seconds(5)), "");
  EXPECT_THAT(send(kActive, kPassive, kRequest, seconds(80)), HasSubstr("17 times"));
}

TEST_F(ManagementObserverTest, WantsEveryAnswerToHaveAQuestionThatArrived) {
  const CmMessage reply{.kind = CmKind::kReply, .local_id = 9, .remote_id = 7};
  const CmMessage ready{.kind = CmKind::kReadyToUse, .local_id = 7, .remote_id = 9};
  EXPECT_EQ(send(kActive, kPassive, kRequest), "");
  EXPECT_THAT(send(kPassive, kActive, reply), HasSubstr("answers no request"));
  observer_.on_taken(kPassive, kActive, kRequest, Time{});
  EXPECT_EQ(send(kPassive, kActive, reply), "");
  EXPECT_THAT(send(kActive, kPassive, ready), HasSubstr("answers no reply"));
  observer_.on_taken(kActive, kPassive, reply, Time{});
  EXPECT_EQ(send(kActive, kPassive, ready), "");
}

TEST_F(ManagementObserverTest, WantsADisconnectRequestBeforeItsAnswer) {
  const CmMessage request{.kind = CmKind::kDisconnectRequest, .local_id = 7, .remote_id = 9};
  const CmMessage reply{.kind = CmKind::kDisconnectReply, .local_id = 9, .remote_id = 7};
  EXPECT_THAT(send(kPassive, kActive, reply), HasSubstr("answers no disconnect request"));
  EXPECT_EQ(send(kActive, kPassive, request), "");
  observer_.on_taken(kPassive, kActive, request, Time{});
  EXPECT_EQ(send(kPassive, kActive, reply), "");
}

}  // namespace
}  // namespace urnic::sim
