// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/queues/queue_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using transport::Access;
using transport::PathMtu;
using transport::QpState;
using transport::SendOperation;
using transport::SendRequest;
using transport::Sge;

class QueuePairTest : public testing::Test {
 protected:
  static PostStatus post_send(QueuePair& qp, const SendRequest& request = {},
                              std::span<const Sge> sges = {}) {
    return QueuePair::SendBatch(qp).post(request, sges);
  }
  static PostStatus post_receive(QueuePair& qp) { return QueuePair::ReceiveBatch(qp).post({}, {}); }
  /// The reason why `qp` may not be changed so.
  static std::string refusal(QueuePair& qp, const QpAttributes& attributes, int code = EINVAL) {
    const auto result = qp.modify(attributes);
    if (result) return "";
    EXPECT_EQ(result.error().code, code);
    return result.error().message;
  }

  DevicePair pair;
};

TEST_F(QueuePairTest, GrantsAtLeastTheCapabilitiesAskedFor) {
  const QpCapabilities granted = pair.a().add_queue_pair().attributes().capabilities;
  EXPECT_GE(granted.max_send_wr, 64u);
  EXPECT_GE(granted.max_receive_wr, 64u);
  EXPECT_GE(granted.max_send_sge, 4u);
  EXPECT_GE(granted.max_receive_sge, 4u);
  EXPECT_GE(granted.max_inline_data, 128u);
}

TEST_F(QueuePairTest, AcceptsSendsFromRtsAndReceivesFromInitOn) {
  QueuePair& qp = pair.a().add_queue_pair();
  QueuePair& peer = pair.b().add_queue_pair();
  EXPECT_EQ(post_send(qp), PostStatus::kWrongState);
  EXPECT_EQ(post_receive(qp), PostStatus::kWrongState);

  ASSERT_TRUE(qp.modify(DevicePair::init_attributes()));
  EXPECT_EQ(post_send(qp), PostStatus::kWrongState);
  EXPECT_EQ(post_receive(qp), PostStatus::kPosted);

  ASSERT_TRUE(qp.modify(DevicePair::rtr_attributes(pair.b(), peer.number())));
  EXPECT_EQ(post_send(qp), PostStatus::kWrongState);
  EXPECT_EQ(post_receive(qp), PostStatus::kPosted);

  ASSERT_TRUE(qp.modify(DevicePair::rts_attributes()));
  EXPECT_EQ(post_send(qp), PostStatus::kPosted);
  EXPECT_EQ(post_receive(qp), PostStatus::kPosted);

  ASSERT_TRUE(qp.modify({.state = QpState::kError}));
  EXPECT_EQ(post_send(qp), PostStatus::kPosted);
  EXPECT_EQ(post_receive(qp), PostStatus::kPosted);
}

TEST_F(QueuePairTest, FlushesEverythingInErrorWheneverItWasPosted) {
  pair.connect();
  pair.settle();
  pair.a().post_receive(1, 0, 10);
  ASSERT_TRUE(pair.a().qp().modify({.state = QpState::kError}));
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 flushed");
  pair.a().post_send(2, 0, 10);
  pair.a().post_receive(3, 0, 10);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "2 flushed, 3 flushed");
}

TEST_F(QueuePairTest, FlushesAQueuePairThatNeverHadAPeer) {
  QueuePair& qp = pair.a().add_queue_pair();
  ASSERT_TRUE(qp.modify(DevicePair::init_attributes()));
  pair.a().post_receive(1, 0, 10);
  ASSERT_TRUE(qp.modify({.state = QpState::kError}));
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 flushed");
}

TEST_F(QueuePairTest, ForgetsEverythingInReset) {
  pair.connect();
  pair.settle();
  pair.a().post_receive(1, 0, 10);
  pair.a().post_send(2, 0, 10);
  ASSERT_TRUE(pair.a().qp().modify({.state = QpState::kReset}));
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "");
  EXPECT_EQ(pair.a().qp().query().state, QpState::kReset);
  ASSERT_TRUE(pair.a().qp().modify(DevicePair::init_attributes()));
  pair.pass(std::chrono::seconds(10));
  EXPECT_EQ(pair.a().poll_text(), "");
  EXPECT_EQ(pair.a().device().next_timeout(), transport::kNever);
}

TEST_F(QueuePairTest, RefusesMoreThanItCanHold) {
  pair.connect();
  QueuePair& qp = pair.a().qp();
  const std::vector<Sge> five(5);
  EXPECT_EQ(post_send(qp, {}, five), PostStatus::kTooManySges);

  const std::vector<Sge> huge(3, Sge{.length = 0x40000000});
  EXPECT_EQ(post_send(qp, {}, std::span(huge).first(2)), PostStatus::kPosted);
  EXPECT_EQ(post_send(qp, {}, huge), PostStatus::kTooLong);

  const std::vector<std::byte> data(129);
  const Sge inline_sge{.address = reinterpret_cast<std::uint64_t>(data.data()), .length = 129};
  EXPECT_EQ(QueuePair::SendBatch(qp).post_inline({}, std::span(&inline_sge, 1)), PostStatus::kTooLong);
  EXPECT_EQ(QueuePair::SendBatch(qp).post_inline({.operation = SendOperation::kRead}, {}),
            PostStatus::kNotSupported);

  for (std::uint32_t i = 1; i < qp.attributes().capabilities.max_send_wr; ++i) {
    ASSERT_EQ(post_send(qp), PostStatus::kPosted) << i;
  }
  EXPECT_EQ(post_send(qp), PostStatus::kQueueFull);
}

