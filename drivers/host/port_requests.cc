// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/host/port_requests.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include "nic/rdma_cm/types.h"
#include "transport/types.h"

namespace urnic::drivers {

using nic::rdma_cm::IdNumber;
using nic::rdma_cm::PortSpace;

namespace {

bool is_port_space(std::uint16_t value) {
  return std::ranges::any_of(nic::rdma_cm::kPortSpaces,
                             [value](PortSpace space) { return transport::to_integer(space) == value; });
}

/// What a request to bind asks for; nothing when a field has a value that it cannot have.
std::optional<HostPorts::Binding> binding_of(const HostRequest& request) {
  using nic::rdma_cm::SocketAddress;
  HostPorts::Binding binding{.id = IdNumber{request.id}, .address = {}};
  binding.address.address.octets = request.address;
  binding.address.port = request.port;
  const bool is_ipv4 = binding.address.address.is_ipv4_mapped();
  if (request.family == 4 && is_ipv4) {
    binding.address.family = SocketAddress::Family::kIpv4;
  } else if (request.family == 6 && !is_ipv4) {
    binding.address.family = SocketAddress::Family::kIpv6;
  } else {
    return std::nullopt;
  }
  if (request.may_be_shared > 1 || request.is_family_only > 1) return std::nullopt;
  binding.may_be_shared = request.may_be_shared == 1;
  binding.is_family_only = request.is_family_only == 1;
  return binding;
}

}  // namespace

HostAnswer change_ports(HostPorts& ports, unsigned slot, const HostRequest& request) {
  const bool is_about_port = is_port_space(request.space) && request.id < nic::rdma_cm::kMaxIds;
  if (!is_about_port) return {.error = EINVAL};
  const auto space = static_cast<PortSpace>(request.space);
  if (request.kind == HostRequestKind::kLend) {
    const auto lent = ports.lend(slot, space, request.port);
    return lent ? HostAnswer{.port = lent.value()} : HostAnswer{.error = lent.error()};
  }
  const IdNumber id{request.id};
  if (request.kind == HostRequestKind::kRelease) {
    ports.release(slot, space, request.port, id);
    return {};
  }
  if (request.kind == HostRequestKind::kListen) {
    return {.error = ports.listen(slot, space, request.port, id)};
  }
  if (request.kind != HostRequestKind::kBind) return {.error = EINVAL};
  const auto binding = binding_of(request);
  if (!binding) return {.error = EINVAL};
  const auto port = ports.bind(slot, space, *binding);
  if (!port) return {.error = port.error()};
  return {.port = port.value()};
}

}  // namespace urnic::drivers
