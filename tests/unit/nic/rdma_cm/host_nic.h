// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// HostNic: rdma_cm of a NIC that has the addresses of a host, without a device.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "nic/config.h"
#include "nic/path/gid_table.h"
#include "nic/path/multicast_reports.h"
#include "nic/path/neighbor_cache.h"
#include "nic/rdma_cm/rdma_cm.h"
#include "tests/unit/nic/rdma_cm/cm_pair.h"

namespace urnic::nic::rdma_cm {

inline transport::wire::Gid gid(std::string_view text) {
  return *transport::wire::Gid::parse(text);
}

inline SocketAddress ipv6(std::string_view text, std::uint32_t scope = 0, std::uint16_t port = 0) {
  return {.family = SocketAddress::Family::kIpv6, .address = gid(text), .port = port, .scope_id = scope};
}

inline SocketAddress ipv4(std::uint8_t network, std::uint8_t host) {
  return {.family = SocketAddress::Family::kIpv4,
          .address = transport::wire::Gid::from_ipv4({{10, network, 0, host}})};
}

/// The routes of the host are the test's.
class HostNic : private ChannelSignal {
 public:
  explicit HostNic(const std::vector<HostAddress>& addresses) : config_(config_of(addresses)) {
    cm_.use({}, nullptr, [this](const Way& way) -> Result<HostRoute, Error> {
      asked_ = way;
      const auto found = std::ranges::find(routes_, way.destination,
                                           &std::pair<transport::wire::Gid, transport::wire::Gid>::first);
      if (found == routes_.end()) return Error{.code = ENETUNREACH, .message = "no way"};
      return HostRoute{.source = found->second, .mtu = 1500};
    });
  }
  ~HostNic() override {
    while (cm_.end_some_of(channel_, {})) {
    }
  }

  IdNumber create() { return cm_.create_id(channel_, 0, PortSpace::kTcp, Service::kRc).value(); }
  int bind(const SocketAddress& address) { return Program::error_of(cm_.bind(channel_, create(), address)); }
  SocketAddress local(IdNumber id) { return cm_.query(channel_, id).value().local; }
  /// Returns the call's errno value, or the event's negative one.
  int resolve(IdNumber id, const SocketAddress& source, const SocketAddress& destination) {
    const int failed = Program::error_of(
        cm_.resolve_address(channel_, id, source, destination, std::chrono::seconds(2), {}));
    if (failed != 0) return failed;
    const auto event = cm_.next_event(channel_);
    return event ? event->status : ETIMEDOUT;
  }
  int resolve(const SocketAddress& source, const SocketAddress& destination) {
    return resolve(create(), source, destination);
  }
  RdmaCm& cm() { return cm_; }
  EventChannel& channel() { return channel_; }
  const std::optional<Way>& asked() const { return asked_; }
  void set_observer(ConnectionObserver& observer) { cm_.set_observer(observer); }

  /// The host reaches the destination from that address.
  void route(std::string_view destination, std::string_view source) {
    routes_.emplace_back(gid(destination), gid(source));
  }

 private:
  static DeviceConfig config_of(const std::vector<HostAddress>& addresses) {
    DeviceConfig config;
    config.medium = Medium::kIp;
    config.host_addresses = addresses;
    return config;
  }
  void set(bool) noexcept override {}

  DeviceConfig config_;
  GidTable gids_{config_};
  NeighborCache neighbors_{config_, gids_};
  MulticastReports reports_{config_, gids_};
  RdmaCm cm_{config_, gids_, neighbors_, reports_};
  EventChannel channel_{*this};
  std::vector<std::pair<transport::wire::Gid, transport::wire::Gid>> routes_;
  std::optional<Way> asked_;
};

}  // namespace urnic::nic::rdma_cm
