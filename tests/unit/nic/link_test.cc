// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A NIC whose link goes down and comes up again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;

class Link : public testing::Test {
 protected:
  Link() {
    pair.connect();
    pair.settle();
    pair.b().post_receive(1, 0, 100);
    pair.b().post_receive(2, 0, 100);
  }

  DevicePair pair;
};

TEST_F(Link, LosesWhatTheNicSends) {
  ASSERT_TRUE(pair.a().device().set_link(false));
  EXPECT_FALSE(pair.a().device().has_link());
  pair.a().post_send(1, 0, 100);
  pair.pass(10s);
  EXPECT_EQ(pair.a().poll_text(), "1 retry exceeded");
  EXPECT_EQ(pair.b().poll_text(), "");
  EXPECT_GT(pair.a().counter("port_dropped_frames"), 0u);
}

TEST_F(Link, LosesWhatIsSentToTheNic) {
  ASSERT_TRUE(pair.b().device().set_link(false));
  pair.a().post_send(1, 0, 100);
  pair.pass(10s);
  EXPECT_EQ(pair.a().poll_text(), "1 retry exceeded");
  EXPECT_EQ(pair.b().poll_text(), "");
}

TEST_F(Link, ThatComesBackInTimeLosesNothing) {
  ASSERT_TRUE(pair.b().device().set_link(false));
  pair.a().post_send(1, 0, 100);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "");
  ASSERT_TRUE(pair.b().device().set_link(true));
  pair.pass(1s);
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
}

TEST_F(Link, MayBeDownBeforeThePortIsOpen) {
  DevicePair fresh;
  ASSERT_TRUE(fresh.a().device().set_link(false));
  fresh.connect();
  EXPECT_FALSE(fresh.a().device().has_link());
  fresh.b().post_receive(1, 0, 100);
  fresh.a().post_send(1, 0, 100);
  fresh.pass(10s);
  EXPECT_EQ(fresh.a().poll_text(), "1 retry exceeded");
}

}  // namespace
}  // namespace urnic::nic
