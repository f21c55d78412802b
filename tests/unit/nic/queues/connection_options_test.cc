// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a queue pair offers its peer, and what it does once both have agreed.
#include "nic/queues/connection_options.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

using transport::QpState;
using transport::Recovery;

class ConnectionOptionsTest : public testing::Test {
 protected:
  static Recovery recovery_of(QueuePair& qp) { return qp.endpoint().config().recovery; }
  void connect() {
    ASSERT_TRUE(kernel::connect(qp, DevicePair::to_peer(pair.b(), transport::QpNumber{0x11})));
  }

  DevicePair pair{{.recovery = Recovery::kSelectiveRepeat}};
  QueuePair& qp = pair.a().add_queue_pair();
};

TEST_F(ConnectionOptionsTest, HoldWhenThePeerHasThemToo) {
  EXPECT_EQ(qp.options(), kSelectiveRepeatOption);
  ASSERT_TRUE(qp.agree_on(kSelectiveRepeatOption));
  EXPECT_EQ(qp.options(), kSelectiveRepeatOption);
  ASSERT_TRUE(qp.modify(DevicePair::init_attributes()));
  ASSERT_TRUE(qp.modify(DevicePair::rtr_attributes(pair.b(), transport::QpNumber{0x11})));
  EXPECT_EQ(recovery_of(qp), Recovery::kSelectiveRepeat);
  ASSERT_TRUE(qp.modify(DevicePair::rts_attributes()));
  EXPECT_EQ(recovery_of(qp), Recovery::kSelectiveRepeat);
  EXPECT_EQ(qp.options(), kSelectiveRepeatOption);
}

TEST_F(ConnectionOptionsTest, AreOnlyOfferedWhileThePeersAreNotKnown) {
  connect();
  EXPECT_EQ(recovery_of(qp), Recovery::kGoBackN);
  EXPECT_EQ(qp.options(), 0u);
}

TEST_F(ConnectionOptionsTest, AreThoseThatBothHave) {
  ASSERT_TRUE(qp.agree_on(0xffffffff));
  EXPECT_EQ(qp.options(), kSelectiveRepeatOption);
  ASSERT_TRUE(qp.agree_on(~kSelectiveRepeatOption));
  EXPECT_EQ(qp.options(), 0u) << "the last call counts";
  connect();
  EXPECT_EQ(recovery_of(qp), Recovery::kGoBackN);
}

TEST_F(ConnectionOptionsTest, StayAsTheyAreFromRtrOn) {
  ASSERT_TRUE(qp.agree_on(0));
  connect();
  const auto late = qp.agree_on(kSelectiveRepeatOption);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, EINVAL);
  EXPECT_EQ(qp.options(), 0u);
}

TEST_F(ConnectionOptionsTest, AreForgottenByReset) {
  ASSERT_TRUE(qp.agree_on(kSelectiveRepeatOption));
  connect();
  ASSERT_TRUE(qp.modify({.state = QpState::kReset}));
  EXPECT_EQ(qp.options(), kSelectiveRepeatOption) << "which is offered again";
  connect();
  EXPECT_EQ(recovery_of(qp), Recovery::kGoBackN);
}

TEST(ConnectionOptions, AreOfferedByReliableConnectionsOfADeviceThatIsToldTo) {
  DeviceConfig device;
  EXPECT_EQ(offered_options(QpType::kRc, device), 0u);
  device.recovery = Recovery::kSelectiveRepeat;
  EXPECT_EQ(offered_options(QpType::kRc, device), 1u);
  for (const QpType other : {QpType::kUc, QpType::kUd, QpType::kXrcInitiator, QpType::kXrcTarget,
                             QpType::kRawPacket, QpType::kRss, QpType::kWorkQueue}) {
    EXPECT_EQ(offered_options(other, device), 0u);
  }
}

}  // namespace
}  // namespace urnic::nic
