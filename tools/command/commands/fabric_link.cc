// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/fabric_link.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "nic/diagnostics/status_request.h"
#include "nic/host/port_spec.h"
#include "tools/inspection/stat/processes.h"
#include "transport/wire/address.h"

namespace urnic::tools {
namespace {

using transport::wire::Gid;

std::optional<Gid> parse_address(const std::string& text) {
  if (const auto ipv4 = transport::wire::Ipv4Address::parse(text)) return Gid::from_ipv4(*ipv4);
  return transport::wire::Ipv6Address::parse(text);
}

bool is_on(const nic::DeviceSnapshot& snapshot, const std::string& fabric) {
  const auto port = nic::PortSpec::parse(snapshot.port);
  return port && port.value().kind == nic::PortSpec::Kind::kFabric && port.value().target == fabric;
}

bool has_address(const nic::DeviceSnapshot& snapshot, const Gid& address) {
  return std::ranges::find(snapshot.gids, address) != snapshot.gids.end();
}

}  // namespace

Result<void, Error> set_fabric_link(const std::string& fabric, const std::string& address, bool is_up) {
  const auto wanted = parse_address(address);
  if (!wanted) {
    return failure(Error{.code = EINVAL, .message = fmt::format("'{}' is no IPv4 or IPv6 address", address)});
  }
  const auto processes = ask_processes();
  if (!processes) return failure(processes.error());
  const auto owner = std::ranges::find_if(processes.value(), [&](const NicProcess& process) {
    return process.snapshot && is_on(*process.snapshot, fabric) && has_address(*process.snapshot, *wanted);
  });
  if (owner == processes.value().end()) {
    return failure(Error{
        .code = ENOENT,
        .message =
            fmt::format("no program on fabric {} has a device open with the address {}; 'urnic stat' lists "
                        "devices with their addresses",
                        fabric, address)});
  }
  const auto answer = tell_process(owner->socket, is_up ? nic::kLinkUp : nic::kLinkDown);
  if (!answer) return failure(answer.error());
  if (answer.value() == nic::kCarriedOut) return success();
  return failure(Error{.code = EIO, .message = answer.value()});
}

}  // namespace urnic::tools
