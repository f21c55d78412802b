// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How resolutions and requests end when a host is down, or has no RoCEv2.
#include "nic/port/host_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "nic/diagnostics/connection_text.h"
#include "tests/unit/nic/rdma_cm/cm_pair.h"
#include "tests/unit/nic/rdma_cm/host_nic.h"

namespace urnic::nic::rdma_cm {
namespace {

using namespace std::chrono_literals;
using transport::Duration;
using transport::Time;

/// A NIC at 10.1.0.1 whose host has a way to 10.2.0.5, and what its probes see.
class HostProbeTest : public testing::Test, private ConnectionObserver {
 protected:
  HostProbeTest() : nic({{gid("::ffff:10.1.0.1"), "eth0", 2}}) {
    nic.route("::ffff:10.2.0.5", "::ffff:10.1.0.1");
    nic.cm().set_observer(*this);
    nic.cm().probe_by([this](const Way& way) -> std::unique_ptr<HostProbe> {
      sent.push_back(way);
      return std::make_unique<Scripted>(*this);
    });
  }

  IdNumber resolve(Duration timeout = 2s, Service service = Service::kRc) {
    const PortSpace space = service == Service::kUd ? PortSpace::kUdp : PortSpace::kTcp;
    const IdNumber id = nic.cm().create_id(nic.channel(), 0, space, service).value();
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
    EXPECT_TRUE(nic.cm().resolve_address(nic.channel(), id, {}, ipv4(2, 5), milliseconds, now));
    return id;
  }
  /// Moves time, stopping at every timeout on the way.
  void pass(Duration duration) {
    const Time end = now + duration;
    while (nic.cm().next_timeout() <= end) {
      now = std::max(now, nic.cm().next_timeout());
      nic.cm().on_timeout(now);
    }
    now = end;
  }
  std::optional<Event> next() { return nic.cm().next_event(nic.channel()); }
  /// The next event is of that type; its status.
  int status_of(EventType type) {
    const auto event = next();
    EXPECT_TRUE(event && event->type == type);
    return event ? event->status : 0;
  }
  /// That wait to be sent, which are taken away.
  std::size_t requests_sent() {
    std::size_t count = 0;
    for (cm::CommunicationManager& messages = nic.cm().messages(); messages.has_outgoing(); messages.pop())
      ++count;
    return count;
  }
  bool connect(IdNumber id) {
    EXPECT_TRUE(nic.cm().resolve_route(nic.channel(), id, 2s));
    status_of(EventType::kRouteResolved);
    return bool(nic.cm().connect(nic.channel(), id, {.qp = transport::QpNumber{0x111}}, now));
  }

  HostNic nic;
  Time now{};
  HostProbe::Seen seen{};
  std::vector<Way> sent;
  std::optional<ConnectionFailure> failure;

 private:
  struct Scripted final : HostProbe {
    explicit Scripted(const HostProbeTest& the_test) : test(the_test) {}
    Seen look() override { return test.seen; }
    const HostProbeTest& test;
  };
  void on_connection_failure(const ConnectionFailure& reported) override { failure = reported; }
};

TEST_F(HostProbeTest, ResolvesAtOnceWhatTheKernelKnows) {
  seen.is_found = true;
  resolve();
  EXPECT_EQ(status_of(EventType::kAddressResolved), 0);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].source, gid("::ffff:10.1.0.1"));
  EXPECT_EQ(sent[0].destination, gid("::ffff:10.2.0.5"));
}

TEST_F(HostProbeTest, ResolvesWhenTheNextHopIsKnown) {
  resolve();
  pass(300ms);
  EXPECT_FALSE(next());
  seen.is_found = true;
  pass(50ms);
  EXPECT_EQ(status_of(EventType::kAddressResolved), 0);
}

