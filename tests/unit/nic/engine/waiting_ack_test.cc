// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// An acknowledgement that waits for an answer of the program: what the device does about it.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "tests/unit/nic/device_pair.h"
#include "transport/wire/frame.h"

namespace urnic::nic {
namespace {

using namespace std::chrono_literals;
using transport::wire::Opcode;

/// B has answered a WRITE of A's by one of its own; now A has sent another.
class WaitingAckTest : public testing::Test {
 protected:
  WaitingAckTest() {
    pair.connect();
    write(pair.a(), pair.b(), 1);
    write(pair.b(), pair.a(), 2);
    write(pair.a(), pair.b(), 3);
    EXPECT_EQ(pair.b().poll_text(), "2 ok");
    EXPECT_EQ(pair.a().poll_text(), "1 ok");
    frames_before = pair.wire.sent_by(1).size();
  }

  void write(Host& from, Host& to, std::uint64_t wr_id) {
    from.post({.wr_id = wr_id,
               .operation = transport::SendOperation::kWrite,
               .signaled = true,
               .remote_address = to.region().address,
               .rkey = transport::Rkey{to.region().key}},
              0, 64);
    pair.settle();
  }

  std::vector<Opcode> sent_by_b_since() {
    std::vector<Opcode> opcodes;
    for (std::size_t i = frames_before; i < pair.wire.sent_by(1).size(); ++i) {
      const auto frame = transport::wire::parse_frame(pair.wire.sent_by(1)[i]);
      opcodes.push_back(transport::wire::Bth::parse(frame.value().ib).opcode);
    }
    return opcodes;
  }

  DevicePair pair;
  std::size_t frames_before = 0;
};

TEST_F(WaitingAckTest, LeavesBehindTheAnswer) {
  EXPECT_TRUE(sent_by_b_since().empty());
  write(pair.b(), pair.a(), 4);
  EXPECT_EQ(sent_by_b_since(), (std::vector{Opcode::kRcWriteOnly, Opcode::kRcAcknowledge}));
  EXPECT_EQ(pair.a().poll_text(), "3 ok");
}

TEST_F(WaitingAckTest, LeavesAfterTheDelay) {
  const auto delay = DeviceConfig().ack_delay;
  pair.pass(delay - 1ns);
  EXPECT_TRUE(sent_by_b_since().empty());
  pair.pass(1ns);
  EXPECT_EQ(sent_by_b_since(), (std::vector{Opcode::kRcAcknowledge}));
  EXPECT_EQ(pair.a().poll_text(), "3 ok");
}

TEST_F(WaitingAckTest, LeavesBeforeTheQueuePairIsDestroyed) {
  pair.b().destroy_queue_pair();
  pair.settle();
  EXPECT_EQ(sent_by_b_since(), (std::vector{Opcode::kRcAcknowledge}));
  EXPECT_EQ(pair.a().poll_text(), "3 ok");
}

TEST_F(WaitingAckTest, LeavesBeforeTheQueuePairIsInError) {
  ASSERT_TRUE(pair.b().qp().modify({.state = transport::QpState::kError}));
  pair.settle();
  EXPECT_EQ(sent_by_b_since(), (std::vector{Opcode::kRcAcknowledge}));
  EXPECT_EQ(pair.a().poll_text(), "3 ok");
}

TEST_F(WaitingAckTest, LeavesBeforeTheQueuePairIsReset) {
  ASSERT_TRUE(pair.b().qp().modify({.state = transport::QpState::kReset}));
  pair.settle();
  EXPECT_EQ(sent_by_b_since(), (std::vector{Opcode::kRcAcknowledge}));
  EXPECT_EQ(pair.a().poll_text(), "3 ok");
}

TEST_F(WaitingAckTest, LeavesBeforeTheProgramEnds) {
  pair.b().device().linger();
  pair.settle();
  EXPECT_EQ(sent_by_b_since(), (std::vector{Opcode::kRcAcknowledge}));
  EXPECT_EQ(pair.a().poll_text(), "3 ok");
}

}  // namespace
}  // namespace urnic::nic
