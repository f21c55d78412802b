// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Data that come while RTU does not.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/unit/nic/rdma_cm/cm_pair.h"

namespace urnic::nic::rdma_cm {
namespace {

using namespace std::chrono_literals;
using transport::QpState;

class LostRtu : public CmTest {
 protected:
  /// Everything up to RTU, which gets lost, with queue pairs in RTS as librdmacm makes them.
  LostRtu() {
    QueuePair& a = pair.a().add_queue_pair();
    QueuePair& b = pair.b().add_queue_pair();
    passive.listen();
    active_id = routed();
    EXPECT_EQ(Program::error_of(
                  active.cm().connect(active.channel(), active_id, parameters_of(active, a), active.now())),
              0);
    pair.settle();
    passive_id = passive.take(EventType::kConnectRequest).id;
    bring_up(passive, passive_id, b, pair.a());
    EXPECT_EQ(Program::error_of(passive.cm().accept(passive.channel(), passive_id, 0xbb,
                                                    parameters_of(passive, b), passive.now())),
              0);
    pair.settle();
    active.take(EventType::kConnectResponse);
    bring_up(active, active_id, a, pair.b());
    pair.wire.is_lost = [](std::size_t, const FakeWire::Bytes&) { return true; };
    EXPECT_EQ(establish(active_id), 0);
    pair.settle();
    pair.wire.is_lost = [](std::size_t, const FakeWire::Bytes&) { return false; };
  }

  static ConnectionParameters parameters_of(const Program& program, const QueuePair& qp) {
    return program.parameters(transport::to_integer(qp.number()));
  }

  static void bring_up(Program& program, IdNumber id, QueuePair& qp, const Host& peer) {
    const QpSettings settings =
        program.cm().init_qp_attributes(program.channel(), id, QpState::kReadyToSend).value();
    EXPECT_TRUE(kernel::connect(
        qp, DevicePair::to_peer(peer, settings.peer,
                                {.send_psn = settings.send_psn, .receive_psn = settings.receive_psn})));
  }

  IdNumber active_id{};
  IdNumber passive_id{};
};

TEST_F(LostRtu, IsMadeUpForByTheFirstData) {
  pair.b().post_receive(1, 0, 64);
  pair.pass(50ms);
  EXPECT_FALSE(passive.has_event()) << "nothing has come";
  pair.a().post_send(1, 0, 64);
  pair.pass(10ms);
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
  EXPECT_EQ(passive.take(EventType::kEstablished).id, passive_id);
  pair.pass(10s);
  EXPECT_EQ(pair.b().counter("cm_tx_retries_rep"), 0u);
  EXPECT_FALSE(passive.has_event());
}

TEST_F(LostRtu, IsNotMadeUpForByWhatWeSend) {
  pair.b().post_send(1, 0, 64);
  pair.pass(50ms);
  EXPECT_FALSE(passive.has_event());
}

TEST_F(LostRtu, ComesAgainWithTheRepeatedReply) {
  pair.pass(6s);
  passive.take(EventType::kEstablished);
  EXPECT_EQ(pair.b().counter("cm_tx_retries_rep"), 1u);
  EXPECT_EQ(pair.a().counter("cm_tx_msgs_rtu"), 2u);
}

TEST_F(LostRtu, LeavesTheNicAloneOnceTheConnectionIsGone) {
  EXPECT_EQ(passive.cm().destroy_id(passive.channel(), passive_id, passive.now()).value(), 0u);
  pair.settle();
  pair.pass(20ms);
  EXPECT_GT(pair.b().device().next_timeout() - passive.now(), 10ms);
}

}  // namespace
}  // namespace urnic::nic::rdma_cm