TEST_F(HostProbeTest, SilenceEndsAResolutionWhenTheProgramSays) {
  resolve(700ms);
  pass(699ms);
  EXPECT_FALSE(next());
  pass(1ms);
  EXPECT_EQ(status_of(EventType::kAddressError), -ETIMEDOUT);
}

TEST_F(HostProbeTest, AHostThatIsDownEndsAResolutionWhenTheKernelSaysSo) {
  resolve(10s);
  pass(3s);
  seen.error = EHOSTUNREACH;
  pass(50ms);
  EXPECT_EQ(status_of(EventType::kAddressError), -EHOSTUNREACH);
  // An old failure is no answer to a new attempt.
  seen = {.is_found = true};
  resolve();
  EXPECT_EQ(status_of(EventType::kAddressResolved), 0);
  EXPECT_EQ(sent.size(), 2u);
}

TEST_F(HostProbeTest, AClosedPortEndsARequest) {
  seen.is_found = true;
  const IdNumber id = resolve();
  status_of(EventType::kAddressResolved);
  ASSERT_TRUE(connect(id));
  pass(10ms);
  EXPECT_EQ(requests_sent(), 1u);
  seen.error = ECONNREFUSED;
  pass(1900ms);
  EXPECT_FALSE(next()) << "the peer may still answer";
  EXPECT_EQ(requests_sent(), 3u) << "it may have begun to listen since the first";
  pass(200ms);
  EXPECT_EQ(status_of(EventType::kUnreachable), -ECONNREFUSED);
  pass(100s);
  EXPECT_FALSE(next()) << "it is told once, and the request is not repeated";
  EXPECT_EQ(nic.cm().messages().connection_count(), 0u);
  ASSERT_TRUE(failure);
  EXPECT_EQ(why_no_connection({.connection = failure}),
            "10.2.0.5 answers that no program there has UDP port 4791");
  EXPECT_EQ(cause_of(*failure), FailureCause::kNoRoceAtHost);
}

TEST_F(HostProbeTest, AHostWhosePortIsClosedIsFound) {
  seen.error = ECONNREFUSED;
  const IdNumber id = resolve();
  EXPECT_EQ(status_of(EventType::kAddressResolved), 0);
  ASSERT_TRUE(connect(id));
  pass(2s);
  EXPECT_EQ(status_of(EventType::kUnreachable), -ECONNREFUSED);
}

TEST_F(HostProbeTest, ARequestThatIsDestroyedEndsOnce) {
  seen.error = ECONNREFUSED;
  const IdNumber id = resolve();
  status_of(EventType::kAddressResolved);
  ASSERT_TRUE(connect(id));
  ASSERT_TRUE(nic.cm().destroy_id(nic.channel(), id, now));
  pass(10s);
  EXPECT_FALSE(next());
}

TEST_F(HostProbeTest, AClosedPortEndsAnInquiryForDatagrams) {
  seen.is_found = true;
  const IdNumber id = resolve(2s, Service::kUd);
  status_of(EventType::kAddressResolved);
  ASSERT_TRUE(connect(id));
  seen.error = ECONNREFUSED;
  pass(2100ms);
  EXPECT_EQ(status_of(EventType::kUnreachable), -ECONNREFUSED);
}

TEST_F(HostProbeTest, IdsThatGoToOneHostShareAProbe) {
  for (int i = 0; i < 100; ++i) resolve();
  EXPECT_EQ(sent.size(), 1u);
  seen.is_found = true;
  pass(50ms);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(status_of(EventType::kAddressResolved), 0);
  pass(2s);
  EXPECT_EQ(nic.cm().next_timeout(), transport::kNever) << "nothing is looked at any more";
}

TEST_F(HostProbeTest, TheNicItselfIsNotProbed) {
  nic.route("::ffff:10.1.0.1", "::ffff:10.1.0.1");
  EXPECT_EQ(nic.resolve({}, ipv4(1, 1)), 0);
  EXPECT_TRUE(sent.empty());
}

}  // namespace
}  // namespace urnic::nic::rdma_cm
