// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Connections between two programs over two devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <string_view>
#include <variant>
#include <vector>

#include "nic/cm/timing.h"
#include "tests/unit/nic/rdma_cm/cm_pair.h"

namespace urnic::nic::rdma_cm {
namespace {

using namespace std::chrono_literals;
using transport::QpState;

std::string_view text_of(const PrivateBytes& bytes, std::size_t length) {
  return {reinterpret_cast<const char*>(bytes.bytes.data()), length};
}

const ConnectionParameters& connection(const Event& event) {
  return std::get<ConnectionParameters>(event.parameters);
}

class Connection : public CmTest {};

TEST_F(Connection, IsMadeByRequestReplyAndReadyToUse) {
  passive.listen();
  const IdNumber id = routed();
  ASSERT_EQ(connect(id, "from a"), 0);
  pair.settle();

  const Event request = passive.take(EventType::kConnectRequest);
  EXPECT_EQ(request.uid, 0x1157u);
  EXPECT_EQ(request.status, 0);
  EXPECT_EQ(text_of(connection(request).private_data, 6), "from a");
  EXPECT_EQ(connection(request).private_data.size, 56);
  EXPECT_EQ(connection(request).responder_resources, 2);
  EXPECT_EQ(connection(request).initiator_depth, 3);
  EXPECT_EQ(connection(request).retry_count, 5);
  EXPECT_EQ(connection(request).rnr_retry_count, 6);
  EXPECT_EQ(connection(request).qp, transport::QpNumber{0x111});
  const Description passive_side = passive.cm().query(passive.channel(), request.id).value();
  EXPECT_EQ(passive_side.local, address_of(2, kPort));
  EXPECT_EQ(passive_side.peer.address, address_of(1).address);
  EXPECT_NE(passive_side.peer.port, 0);
  EXPECT_TRUE(passive_side.is_on_device);

  ASSERT_EQ(accept(request.id, "from b"), 0);
  pair.settle();
  const Event response = active.take(EventType::kConnectResponse);
  EXPECT_EQ(response.uid, 0xacu);
  EXPECT_EQ(response.id, id);
  EXPECT_EQ(text_of(connection(response).private_data, 6), "from b");
  EXPECT_EQ(connection(response).private_data.size, 196);
  EXPECT_EQ(connection(response).qp, transport::QpNumber{0x222});
  EXPECT_FALSE(passive.has_event());

  ASSERT_EQ(establish(id), 0);
  pair.settle();
  const Event established = passive.take(EventType::kEstablished);
  EXPECT_EQ(established.uid, 0xbbu);
  EXPECT_EQ(established.id, request.id);
  EXPECT_FALSE(active.has_event());
  EXPECT_FALSE(passive.has_events());
}

TEST_F(Connection, CarriesWhatBothSidesOfferBeyondTheStandard) {
  passive.listen();
  const IdNumber id = routed();
  ConnectionParameters offer = active.parameters(0x111);
  offer.ece = {.vendor_id = 0x123456, .options = 0xf0000003};
  ASSERT_TRUE(active.cm().connect(active.channel(), id, offer, active.now()));
  pair.settle();
  const Event request = passive.take(EventType::kConnectRequest);
  EXPECT_EQ(connection(request).ece, offer.ece);

  ConnectionParameters answer = passive.parameters(0x222);
  answer.ece = {.vendor_id = 0x123456, .options = 1};
  ASSERT_TRUE(passive.cm().accept(passive.channel(), request.id, 0xbb, answer, passive.now()));
  pair.settle();
  EXPECT_EQ(connection(active.take(EventType::kConnectResponse)).ece, answer.ece);
}

TEST_F(Connection, BothSidesGetQueuePairAttributesThatFitEachOther) {
  passive.listen();
  const Connected ids = connected();
  const auto settings = [](Program& program, IdNumber id, QpState state) {
    return program.cm().init_qp_attributes(program.channel(), id, state).value();
  };
  const QpSettings a = settings(active, ids.active, QpState::kReadyToSend);
  const QpSettings b = settings(passive, ids.passive, QpState::kReadyToSend);
  EXPECT_EQ(a.peer, transport::QpNumber{0x222});
  EXPECT_EQ(b.peer, transport::QpNumber{0x111});
  EXPECT_EQ(a.send_psn, b.receive_psn);
  EXPECT_EQ(b.send_psn, a.receive_psn);
  EXPECT_NE(a.send_psn, b.send_psn);
  EXPECT_EQ(a.path_mtu, transport::PathMtu::k4096);
  EXPECT_EQ(b.path_mtu, a.path_mtu);
  EXPECT_EQ(a.address.destination, address_of(2).address);
  EXPECT_EQ(b.address.destination, address_of(1).address);
  EXPECT_EQ(a.address.flow_label, b.address.flow_label);
  EXPECT_NE(a.address.flow_label, 0u);
  EXPECT_EQ(a.ack_timeout, cm::kAckTimeout);
  EXPECT_EQ(b.ack_timeout, cm::kAckTimeout);
  // What one can have under way the other can answer.
  EXPECT_LE(a.initiator_depth, b.responder_resources);
  EXPECT_LE(b.initiator_depth, a.responder_resources);
  EXPECT_EQ(a.retry_count, 5);
  EXPECT_EQ(b.retry_count, 5);
}

TEST_F(Connection, AttributesForReceivingNeedAPeer) {
  const IdNumber id = routed();
  EXPECT_TRUE(active.cm().init_qp_attributes(active.channel(), id, QpState::kInit));
  EXPECT_EQ(Program::error_of(active.cm().init_qp_attributes(active.channel(), id, QpState::kReadyToReceive)),
            EINVAL);
}

// The server has taken a request, which the client withdraws before the server gets to it.
TEST_F(Connection, HasNoAttributesAfterThePeerHasEndedIt) {
  passive.listen();
  const IdNumber id = routed();
  ASSERT_EQ(connect(id), 0);
  pair.settle();
  const IdNumber request = passive.take(EventType::kConnectRequest).id;
  EXPECT_TRUE(active.cm().destroy_id(active.channel(), id, active.now()));
  pair.settle();
  for (const QpState state : {QpState::kInit, QpState::kReadyToReceive, QpState::kReadyToSend}) {
    EXPECT_EQ(Program::error_of(passive.cm().init_qp_attributes(passive.channel(), request, state)), EINVAL);
  }
}

TEST_F(Connection, HasNoAttributesFromTheDisconnectRequestOn) {
  passive.listen();
  const Connected ids = connected();
  ASSERT_TRUE(active.cm().disconnect(active.channel(), ids.active, active.now()));
  const auto are_refused = [](Program& program, IdNumber id) {
    return Program::error_of(program.cm().init_qp_attributes(program.channel(), id, QpState::kReadyToSend)) ==
           EINVAL;
  };
  EXPECT_TRUE(are_refused(active, ids.active));
  pair.settle();
  EXPECT_TRUE(are_refused(passive, ids.passive));
  ASSERT_TRUE(passive.cm().disconnect(passive.channel(), ids.passive, passive.now()));
  pair.pass(10s);
  active.take(EventType::kDisconnected);
  active.take(EventType::kTimewaitExit);
  EXPECT_TRUE(are_refused(active, ids.active));
}

TEST_F(Connection, ToAPortWithoutListenerIsRejectedWithReason8) {
  const IdNumber id = routed(kPort + 1);
  ASSERT_EQ(connect(id), 0);
  pair.pass(300ms);
  EXPECT_EQ(active.take(EventType::kRejected).status, 8);
}

TEST_F(Connection, WaitsAMomentForItsListener) {
  const IdNumber id = routed();
  ASSERT_EQ(connect(id, "early"), 0);
  pair.pass(100ms);
  EXPECT_FALSE(active.has_event());
  passive.listen(kPort + 1);
  EXPECT_FALSE(passive.has_event());
  passive.listen();
  const Event request = passive.take(EventType::kConnectRequest);
  EXPECT_EQ(text_of(connection(request).private_data, 5), "early");
  ASSERT_EQ(accept(request.id), 0);
  pair.pass(300ms);
  active.take(EventType::kConnectResponse);
}

TEST_F(Connection, ThatItsListenerHasNoRoomForIsNotRejected) {
  const IdNumber first = routed();
  ASSERT_EQ(connect(first), 0);
  const IdNumber second = routed();
  ASSERT_TRUE(active.cm().connect(active.channel(), second, active.parameters(0x112), active.now()));
  pair.settle();
  passive.listen(kPort, 1);
  pair.pass(300ms);
  EXPECT_FALSE(active.has_event());
  passive.take(EventType::kConnectRequest);
  EXPECT_FALSE(passive.has_event());
  // It asks again.
  pair.pass(5s);
  passive.take(EventType::kConnectRequest);
}

TEST_F(Connection, ThatIsGivenUpBeforeItsListenerComesIsForgotten) {
  const IdNumber id = routed();
  ASSERT_EQ(connect(id), 0);
  pair.settle();
  EXPECT_TRUE(active.cm().destroy_id(active.channel(), id, active.now()));
  pair.settle();
  passive.listen();
  EXPECT_FALSE(passive.has_event());
  EXPECT_EQ(passive.cm().messages().connection_count(), 0u);
}

TEST_F(Connection, ManyForAPortWithoutListenerAreRejectedAtOnce) {
  constexpr std::uint32_t kWaiting = 256;
  std::vector<IdNumber> ids;
  for (std::uint32_t i = 0; i <= kWaiting; ++i) {
    ids.push_back(routed());
    const ConnectionParameters parameters = active.parameters(0x1000 + i);
    ASSERT_TRUE(active.cm().connect(active.channel(), ids.back(), parameters, active.now()));
    pair.settle();
  }
  EXPECT_EQ(active.take(EventType::kRejected).id, ids.back());
  EXPECT_FALSE(active.has_event());
}

TEST_F(Connection, TheProgramRejectsWithItsOwnData) {
  passive.listen();
  const IdNumber id = routed();
  ASSERT_EQ(connect(id), 0);
  pair.settle();
  const IdNumber request = passive.take(EventType::kConnectRequest).id;
  const PrivateBytes why = private_bytes("not you");
  ASSERT_EQ(Program::error_of(passive.cm().reject(passive.channel(), request, 0,
                                                  std::span(why.bytes).first(why.size), passive.now())),
            0);
  pair.settle();
  const Event rejected = active.take(EventType::kRejected);
  EXPECT_EQ(rejected.status, 28);
  EXPECT_EQ(text_of(connection(rejected).private_data, 7), "not you");
  EXPECT_EQ(connection(rejected).private_data.size, 148);
}

TEST_F(Connection, PrivateDataThatDoNotFitAreRefused) {
  passive.listen();
  const IdNumber id = routed();
  EXPECT_EQ(connect(id, std::string(57, 'x')), EINVAL);
  EXPECT_EQ(connect(id, std::string(56, 'x')), 0);
}

TEST_F(Connection, IsEndedByEitherSide) {
  passive.listen();
  for (const bool active_first : {true, false}) {
    const Connected ids = connected();
    Program& first = active_first ? active : passive;
    Program& second = active_first ? passive : active;
    const IdNumber first_id = active_first ? ids.active : ids.passive;
    const IdNumber second_id = active_first ? ids.passive : ids.active;
    ASSERT_EQ(Program::error_of(first.cm().disconnect(first.channel(), first_id, first.now())), 0);
    pair.settle();
    EXPECT_EQ(second.take(EventType::kDisconnected).id, second_id);
    EXPECT_FALSE(first.has_event());
    ASSERT_EQ(Program::error_of(second.cm().disconnect(second.channel(), second_id, second.now())), 0);
    pair.settle();
    EXPECT_EQ(first.take(EventType::kDisconnected).status, 0);
    pair.pass(1s);
    first.take(EventType::kTimewaitExit);
    second.take(EventType::kTimewaitExit);
    EXPECT_EQ(Program::error_of(first.cm().destroy_id(first.channel(), first_id, first.now())), 0);
    EXPECT_EQ(Program::error_of(second.cm().destroy_id(second.channel(), second_id, second.now())), 0);
  }
  EXPECT_EQ(active.cm().messages().connection_count(), 0u);
  EXPECT_EQ(passive.cm().messages().connection_count(), 0u);
}

TEST_F(Connection, EndsWhenItsIdIsDestroyed) {
  passive.listen();
  const Connected ids = connected();
  EXPECT_EQ(passive.cm().destroy_id(passive.channel(), ids.passive, passive.now()).value(), 1u);
  pair.settle();
  active.take(EventType::kDisconnected);
  // The request, and nothing else, was an event of the listener.
  EXPECT_EQ(active.cm().destroy_id(active.channel(), ids.active, active.now()).value(), 4u);
  pair.pass(1s);
  EXPECT_EQ(active.cm().messages().connection_count(), 0u);
  EXPECT_EQ(passive.cm().messages().connection_count(), 0u);
}

// Any one message may be lost; the connection is still made and ended, within the timeouts.
TEST_F(Connection, SurvivesTheLossOfAnyMessage) {
  passive.listen();
  for (int lost = 0; lost < 5; ++lost) {
    SCOPED_TRACE(lost);
    int seen = 0;
    pair.wire.is_lost = [&](std::size_t, const FakeWire::Bytes& frame) {
      constexpr std::size_t kMessageFrame = 322;
      return frame.size() == kMessageFrame && seen++ == lost;
    };
    const IdNumber id = routed();
    ASSERT_EQ(connect(id), 0);
    pair.pass(6s);
    const IdNumber request = passive.take(EventType::kConnectRequest).id;
    ASSERT_EQ(accept(request), 0);
    pair.pass(6s);
    active.take(EventType::kConnectResponse);
    ASSERT_EQ(establish(id), 0);
    pair.pass(6s);
    passive.take(EventType::kEstablished);
    ASSERT_EQ(Program::error_of(active.cm().disconnect(active.channel(), id, active.now())), 0);
    pair.pass(6s);
    passive.take(EventType::kDisconnected);
    ASSERT_EQ(Program::error_of(passive.cm().disconnect(passive.channel(), request, passive.now())), 0);
    pair.pass(6s);
    EXPECT_EQ(active.take(EventType::kDisconnected).status, 0);
    active.take(EventType::kTimewaitExit);
    passive.take(EventType::kTimewaitExit);
    EXPECT_GT(seen, lost) << "nothing was lost";
    active.cm().destroy_id(active.channel(), id, active.now()).value();
    passive.cm().destroy_id(passive.channel(), request, passive.now()).value();
  }
}

TEST_F(Connection, SurvivesTheRepetitionOfEveryMessage) {
  // Each message comes a second time, at once.
  pair.wire.on_flush = [this, delivered = std::array<std::size_t, 2>{}](std::size_t from) mutable {
    const auto& sent = pair.wire.sent_by(from);
    for (; delivered[from] < sent.size(); ++delivered[from])
      pair.wire.deliver(1 - from, sent[delivered[from]]);
  };
  passive.listen();
  const Connected ids = connected();
  ASSERT_EQ(Program::error_of(active.cm().disconnect(active.channel(), ids.active, active.now())), 0);
  pair.settle();
  passive.take(EventType::kDisconnected);
  ASSERT_EQ(Program::error_of(passive.cm().disconnect(passive.channel(), ids.passive, passive.now())), 0);
  pair.settle();
  active.take(EventType::kDisconnected);
  EXPECT_FALSE(active.has_event());
  EXPECT_FALSE(passive.has_event());
  EXPECT_GT(passive.cm().messages().counters().value(cm::CounterGroup::kDuplicates), 0u);
}

TEST_F(Connection, ToAPeerThatNeverAnswersIsUnreachable) {
  passive.listen();
  const IdNumber id = routed();
  pair.wire.is_lost = [](std::size_t from, const FakeWire::Bytes&) { return from == 0; };
  ASSERT_EQ(connect(id), 0);
  const auto once = cm::timeout_of(cm::kResponseTimeout) + 2 * cm::timeout_of(cm::kPacketLifeTime);
  pair.pass(15 * once + 1s);
  EXPECT_FALSE(active.has_event());
  pair.pass(once);
  const Event event = active.take(EventType::kUnreachable);
  EXPECT_EQ(event.status, -ETIMEDOUT);
}

TEST_F(Connection, TheFirstDataMakeUpForTheReadyToUse) {
  passive.listen();
  const IdNumber id = routed();
  ASSERT_EQ(connect(id), 0);
  pair.settle();
  const IdNumber request = passive.take(EventType::kConnectRequest).id;
  ASSERT_EQ(accept(request), 0);
  const auto notify = [&] {
    return Program::error_of(
        passive.cm().notify(passive.channel(), request, RdmaCm::QpNotice::kCommunicationEstablished));
  };
  EXPECT_EQ(notify(), 0);
  passive.take(EventType::kEstablished);
  EXPECT_EQ(notify(), EISCONN);
  pair.settle();
  active.take(EventType::kConnectResponse);
  EXPECT_EQ(establish(id), 0);
  pair.settle();
  EXPECT_FALSE(passive.has_event());
}

TEST_F(Connection, AListenerWithAFullBacklogLetsThePeerAskAgain) {
  const IdNumber listener = passive.listen(kPort, 1);
  const IdNumber first = routed();
  const IdNumber second = routed();
  ASSERT_EQ(connect(first), 0);
  ASSERT_EQ(Program::error_of(
                active.cm().connect(active.channel(), second, active.parameters(0x112), active.now())),
            0);
  pair.settle();
  passive.take(EventType::kConnectRequest);
  EXPECT_FALSE(passive.has_event());
  pair.pass(6s);
  passive.take(EventType::kConnectRequest);
  EXPECT_FALSE(active.has_event());
  EXPECT_EQ(passive.cm().destroy_id(passive.channel(), listener, passive.now()).value(), 2u);
}

TEST_F(Connection, ASlowProgramMakesThePeerWait) {
  passive.listen();
  const IdNumber id = routed();
  ASSERT_EQ(connect(id), 0);
  pair.pass(100s);  // longer than sixteen timeouts
  EXPECT_FALSE(active.has_event());
  ASSERT_EQ(accept(passive.take(EventType::kConnectRequest).id), 0);
  pair.settle();
  active.take(EventType::kConnectResponse);
}

TEST_F(Connection, OfAQueuePairThatIsConnectedIsStale) {
  passive.listen();
  const Connected ids = connected();
  static_cast<void>(ids);
  const IdNumber again = routed();
  ASSERT_EQ(connect(again), 0);  // with the same queue pair
  pair.settle();
  EXPECT_EQ(active.take(EventType::kRejected).status, 10);
  EXPECT_EQ(active.take(EventType::kDisconnected).id, ids.active);
}

TEST_F(Connection, ToItself) {
  passive.listen();
  const IdNumber listener = active.listen();
  static_cast<void>(listener);
  const IdNumber id = active.create();
  const SocketAddress loopback{.family = SocketAddress::Family::kIpv4,
                               .address = transport::wire::Ipv6Address::from_ipv4({{127, 0, 0, 1}}),
                               .port = kPort};
  ASSERT_EQ(active.resolve(id, loopback), 0);
  active.take(EventType::kAddressResolved);
  EXPECT_EQ(active.cm().query(active.channel(), id).value().peer, address_of(1, kPort));
}

}  // namespace
}  // namespace urnic::nic::rdma_cm
