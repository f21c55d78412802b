// What peers are told when a program ends and has destroyed nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "drivers/loopback/loopback_port.h"
#include "nic/clock.h"
#include "tests/unit/nic/rdma_cm/cm_pair.h"
#include "tests/unit/nic/rdma_cm/ignored_signal.h"
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

/// A loopback whose other side takes frames late: is_drained() is false until its third call.
class SlowPort final : public PacketPort {
 public:
  static constexpr int kLate = 3;

  SlowPort(std::unique_ptr<PacketPort> port, std::atomic<int>& questions)
      : port_(std::move(port)), questions_(questions) {}
  std::size_t receive(std::span<ReceivedFrame> frames) override { return port_->receive(frames); }
  Room reserve_to(const transport::wire::Mac& destination) override { return port_->reserve_to(destination); }
  void commit(std::size_t length) override { port_->commit(length); }
  void flush() override { port_->flush(); }
  bool is_drained() override { return ++questions_ >= kLate && port_->is_drained(); }
  std::size_t max_frame_bytes() const override { return port_->max_frame_bytes(); }
  int wake_fd() const override { return port_->wake_fd(); }
  bool arm() override { return port_->arm(); }
  void disarm() override { port_->disarm(); }
  Statistics statistics() const override { return port_->statistics(); }
  std::string description() const override { return "slow"; }

 private:
  std::unique_ptr<PacketPort> port_;
  std::atomic<int>& questions_;
};

/// Stands still between leaps, so that no load of the machine makes a test late.
class LeapingClock final : public Clock {
 public:
  transport::Time now() const override { return transport::Time{} + time_.load(); }
  void leap(transport::Duration by) { time_ = time_.load() + by; }

 private:
  std::atomic<transport::Duration> time_{1h};
};

// A program may have sent nothing but messages for a while.
TEST(FarewellOfAThread, WaitsUntilTheMessagesAreTaken) {
  DeviceConfig config;
  config.mac = {{2, 0, 0, 0, 0, 1}};
  config.ipv4 = Ipv4Interface{.address = {{10, 0, 0, 1}}};
  config.seed = 1;
  LeapingClock clock;
  std::atomic<int> questions = 0;
  Device device(config, clock, [&]() {
    return Result<OpenedPort, Error>(std::make_unique<SlowPort>(
        std::make_unique<drivers::LoopbackPort>(config.mac, nullptr, 4214), questions));
  });
  ASSERT_TRUE(device.start());
  constexpr int kMoreThanAnnouncements = 10;
  for (int i = 0; i < kMoreThanAnnouncements; ++i) {
    clock.leap(10s);
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
