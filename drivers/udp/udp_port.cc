// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/udp/udp_port.h"

#include <fmt/core.h>
#include <sys/epoll.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace urnic::drivers {

using transport::wire::Gid;

namespace {

std::string to_text(const Gid& address) {
  return address.is_ipv4_mapped() ? to_string(address.ipv4()) : to_string(address);
}

}  // namespace

Result<std::unique_ptr<UdpPort>, Error> UdpPort::open(const Config& config) {
  auto listeners = Listeners::create(config.link_mtu);
  if (!listeners) return listeners.error();
  for (const nic::HostAddress& address : config.addresses) {
    if (auto added = listeners.value().add(address); !added) return added.error();
  }
  return std::unique_ptr<UdpPort>(new UdpPort(config, std::move(listeners.value()), nullptr));
}

Result<std::unique_ptr<UdpPort>, Error> UdpPort::share(const Config& config,
                                                       std::shared_ptr<SocketExchange> exchange) {
  auto listeners = Listeners::create(config.link_mtu);
  if (!listeners) return listeners.error();
  epoll_event event{.events = EPOLLIN, .data = {}};
  if (epoll_ctl(listeners.value().wake_fd(), EPOLL_CTL_ADD, exchange->wake_fd(), &event) != 0) {
    const int code = errno;
    return Error{.code = code,
                 .message = "cannot wait for the host's switch: " + std::generic_category().message(code)};
  }
  std::unique_ptr<UdpPort> port(new UdpPort(config, std::move(listeners.value()), std::move(exchange)));
  if (auto taken = port->take_sockets(); !taken) return taken.error();
  return port;
}

UdpPort::UdpPort(const Config& config, Listeners listeners, std::shared_ptr<SocketExchange> exchange)
    : addresses_(config.addresses),
      link_mtu_(config.link_mtu),
      exchange_(std::move(exchange)),
      listeners_(std::move(listeners)),
      sender_({.max_packet_bytes = config.link_mtu,
               .may_segment = config.may_segment,
               .is_host_shared = exchange_ != nullptr},
              addresses_) {
  leave_by_own_sockets();
}

void UdpPort::leave_by_own_sockets() {
  for (const nic::HostAddress& address : addresses_.all()) {
    sender_.use_for(address.gid, listeners_.socket_of(address.gid));
  }
}

/// Has those that the exchange has, in place of its own.
Result<void, Error> UdpPort::take_sockets() {
  auto sockets = exchange_->take();
  // Groups', too: with any of them left the next switch finds the port taken.
  listeners_.drop_all();
  Result<void, Error> result = success();
  if (sockets) {
    listeners_.keep_share(sockets->share);
    listeners_.use_port(sockets->port);
    sender_.use_port(sockets->port);
    result = listeners_.adopt(std::move(sockets->ipv4), true);
    if (result && sockets->ipv6) result = listeners_.adopt(std::move(sockets->ipv6), false);
    if (result) result = listeners_.adopt_packets(std::move(sockets->handed_over));
    for (std::size_t i = 0; result && i < groups_.size(); ++i) result = hear(groups_[i]);
  }
  leave_by_own_sockets();
  return result;
}

std::size_t UdpPort::receive(std::span<nic::ReceivedFrame> packets) {
  if (has_other_sockets()) [[unlikely]] {
    // With an error the port hears nothing, as when the switch does not come back.
    [[maybe_unused]] const auto taken = take_sockets();
  }
  return listeners_.receive(packets);
}

Result<void, Error> UdpPort::join(const Gid& group) {
  if (auto heard = hear(group); !heard) return heard;
  groups_.push_back(group);
  return success();
}

void UdpPort::leave(const Gid& group) {
  std::erase(groups_, group);
  listeners_.leave(group);
}

Result<void, Error> UdpPort::hear(const Gid& group) {
  const nic::HostAddress* const own = addresses_.first_like(group);
  if (own == nullptr) {
    return failure(Error{
        .code = EADDRNOTAVAIL,
        .message =
            fmt::format("the host has no address that is of the same kind as group {}", to_text(group))});
  }
  return listeners_.join(group, *own);
}

nic::PacketPort::Statistics UdpPort::statistics() const {
  const Listeners::Counters& in = listeners_.counters();
  const UdpSender::Counters& out = sender_.counters();
  return {.received_frames = in.packets,
          .received_bytes = in.bytes,
          .sent_frames = out.packets,
          .sent_bytes = out.bytes,
          .dropped_frames = out.dropped + in.too_long + in.lost_strays,
          .returned_frames = out.returned};
}

std::string UdpPort::description() const {
  std::string addresses;
  for (const nic::HostAddress& address : addresses_.all()) {
    addresses += fmt::format("{}{}", addresses.empty() ? "" : ", ", to_text(address.gid));
  }
  return fmt::format("{} {}", exchange_ != nullptr ? "host" : "udp", addresses);
}

}  // namespace urnic::drivers