TEST_F(QueuePairTest, SendsInlineDataAsItWasWhenItWasPosted) {
  pair.connect();
  pair.b().post_receive(1, 0, 10);
  std::array<char, 10> data{"123456789"};
  const std::array sges{Sge{.address = reinterpret_cast<std::uint64_t>(data.data()), .length = 4},
                        Sge{.address = 0, .length = 0},
                        Sge{.address = reinterpret_cast<std::uint64_t>(data.data() + 4), .length = 6}};
  EXPECT_EQ(QueuePair::SendBatch(pair.a().qp()).post_inline({.signaled = true}, sges), PostStatus::kPosted);
  data.fill('x');
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "1 ok");
  EXPECT_STREQ(reinterpret_cast<const char*>(pair.b().memory().data()), "123456789");
}

TEST_F(QueuePairTest, ShowsNothingOfABatchThatWasAborted) {
  pair.connect();
  pair.settle();
  const std::size_t sent_before = pair.wire.sent_by(0).size();
  {
    QueuePair::SendBatch batch(pair.a().qp());
    EXPECT_EQ(batch.post({.signaled = true}, {}), PostStatus::kPosted);
    EXPECT_EQ(batch.post({.signaled = true}, {}), PostStatus::kPosted);
    batch.abort();
  }
  pair.settle();
  EXPECT_EQ(pair.wire.sent_by(0).size(), sent_before);
  pair.b().post_receive(1, 0, 10);
  pair.a().post_send(7, 0, 5);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "7 ok");
}

TEST_F(QueuePairTest, ReportsEverySendWhenItWasCreatedSo) {
  Host& a = pair.a();
  a.queue_pairs().push_back(std::move(a.device()
                                          .create_qp({.capabilities = {.max_send_wr = 4},
                                                      .pd = &a.pd(),
                                                      .send_queue = &a.cq(),
                                                      .receive_queue = &a.cq(),
                                                      .all_signaled = true})
                                          .value()));
  QueuePair& peer = pair.b().add_queue_pair();
  ASSERT_TRUE(peer.modify(DevicePair::init_attributes()));
  ASSERT_TRUE(peer.modify(DevicePair::rtr_attributes(a, a.qp().number())));
  pair.b().post_receive(1, 0, 10);
  ASSERT_TRUE(a.qp().modify(DevicePair::init_attributes()));
  ASSERT_TRUE(a.qp().modify(DevicePair::rtr_attributes(pair.b(), peer.number())));
  ASSERT_TRUE(a.qp().modify(DevicePair::rts_attributes()));
  EXPECT_EQ(post_send(a.qp(), {.wr_id = 5}), PostStatus::kPosted);
  pair.settle();
  EXPECT_EQ(a.poll_text(), "5 ok");
}

TEST_F(QueuePairTest, ChangesNothingWhenItRefuses) {
  QueuePair& qp = pair.a().add_queue_pair();
  ASSERT_TRUE(qp.modify(DevicePair::init_attributes()));
  QpAttributes attributes = DevicePair::rtr_attributes(pair.b(), transport::QpNumber{7});

  attributes.path_mtu = PathMtu::k4096;
  attributes.address->source_gid_index = 5;
  EXPECT_THAT(refusal(qp, attributes), HasSubstr("source GID index"));
  attributes.address->source_gid_index = 0;  // the link-local one, and the peer's is an IPv4 address
  EXPECT_THAT(refusal(qp, attributes), HasSubstr("not both IPv4 or both IPv6"));
  attributes.address->source_gid_index = 1;
  attributes.address->destination = {};
  EXPECT_THAT(refusal(qp, attributes), HasSubstr("destination"));
  attributes.address->destination = transport::wire::Gid::from_ipv4({{224, 0, 0, 1}});
  EXPECT_THAT(refusal(qp, attributes), HasSubstr("multicast"));
  attributes.address->destination = pair.b().gid();
  attributes.min_rnr_timer = std::uint8_t{32};
  EXPECT_THAT(refusal(qp, attributes), HasSubstr("min_rnr_timer"));

  EXPECT_EQ(qp.query().state, QpState::kInit);
  EXPECT_EQ(qp.query().destination_qp, transport::QpNumber{});
  attributes.min_rnr_timer = std::uint8_t{31};
  EXPECT_EQ(refusal(qp, attributes), "");
}

