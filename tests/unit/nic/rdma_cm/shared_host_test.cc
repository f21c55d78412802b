// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// rdma_cm of a NIC that shares its host's addresses: ports and routes are the host's.
#include "nic/rdma_cm/shared_host.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/nic/rdma_cm/cm_pair.h"

namespace urnic::nic::rdma_cm {
namespace {

using namespace std::chrono_literals;
using transport::wire::Gid;

/// What the host was asked, and what it answers.
struct HostScript {
  std::vector<std::string> asked;
  std::uint16_t port = 40001;         ///< the one it chooses
  std::optional<std::uint16_t> lent;  ///< the next one that it has lent
  int bind_error = 0;
  int listen_error = 0;
  HostRoute route{.source = address_of(1).address, .mtu = 9000};
  int route_error = 0;
};

class ScriptedHost final : public SharedHost {
 public:
  explicit ScriptedHost(std::shared_ptr<HostScript> script) : script_(std::move(script)) {}

  std::optional<std::uint16_t> take_lent(PortSpace) override { return script_->lent; }
  void give_back_lent(PortSpace, std::uint16_t port) override {
    script_->asked.push_back("give back " + std::to_string(port));
  }
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
    return [script = std::move(script)](const Way& way) -> Result<HostRoute, Error> {
      script->asked.push_back("route to " + to_string(way.destination.ipv4()));
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
  using StepOf = std::function<Step()>;
  /// As a program's command does, which asks the host without the engine's lock.
  int run(const StepOf& command) {
    Step step = command();
    while (step && step.value()) {
      const PortQuestion question = *step.value();
      const PortAnswer answer = ask(*active.cm().host(), question);
      if (meanwhile) std::exchange(meanwhile, nullptr)();
      if (auto answered = active.cm().answer(question, answer); !answered) return answered.error().code;
      step = command();
    }
    return Program::error_of(step);
  }
  int bind(IdNumber id, const SocketAddress& address) {
    return run([&] { return active.cm().bind(active.channel(), id, address); });
  }
  int listen(IdNumber id) {
    return run([&] { return active.cm().listen(active.channel(), id, 1); });
  }
  int resolve(IdNumber id, const SocketAddress& peer) {
    return run([&] { return active.cm().resolve_address(active.channel(), id, {}, peer, 2s, active.now()); });
  }
  int destroy(IdNumber id) {
    return Program::error_of(active.cm().destroy_id(active.channel(), id, active.now()));
  }
  SocketAddress local(IdNumber id) { return active.cm().query(active.channel(), id).value().local; }
  using Asked = std::vector<std::string>;

  std::function<void()> meanwhile;  ///< happens while the host is asked next
  const std::shared_ptr<HostScript> kept_ = std::make_shared<HostScript>();
  HostScript& script = *kept_;
};

TEST_F(SharedHostTest, GivesPortsAndTakesThemBack) {
  const IdNumber id = active.create();
  ASSERT_EQ(bind(id, any_address()), 0);
  EXPECT_EQ(local(id).port, script.port);
  EXPECT_EQ(listen(id), 0);
  EXPECT_EQ(destroy(id), 0);
  EXPECT_EQ(script.asked, (Asked{"bind TCP 0.0.0.0:0", "listen 40001", "release 40001"}));
}

TEST_F(SharedHostTest, HasALentPortWithoutAsking) {
  script.lent = 61008;
  const IdNumber id = active.create();
  const Step step = active.cm().bind(active.channel(), id, any_address());
  ASSERT_TRUE(step);
  EXPECT_FALSE(step.value());
  EXPECT_EQ(local(id).port, 61008);
  EXPECT_EQ(destroy(id), 0);
  EXPECT_EQ(script.asked, (Asked{"give back 61008"}));
}

TEST_F(SharedHostTest, ResolvesFromALentPortWithoutAskingForOne) {
  script.lent = 61008;
  const IdNumber id = active.create();
  ASSERT_EQ(resolve(id, address_of(2, kPort)), 0);
  EXPECT_EQ(local(id).port, 61008);
  EXPECT_EQ(script.asked, (Asked{"route to 10.0.0.2"}));
}

TEST_F(SharedHostTest, MakesALentPortItsOwnBeforeItListens) {
  script.lent = 61008;
  const IdNumber id = active.create();
  ASSERT_EQ(bind(id, any_address()), 0);
  ASSERT_EQ(listen(id), 0);
  EXPECT_EQ(destroy(id), 0);
  EXPECT_EQ(script.asked, (Asked{"bind TCP 0.0.0.0:61008", "listen 61008", "release 61008"}));
}

TEST_F(SharedHostTest, DoesNotAskForAPortThatTheProgramHas) {
  ASSERT_EQ(bind(active.create(), any_address(kPort)), 0);
  script.asked.clear();
  EXPECT_EQ(bind(active.create(), any_address(kPort)), EADDRNOTAVAIL);
  EXPECT_EQ(script.asked, Asked());
}

TEST_F(SharedHostTest, LetsTheIdDoNothingElseWhileTheHostIsAsked) {
  const IdNumber id = active.create();
  bool was_asked = false;
  meanwhile = [&] {
    was_asked = true;
    EXPECT_EQ(active.cm().ids().at(id).state, IdState::kBinding);
    const auto code = [](const Step& step) { return Program::error_of(step); };
    EXPECT_EQ(code(active.cm().bind(active.channel(), id, any_address(kPort))), EINVAL);
    EXPECT_EQ(code(active.cm().listen(active.channel(), id, 1)), EINVAL);
    EXPECT_EQ(code(active.cm().resolve_address(active.channel(), id, {}, address_of(2, kPort), 2s, {})),
              EINVAL);
  };
  EXPECT_EQ(bind(id, any_address(kPort)), 0);
  EXPECT_TRUE(was_asked);
  EXPECT_EQ(local(id).port, kPort);
}

TEST_F(SharedHostTest, GivesAPortBackWhoseIdWasDestroyedMeanwhile) {
  const IdNumber id = active.create();
  meanwhile = [&] { EXPECT_EQ(destroy(id), 0); };
  EXPECT_EQ(bind(id, any_address(kPort)), ENOENT);
  EXPECT_EQ(script.asked.back(), "release " + std::to_string(kPort));
}

TEST_F(SharedHostTest, GivesALentPortBackOnceWhoseIdWasDestroyedMeanwhile) {
  script.lent = 61008;
  const IdNumber id = active.create();
  ASSERT_EQ(bind(id, any_address()), 0);
  meanwhile = [&] { EXPECT_EQ(destroy(id), 0); };
  EXPECT_EQ(listen(id), ENOENT);
  EXPECT_EQ(script.asked, (Asked{"bind TCP 0.0.0.0:61008", "release 61008"}));
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
  EXPECT_EQ(listen(id), EADDRINUSE);
  script.listen_error = 0;
  EXPECT_EQ(listen(id), 0);
}

TEST_F(SharedHostTest, FindsTheAddressThatAPeerIsReachedFrom) {
  const IdNumber id = active.create();
  ASSERT_EQ(resolve(id, address_of(2, kPort)), 0);
  pair.settle();
  active.take(EventType::kAddressResolved);
  EXPECT_EQ(local(id).address, script.route.source);
  EXPECT_EQ(script.asked.back(), "route to 10.0.0.2");
}

TEST_F(SharedHostTest, HasTheOwnAddressWhereTheRoutesNameOneThatTheNicHasNot) {
  script.route.source = address_of(77).address;
  const IdNumber id = active.create();
  ASSERT_EQ(resolve(id, address_of(2, kPort)), 0);
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
    ASSERT_EQ(resolve(id, address_of(2, kPort)), 0);
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
  ASSERT_EQ(resolve(id, address_of(2, kPort)), 0);
  EXPECT_EQ(active.take(EventType::kAddressError).status, -ENETUNREACH);
}

TEST_F(SharedHostTest, HasCommunicationIdsOfItsShare) {
  passive.listen();
  script.lent = 61008;
  const Connected connection = connected();
  const auto& ids = active.cm().ids();
  ASSERT_TRUE(ids.contains(connection.active));
  ASSERT_TRUE(ids.at(connection.active).cm);
  EXPECT_EQ(transport::to_integer(*ids.at(connection.active).cm) >> 24, 0x5au);
}

}  // namespace
}  // namespace urnic::nic::rdma_cm
