// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a program that ends and has destroyed nothing tells its peers.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "drivers/loopback/loopback_port.h"
#include "nic/port/port_around.h"
#include "tests/unit/nic/rdma_cm/cm_pair.h"
#include "tests/unit/nic/rdma_cm/ignored_signal.h"
#include "tools/simulation/kernel/clock.h"
#include "transport/time.h"

namespace urnic::nic::rdma_cm {
namespace {

using namespace std::chrono_literals;

class Farewell : public CmTest {
 protected:
  void end(Host& host) {
    host.device().linger();
    pair.settle();
  }
};

TEST_F(Farewell, DisconnectsThePeer) {
  passive.listen();
  const Connected ids = connected();
  end(pair.a());
  EXPECT_EQ(passive.take(EventType::kDisconnected).id, ids.passive);
  EXPECT_EQ(pair.a().counter("cm_tx_msgs_dreq"), 1u);
  EXPECT_TRUE(active.cm().ids().empty());
}

TEST_F(Farewell, OfTheListenersSideDisconnectsThePeerToo) {
  passive.listen();
  const Connected ids = connected();
  end(pair.b());
  EXPECT_EQ(active.take(EventType::kDisconnected).id, ids.active);
  EXPECT_TRUE(passive.cm().ids().empty());
}

TEST_F(Farewell, RejectsARequestThatTheProgramHasNotAnswered) {
  passive.listen();
  ASSERT_EQ(connect(routed()), 0);
  pair.settle();
  passive.take(EventType::kConnectRequest);
  end(pair.b());
  EXPECT_EQ(active.take(EventType::kRejected).status, 28);
}

TEST_F(Farewell, RejectsARequestThatTheProgramHasNotSeen) {
  passive.listen();
  ASSERT_EQ(connect(routed()), 0);
  pair.settle();
  end(pair.b());
  EXPECT_EQ(active.take(EventType::kRejected).status, 28);
}

TEST_F(Farewell, TakesTheListenerAway) {
  passive.listen();
  const IdNumber id = routed();
  end(pair.b());
  ASSERT_EQ(connect(id), 0);
  pair.pass(300ms);  // a request waits for its listener so long
  EXPECT_EQ(active.take(EventType::kRejected).status, 8);
}

TEST_F(Farewell, RejectsARequestThatStillWaitsForItsListener) {
  ASSERT_EQ(connect(routed()), 0);
  pair.settle();
  EXPECT_FALSE(active.has_event());
  end(pair.b());
  EXPECT_EQ(active.take(EventType::kRejected).status, 8);
}

/// A loopback whose other side takes frames late: only when the NIC asks for the third time whether it has.
class SlowPort final : public PortAround {
 public:
  static constexpr int kLate = 3;

  SlowPort(std::unique_ptr<PacketPort> port, std::atomic<int>& questions)
      : PortAround(std::move(port)), questions_(questions) {}
  bool is_drained() override { return ++questions_ >= kLate && inner().is_drained(); }

 private:
  std::atomic<int>& questions_;
};

// A program may have sent nothing but messages for a while.
TEST(FarewellOfAThread, WaitsUntilTheMessagesAreTaken) {
  DeviceConfig config;
  config.mac = {{2, 0, 0, 0, 0, 1}};
  config.ipv4 = Ipv4Interface{.address = {{10, 0, 0, 1}}};
  config.seed = 1;
  kernel::Clock clock{1h};  // no load of the machine makes this test late
  std::atomic<int> questions = 0;
  Device device(config, clock, [&]() {
    return Result<OpenedPort, Error>(std::make_unique<SlowPort>(
        std::make_unique<drivers::LoopbackPort>(config.mac, nullptr, 4214), questions));
  });
  ASSERT_TRUE(device.start());
  constexpr int kMoreThanAnnouncements = 10;
  for (int i = 0; i < kMoreThanAnnouncements; ++i) {
    clock.advance(10s);
    const std::lock_guard guard(device.engine());  // the NIC's own thread may hold it
    while (device.engine().pipeline().run(clock.now()).worked) {
    }
  }
  IgnoredSignal signal;
  EventChannel channel(signal);
  const auto with_rdma_cm = [&device](auto operation) {
    const std::lock_guard guard(device.engine());
    return operation(device.engine().rdma_cm());
  };
  with_rdma_cm([&](RdmaCm& cm) {
    const IdNumber number = cm.create_id(channel, 0, PortSpace::kTcp, Service::kRc).value();
    EXPECT_TRUE(cm.bind(channel, number, any_address(kPort)));
    EXPECT_TRUE(cm.listen(channel, number, 1));
  });
  with_rdma_cm([&](RdmaCm& cm) {
    const IdNumber id = cm.create_id(channel, 0, PortSpace::kTcp, Service::kRc).value();
    EXPECT_TRUE(cm.resolve_address(channel, id, {}, address_of(1, kPort), 1s, clock.now()));
    EXPECT_TRUE(cm.resolve_route(channel, id, 1s));
    EXPECT_TRUE(cm.connect(channel, id, {.qp = transport::QpNumber{0x111}}, clock.now()));
  });
  device.linger();
  EXPECT_GE(questions, SlowPort::kLate);
  with_rdma_cm([](RdmaCm& cm) { EXPECT_TRUE(cm.ids().empty()); });
}

}  // namespace
}  // namespace urnic::nic::rdma_cm