TEST_F(QueuePairTest, RefusesAPathMtuThatTheLinkCannotCarry) {
  DevicePair small({.link_mtu = 1500});
  EXPECT_EQ(small.a().device().max_path_mtu(), PathMtu::k1024);
  QueuePair& qp = small.a().add_queue_pair();
  ASSERT_TRUE(qp.modify(DevicePair::init_attributes()));
  QpAttributes attributes = DevicePair::rtr_attributes(small.b(), transport::QpNumber{7});
  attributes.path_mtu = PathMtu::k2048;
  EXPECT_THAT(refusal(qp, attributes, EMSGSIZE),
              HasSubstr("the link carries IP packets of 1500 bytes at most"));
  attributes.path_mtu = PathMtu::k1024;
  EXPECT_EQ(refusal(qp, attributes), "");
}

class QueuePairOnRoutes : public QueuePairTest {
 protected:
  /// The first device's answer to a queue pair with this path MTU.
  Result<void, Error> connect(PathMtu mtu) {
    DevicePair small({.routes = [this](const Way&) { return way; }});
    QueuePair& qp = small.a().add_queue_pair();
    EXPECT_TRUE(qp.modify(DevicePair::init_attributes()));
    QpAttributes attributes = DevicePair::rtr_attributes(small.b(), transport::QpNumber{7});
    attributes.path_mtu = mtu;
    return qp.modify(attributes);
  }

  Result<HostRoute, Error> way = HostRoute{.source = {}, .mtu = 1500};
};

TEST_F(QueuePairOnRoutes, RefusesAPathMtuThatTheWayCannotCarryAndSaysWhatFits) {
  const auto refused = connect(PathMtu::k4096);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, EMSGSIZE);
  EXPECT_THAT(refused.error().message,
              HasSubstr("the way to 10.0.0.2 carries IP packets of 1500 bytes at most, and "
                        "path_mtu 1024 fits"));
  EXPECT_TRUE(connect(PathMtu::k1024));
}

TEST_F(QueuePairOnRoutes, MayHaveTheLinksPathMtuWhereTheWayCarriesIt) {
  way = HostRoute{.source = {}, .mtu = 65535};
  EXPECT_TRUE(connect(PathMtu::k4096));
}

TEST_F(QueuePairOnRoutes, MayConnectWhereTheHostKnowsNoWayNow) {
  way = Error{.code = ENETUNREACH, .message = "no way"};
  EXPECT_TRUE(connect(PathMtu::k4096));
}

TEST_F(QueuePairTest, BelievesTheGivenCurrentStateOnlyWhenItIsTheState) {
  pair.connect();
  EXPECT_EQ(refusal(pair.a().qp(), {.state = QpState::kReadyToSend, .current_state = QpState::kReadyToSend}),
            "");
  EXPECT_NE(
      refusal(pair.a().qp(), {.state = QpState::kReadyToSend, .current_state = QpState::kReadyToReceive}),
      "");
}

TEST_F(QueuePairTest, TellsWhatItWasTold) {
  pair.connect({.send_psn = transport::Psn(1234), .receive_psn = transport::Psn(1234)});
  const QpAttributes told = pair.a().qp().query();
  EXPECT_EQ(told.state, QpState::kReadyToSend);
  EXPECT_EQ(told.access, Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic);
  EXPECT_EQ(told.path_mtu, PathMtu::k1024);
  EXPECT_EQ(told.destination_qp, pair.b().qp().number());
  EXPECT_EQ(told.send_psn, transport::Psn(1234));
  EXPECT_EQ(told.receive_psn, transport::Psn(1234));
  EXPECT_EQ(told.ack_timeout, std::uint8_t{14});
  EXPECT_EQ(told.retry_count, std::uint8_t{7});
  EXPECT_EQ(told.min_rnr_timer, std::uint8_t{12});
  EXPECT_EQ(told.address->destination, pair.b().gid());

  pair.b().post_receive(1, 0, 10);
  pair.a().post_send(1, 0, 5);
  pair.settle();
  EXPECT_EQ(pair.a().qp().query().send_psn, transport::Psn(1235));
  EXPECT_EQ(pair.b().qp().query().receive_psn, transport::Psn(1235));
}

TEST_F(QueuePairTest, TakesNewRightsWithoutAChangeOfState) {
  pair.connect();
  QueuePair& qp = pair.b().qp();
  ASSERT_TRUE(qp.modify({.access = Access::kNone}));
  pair.a().post({.wr_id = 3,
                 .operation = SendOperation::kWrite,
                 .signaled = true,
                 .remote_address = pair.b().region().address,
                 .rkey = transport::Rkey{pair.b().region().key}},
                0, 8);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "3 failed");
}

// A receive posted at the very moment at which its queue pair fails must not be left in the queue.
TEST_F(QueuePairTest, FlushesAReceiveThatWasPostedWhileItFailed) {
  for (int i = 0; i < 200; ++i) {
    QueuePair& qp = pair.a().add_queue_pair();
    const std::size_t index = pair.a().queue_pairs().size() - 1;
    ASSERT_TRUE(qp.modify(DevicePair::init_attributes()));
    std::thread poster([&] { pair.a().post_receive(1, 0, 10, index); });
    ASSERT_TRUE(qp.modify({.state = QpState::kError}));
    pair.settle();
    poster.join();
    pair.settle();
    ASSERT_EQ(pair.a().poll_text(), "1 flushed") << i;
    pair.a().destroy_queue_pair(index);
  }
}

}  // namespace
}  // namespace urnic::nic
