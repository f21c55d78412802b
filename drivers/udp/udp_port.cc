#include "drivers/udp/udp_port.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace urnic::drivers {

using transport::wire::Gid;

namespace {

std::string to_text(const Gid& address) {
  return address.is_ipv4_mapped() ? to_string(address.ipv4()) : to_string(address);
}

}  // namespace

Result<std::unique_ptr<UdpPort>, Error> UdpPort::open(const Config& config) {
  auto listeners = Listeners::create(config.link_mtu, config.interface);
  if (!listeners) return listeners.error();
  for (const Gid& address : config.addresses) {
    if (auto added = listeners.value().add(address); !added) return added.error();
  }
  return std::unique_ptr<UdpPort>(new UdpPort(config, std::move(listeners.value())));
}

UdpPort::UdpPort(const Config& config, Listeners listeners)
    : config_(config),
      listeners_(std::move(listeners)),
      sender_({.max_packet_bytes = config.link_mtu,
               .interface = config.interface,
               .may_segment = config.may_segment}) {
  for (const Gid& address : config_.addresses) sender_.use_for(address, listeners_.socket_of(address));
}

void UdpPort::set_membership(const Gid& group, bool is_member) {
  if (!is_member) return listeners_.leave(group);
  const auto own = std::ranges::find(config_.addresses, group.is_ipv4_mapped(), &Gid::is_ipv4_mapped);
  if (own == config_.addresses.end() || !listeners_.join(group, *own)) ++failed_joins_;
}

nic::PacketPort::Statistics UdpPort::statistics() const {
  const Listeners::Counters& in = listeners_.counters();
  const UdpSender::Counters& out = sender_.counters();
  return {.received_frames = in.packets,
          .received_bytes = in.bytes,
          .sent_frames = out.packets,
          .sent_bytes = out.bytes,
          .dropped_frames = out.dropped + in.too_long,
          .returned_frames = out.returned,
          .failed_joins = failed_joins_};
}

std::string UdpPort::description() const {
  std::string addresses;
  for (const Gid& address : config_.addresses) {
    addresses += fmt::format("{}{}", addresses.empty() ? "" : ", ", to_text(address));
  }
  return fmt::format("udp {}", addresses);
}

}  // namespace urnic::drivers
