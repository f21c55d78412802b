// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// CmPair: a program with an event channel on each of two devices.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nic/engine/engine.h"
#include "nic/rdma_cm/rdma_cm.h"
#include "tests/unit/nic/device_pair.h"

namespace urnic::nic::rdma_cm {

inline constexpr std::uint16_t kPort = 7174;

inline SocketAddress address_of(std::uint8_t host, std::uint16_t port = 0) {
  return {.family = SocketAddress::Family::kIpv4,
          .address = transport::wire::Ipv6Address::from_ipv4({{10, 0, 0, host}}),
          .port = port};
}

inline SocketAddress any_address(std::uint16_t port = 0) {
  return {.family = SocketAddress::Family::kIpv4,
          .address = transport::wire::Ipv6Address::from_ipv4({}),
          .port = port};
}

inline PrivateBytes private_bytes(std::string_view text) {
  PrivateBytes bytes;
  bytes.size = static_cast<std::uint8_t>(text.size());
  std::memcpy(bytes.bytes.data(), text.data(), text.size());
  return bytes;
}

/// One of the two programs.
class Program final : private ChannelSignal {
 public:
  explicit Program(Host& host) : host_(host) {}
  ~Program() override {
    while (cm().end_some_of(channel_, now())) {
    }
  }

  Host& host() { return host_; }
  RdmaCm& cm() { return host_.device().engine().rdma_cm(); }
  EventChannel& channel() { return channel_; }
  transport::Time now() { return host_.device().now(); }
  bool has_events() const { return has_events_; }

  /// "" for success, otherwise the errno's name.
  template <typename T>
  static int error_of(const Result<T, Error>& result) {
    return result ? 0 : result.error().code;
  }

  IdNumber create(std::uint64_t uid = 0, Service service = Service::kRc) {
    const PortSpace space = service == Service::kUd ? PortSpace::kUdp : PortSpace::kTcp;
    return cm().create_id(channel_, uid, space, service).value();
  }
  IdNumber listen(std::uint16_t port = kPort, std::uint32_t backlog = 0, Service service = Service::kRc) {
    const IdNumber id = create(0x1157, service);
    EXPECT_EQ(error_of(cm().bind(channel_, id, any_address(port))), 0);
    EXPECT_EQ(error_of(cm().listen(channel_, id, backlog)), 0);
    return id;
  }
  int resolve(IdNumber id, const SocketAddress& peer) {
    return error_of(cm().resolve_address(channel_, id, {}, peer, std::chrono::seconds(2), now()));
  }
  /// The next event; fails the test when there is none, or another.
  Event take(EventType type) {
    const auto event = cm().next_event(channel_);
    EXPECT_TRUE(event.has_value()) << "there is no event";
    if (!event) return {};
    EXPECT_EQ(event->type, type);
    return *event;
  }
  bool has_event() const { return !channel_.is_empty(); }
  ConnectionParameters parameters(std::uint32_t qp, std::string_view text = "") const {
    return {.private_data = private_bytes(text),
            .responder_resources = 3,
            .initiator_depth = 2,
            .retry_count = 5,
            .rnr_retry_count = 6,
            .qp = transport::QpNumber{qp}};
  }

 private:
  void set(bool has_events) noexcept override {
    EXPECT_TRUE(has_events || has_events_);
    has_events_ = has_events;
  }

  Host& host_;
  bool has_events_ = false;
  EventChannel channel_{*this};
};

/// What tests of connections begin with: device A asks, device B listens.
class CmTest : public testing::Test {
 protected:
  explicit CmTest(const DevicePairOptions& options = {}) : pair(options) { pair.settle(); }

  /// An id of A with a route to B.
  IdNumber routed(std::uint16_t port = kPort, Service service = Service::kRc) {
    const IdNumber id = active.create(0xac, service);
    EXPECT_EQ(active.resolve(id, address_of(2, port)), 0);
    pair.settle();
    active.take(EventType::kAddressResolved);
    EXPECT_EQ(Program::error_of(active.cm().resolve_route(active.channel(), id, std::chrono::seconds(2))), 0);
    active.take(EventType::kRouteResolved);
    return id;
  }
  int connect(IdNumber id, std::string_view text = "") {
    return Program::error_of(
        active.cm().connect(active.channel(), id, active.parameters(0x111, text), active.now()));
  }
  int accept(IdNumber id, std::string_view text = "") {
    return Program::error_of(
        passive.cm().accept(passive.channel(), id, 0xbb, passive.parameters(0x222, text), passive.now()));
  }
  int establish(IdNumber id) { return Program::error_of(active.cm().establish(active.channel(), id)); }

  struct Connected {
    IdNumber active{};
    IdNumber passive{};
  };
  /// Everything up to ESTABLISHED.
  Connected connected() {
    const IdNumber id = routed();
    EXPECT_EQ(connect(id), 0);
    pair.settle();
    const IdNumber request = passive.take(EventType::kConnectRequest).id;
    EXPECT_EQ(accept(request), 0);
    pair.settle();
    active.take(EventType::kConnectResponse);
    EXPECT_EQ(establish(id), 0);
    pair.settle();
    passive.take(EventType::kEstablished);
    return {id, request};
  }

  DevicePair pair;
  Program active{pair.a()};
  Program passive{pair.b()};
};

}  // namespace urnic::nic::rdma_cm
