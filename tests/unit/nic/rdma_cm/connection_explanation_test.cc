// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The reason why a connection was not made, in words, on each side that notices it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "nic/diagnostics/failure_log.h"
#include "nic/diagnostics/failure_text.h"
#include "tests/unit/nic/rdma_cm/cm_pair.h"

namespace urnic::nic::rdma_cm {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

/// A request waits for its listener so long.
constexpr auto kLongerThanForAListener = 300ms;

class ConnectionExplanation : public CmTest {
 protected:
  ConnectionExplanation() : CmTest({.explain = true}) {}

  /// The oldest explanation; "" when there is none.
  static std::string next(Host& host) {
    const auto report = host.device().failures()->take();
    return report ? explain(*report) : "";
  }
};

TEST_F(ConnectionExplanation, SaysToBothThatThereIsNoListener) {
  passive.listen();
  const IdNumber id = routed(7175);
  const auto local = to_string(active.cm().query(active.channel(), id).value().local);
  ASSERT_EQ(connect(id), 0);
  pair.pass(kLongerThanForAListener);
  EXPECT_THAT(next(pair.a()), AllOf(HasSubstr("no connection from " + local +
                                              " to 10.0.0.2:7175 (RC): REJ 8, invalid service ID\n"),
                                    HasSubstr("why: 10.0.0.2 has no listener at port 7175\n"),
                                    HasSubstr("fact 46"), HasSubstr("urnic stat")));
  EXPECT_THAT(next(pair.b()),
              AllOf(HasSubstr("we answered REJ 8"),
                    HasSubstr("10.0.0.1 asked for port 7175, where no RC program listens\n")));
  EXPECT_EQ(next(pair.a()), "");
  EXPECT_EQ(next(pair.b()), "");
}

TEST_F(ConnectionExplanation, SaysThatThereIsNoListenerForDatagrams) {
  ASSERT_EQ(connect(routed(7175, Service::kUd)), 0);
  pair.pass(kLongerThanForAListener);
  EXPECT_THAT(next(pair.a()), AllOf(HasSubstr("(UD): SIDR_REP with status 1"),
                                    HasSubstr("10.0.0.2 has no listener for datagrams at port 7175\n")));
  EXPECT_THAT(next(pair.b()), HasSubstr("10.0.0.1 asked for port 7175, where no UD program listens\n"));
}

TEST_F(ConnectionExplanation, SaysThatTheProgramRejected) {
  passive.listen();
  ASSERT_EQ(connect(routed()), 0);
  pair.settle();
  const IdNumber request = passive.take(EventType::kConnectRequest).id;
  ASSERT_EQ(Program::error_of(passive.cm().reject(passive.channel(), request, 0, {}, passive.now())), 0);
  pair.settle();
  EXPECT_THAT(next(pair.a()), AllOf(HasSubstr("REJ 28, consumer defined"),
                                    HasSubstr("the program at 10.0.0.2:7174 rejected it\n")));
  EXPECT_EQ(next(pair.b()), "") << "the program knows that it has";
}

TEST_F(ConnectionExplanation, SaysHowLongThePeerWasAsked) {
  passive.listen();
  const IdNumber id = routed();
  pair.wire.is_lost = [](std::size_t, const FakeWire::Bytes&) { return true; };
  ASSERT_EQ(connect(id), 0);
  pair.pass(76s);
  EXPECT_EQ(next(pair.a()), "");
  pair.pass(2s);
  EXPECT_THAT(next(pair.a()),
              AllOf(HasSubstr("(RC): no answer\n"), HasSubstr("no answer to 16 REQs in 77 s from 10.0.0.2"),
                    HasSubstr("4791")));
}

TEST_F(ConnectionExplanation, SaysThatAReplyWasNotAnswered) {
  passive.listen();
  ASSERT_EQ(connect(routed()), 0);
  pair.settle();
  const IdNumber request = passive.take(EventType::kConnectRequest).id;
  pair.wire.is_lost = [](std::size_t, const FakeWire::Bytes&) { return true; };
  ASSERT_EQ(accept(request), 0);
  pair.pass(100s);
  EXPECT_THAT(next(pair.b()), HasSubstr("no answer to 16 REPs in 68 s from 10.0.0.1"));
}

TEST_F(ConnectionExplanation, SaysThatNoNicHasTheAddress) {
  const IdNumber id = active.create();
  EXPECT_EQ(active.resolve(id, address_of(9, kPort)), 0);
  pair.pass(5s);
  EXPECT_EQ(active.take(EventType::kAddressError).status, -EHOSTUNREACH);
  EXPECT_THAT(next(pair.a()),
              AllOf(HasSubstr("the address 10.0.0.9:7174 is not resolved\n"),
                    HasSubstr("no host answers for 10.0.0.9: no urnic on this wire has that address\n")));
}

TEST_F(ConnectionExplanation, SaysThatTheProgramDidNotWaitLongEnoughForTheAddress) {
  const IdNumber id = active.create();
  EXPECT_EQ(Program::error_of(active.cm().resolve_address(active.channel(), id, {}, address_of(9, kPort), 1ms,
                                                          active.now())),
            0);
  pair.pass(2ms);
  EXPECT_EQ(active.take(EventType::kAddressError).status, -ETIMEDOUT);
  EXPECT_THAT(next(pair.a()), HasSubstr("no host answered for 10.0.0.9 within the program's timeout\n"));
}

TEST_F(ConnectionExplanation, SaysThatThereIsNoAddressOfThatFamily) {
  const IdNumber id = active.create();
  ASSERT_EQ(Program::error_of(active.cm().bind(active.channel(), id, address_of(1))), 0);
  const SocketAddress ipv6{.family = SocketAddress::Family::kIpv6,
                           .address = *transport::wire::Ipv6Address::parse("fd00::2"),
                           .port = kPort};
  EXPECT_EQ(active.resolve(id, ipv6), 0);
  EXPECT_EQ(active.take(EventType::kAddressError).status, -ENETUNREACH);
  EXPECT_THAT(next(pair.a()), AllOf(HasSubstr("the address [fd00::2]:7174 is not resolved\n"),
                                    HasSubstr("has no IPv6 address\n"), HasSubstr("--ip6")));
}

TEST_F(ConnectionExplanation, SaysThatTheOldConnectionIsInTheWay) {
  passive.listen();
  connected();
  ASSERT_EQ(connect(routed()), 0);  // with the same queue pair
  pair.settle();
  EXPECT_THAT(next(pair.a()), AllOf(HasSubstr("REJ 10, stale connection"), HasSubstr("still connected")));
  EXPECT_THAT(next(pair.b()), HasSubstr("10.0.0.1 asked with a queue pair that is still connected here"));
}

TEST_F(ConnectionExplanation, SaysThatTheBacklogIsFull) {
  passive.listen(kPort, 1);
  ASSERT_EQ(connect(routed()), 0);
  const IdNumber second = routed();
  ASSERT_EQ(Program::error_of(
                active.cm().connect(active.channel(), second, active.parameters(0x112), active.now())),
            0);
  pair.settle();
  EXPECT_THAT(next(pair.b()), AllOf(HasSubstr("we did not take the request\n"), HasSubstr("port 7174"),
                                    HasSubstr("backlog")));
}

TEST_F(ConnectionExplanation, SaysThatAPathMtuIsTooLarge) {
  const ConnectionFailure ours{.kind = ConnectionFailure::Kind::kRefused,
                               .local = address_of(2, kPort),
                               .peer = address_of(1),
                               .reason = cm::RejectReason::kInvalidMtu,
                               .path_mtu = transport::PathMtu::k4096};
  EXPECT_THAT(explain({.kind = FailureReport::Kind::kConnection, .link_mtu = 1500, .connection = ours}),
              AllOf(HasSubstr("we answered REJ 26, invalid path MTU"),
                    HasSubstr("10.0.0.1 asked for a path MTU of 4096, and our link has 1500 bytes\n"),
                    HasSubstr("--mtu")));
  ConnectionFailure theirs = ours;
  theirs.kind = ConnectionFailure::Kind::kRejected;
  EXPECT_THAT(explain({.kind = FailureReport::Kind::kConnection, .connection = theirs}),
              AllOf(HasSubstr("REJ 26, invalid path MTU"),
                    HasSubstr("we asked for a path MTU of 4096, and the link of 10.0.0.1 is smaller\n"),
                    HasSubstr("--mtu")));
}

// A peer may send any reason.
TEST_F(ConnectionExplanation, HasWordsForEveryReason) {
  for (unsigned reason = 0; reason < 70; ++reason) {
    for (const auto kind : {ConnectionFailure::Kind::kRejected, ConnectionFailure::Kind::kRefused}) {
      const ConnectionFailure failure{.kind = kind,
                                      .local = address_of(2, kPort),
                                      .peer = address_of(1),
                                      .reason = static_cast<cm::RejectReason>(reason)};
      const std::string text = explain({.kind = FailureReport::Kind::kConnection, .connection = failure});
      EXPECT_THAT(text, HasSubstr("REJ " + std::to_string(reason)));
      EXPECT_THAT(text, HasSubstr("why: "));
      EXPECT_THAT(text, testing::Not(HasSubstr("why: \n")));
    }
  }
}

TEST_F(ConnectionExplanation, OfRequestsThatNobodyWantsComesOnceASecond) {
  for (std::uint32_t i = 0; i < 5; ++i) {
    const IdNumber id = routed(7175);
    ASSERT_EQ(Program::error_of(
                  active.cm().connect(active.channel(), id, active.parameters(0x200 + i), active.now())),
              0);
  }
  pair.pass(kLongerThanForAListener);
  for (int i = 0; i < 5; ++i) active.take(EventType::kRejected);
  EXPECT_NE(next(pair.b()), "");
  EXPECT_EQ(next(pair.b()), "");
  pair.pass(1s);
  ASSERT_EQ(connect(routed(7175)), 0);
  pair.pass(kLongerThanForAListener);
  EXPECT_NE(next(pair.b()), "");
}

// Such calls are told where calls are, by the message of their error.
TEST_F(ConnectionExplanation, ErrorsOfCallsNameWhatWasThereInstead) {
  const auto message = [this](const SocketAddress& address) {
    const auto bound = active.cm().bind(active.channel(), active.create(), address);
    return bound ? "" : bound.error().message;
  };
  EXPECT_THAT(
      message(address_of(9, 7)),
      HasSubstr(
          "10.0.0.9:7 is no address of this NIC, which has fe80::ff:fe00:1, 10.0.0.1: use one of them"));
  EXPECT_EQ(message(address_of(1, 7)), "");
  EXPECT_EQ(message(address_of(1, 7)), "10.0.0.1:7 is in use by this program");
  passive.listen();
  const auto connected = active.cm().connect(active.channel(), routed(),
                                             active.parameters(0x111, std::string(57, 'x')), active.now());
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().message, "private data of 57 bytes do not fit 56");
}

}  // namespace
}  // namespace urnic::nic::rdma_cm
