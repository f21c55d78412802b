// rdma_cm of a NIC that shares its host's addresses: ports and routes are the host's.
#include "nic/rdma_cm/shared_host.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/nic/rdma_cm/cm_pair.h"

namespace urnic::nic::rdma_cm {
namespace {

using transport::wire::Gid;

/// What the host was asked, and what it answers.
struct HostScript {
  std::vector<std::string> asked;
  std::uint16_t port = 40001;  ///< the one it chooses
  int bind_error = 0;
  int listen_error = 0;
  HostRoute route{.source = address_of(1).address, .mtu = 9000};
  int route_error = 0;
};

class ScriptedHost final : public SharedHost {
 public:
  explicit ScriptedHost(std::shared_ptr<HostScript> script) : script_(std::move(script)) {}

  Result<std::uint16_t, Error> bind(PortSpace space, const PortTable::Binding& binding) override {
    script_->asked.push_back("bind " + std::string(name_of(space)) + " " + to_string(binding.address));
    if (script_->bind_error != 0) return error(script_->bind_error);
    return binding.address.port != 0 ? binding.address.port : script_->port;
  }
  Result<void, Error> listen(PortSpace, std::uint16_t port, IdNumber) override {
    script_->asked.push_back("listen " + std::to_string(port));
    if (script_->listen_error != 0) return failure(error(script_->listen_error));
    return success();
  }
  void release(PortSpace, std::uint16_t port, IdNumber) override {
    script_->asked.push_back("release " + std::to_string(port));
  }
  static HostRoutes routes(std::shared_ptr<HostScript> script) {
    return [script = std::move(script)](const Gid& destination, std::uint32_t) -> Result<HostRoute, Error> {
      script->asked.push_back("route to " + to_string(destination.ipv4()));
      if (script->route_error != 0) return error(script->route_error);
      return script->route;
    };
  }

 private:
  static Error error(int code) { return {.code = code, .message = "the host says no"}; }

  const std::shared_ptr<HostScript> script_;  // ids outlive the test
};

class SharedHostTest : public CmTest {
 protected:
  SharedHostTest() {
    active.cm().use({.bits = 8, .value = 0x5a}, std::make_unique<ScriptedHost>(kept_),
                    ScriptedHost::routes(kept_));
  }
  int bind(IdNumber id, const SocketAddress& address) {
    return Program::error_of(active.cm().bind(active.channel(), id, address));
  }
  SocketAddress local(IdNumber id) { return active.cm().query(active.channel(), id).value().local; }
  using Asked = std::vector<std::string>;

  const std::shared_ptr<HostScript> kept_ = std::make_shared<HostScript>();
  HostScript& script = *kept_;
};

TEST_F(SharedHostTest, GivesPortsAndTakesThemBack) {
  const IdNumber id = active.create();
  ASSERT_EQ(bind(id, any_address()), 0);
  EXPECT_EQ(local(id).port, script.port);
  EXPECT_TRUE(active.cm().listen(active.channel(), id, 1));
  EXPECT_TRUE(active.cm().destroy_id(active.channel(), id, active.now()));
  EXPECT_EQ(script.asked, (Asked{"bind TCP 0.0.0.0:0", "listen 40001", "release 40001"}));
}

TEST_F(SharedHostTest, SaysThatAnotherNicHasAPort) {
  script.bind_error = EADDRINUSE;
  const IdNumber id = active.create();
  EXPECT_EQ(bind(id, any_address(kPort)), EADDRINUSE);
  script.bind_error = 0;
  EXPECT_EQ(bind(id, any_address(kPort)), 0) << "the id is as it was";
}

TEST_F(SharedHostTest, SaysThatAnotherNicListens) {
  const IdNumber id = active.create();
  ASSERT_EQ(bind(id, any_address(kPort)), 0);
  script.listen_error = EADDRINUSE;
  EXPECT_EQ(Program::error_of(active.cm().listen(active.channel(), id, 1)), EADDRINUSE);
  script.listen_error = 0;
  EXPECT_TRUE(active.cm().listen(active.channel(), id, 1));
}

TEST_F(SharedHostTest, FindsTheAddressThatAPeerIsReachedFrom) {
  const IdNumber id = active.create();
  ASSERT_EQ(active.resolve(id, address_of(2, kPort)), 0);
  pair.settle();
  active.take(EventType::kAddressResolved);
  EXPECT_EQ(local(id).address, script.route.source);
  EXPECT_EQ(script.asked.back(), "route to 10.0.0.2");
}

TEST_F(SharedHostTest, HasTheOwnAddressWhereTheRoutesNameOneThatTheNicHasNot) {
  script.route.source = address_of(77).address;
  const IdNumber id = active.create();
  ASSERT_EQ(active.resolve(id, address_of(2, kPort)), 0);
  pair.settle();
  active.take(EventType::kAddressResolved);
  EXPECT_EQ(local(id).address, address_of(1).address);
}

TEST_F(SharedHostTest, AsksForThePathMtuThatTheRouteAllows) {
  struct {
    std::uint16_t route;
    transport::PathMtu path;
  } const cases[] = {{9000, transport::PathMtu::k4096},
                     {1500, transport::PathMtu::k1024},
                     {1103, transport::PathMtu::k512},
                     {576, transport::PathMtu::k256}};
  for (const auto& each : cases) {
    script.route.mtu = each.route;
    const IdNumber id = active.create();
    ASSERT_EQ(active.resolve(id, address_of(2, kPort)), 0);
    pair.settle();
    active.take(EventType::kAddressResolved);
    ASSERT_TRUE(active.cm().resolve_route(active.channel(), id, std::chrono::milliseconds(1000)));
    active.take(EventType::kRouteResolved);
    EXPECT_EQ(active.cm().query(active.channel(), id).value().path->mtu, each.path) << each.route;
    ASSERT_TRUE(active.cm().destroy_id(active.channel(), id, active.now()));
  }
}

TEST_F(SharedHostTest, HasNoWayToAPeerWhereTheHostHasNone) {
  script.route_error = ENETUNREACH;
  const IdNumber id = active.create();
  ASSERT_EQ(active.resolve(id, address_of(2, kPort)), 0);
  EXPECT_EQ(active.take(EventType::kAddressError).status, -ENETUNREACH);
}

TEST_F(SharedHostTest, HasCommunicationIdsOfItsShare) {
  passive.listen();
  const Connected connection = connected();
  const auto& ids = active.cm().ids();
  ASSERT_TRUE(ids.contains(connection.active));
  ASSERT_TRUE(ids.at(connection.active).cm);
  EXPECT_EQ(transport::to_integer(*ids.at(connection.active).cm) >> 24, 0x5au);
}

}  // namespace
}  // namespace urnic::nic::rdma_cm
