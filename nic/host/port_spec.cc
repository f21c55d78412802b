// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/port_spec.h"

#include <fmt/core.h>
#include <net/if.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>

#include "nic/host/fabric_folder.h"
#include "nic/host/fabric_slots.h"
#include "transport/wire/address.h"

namespace urnic::nic {
namespace {

constexpr std::string_view kForms =
    "use fabric[:NAME[,switched]], host[,each][,unsegmented], udp[:ADDRESS][,unsegmented], "
    "vhost:PATH[,front|back], af_packet:IFACE, af_xdp:IFACE, pci:ADDRESS, bench:PATH or loopback";

// With their terminating zero, both must fit the kernel's structures.
constexpr std::size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;
constexpr std::size_t kMaxInterfaceBytes = IFNAMSIZ - 1;

template <typename... Arguments>
Error bad_spec(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return Error{.code = EINVAL, .message = fmt::format(format, std::forward<Arguments>(arguments)...)};
}

/// A socket's, in what follows the kind.
Result<void, Error> check_path(std::string_view text, std::string_view path) {
  if (path.empty()) return bad_spec("port '{}': a socket path is missing; {}", text, kForms);
  if (path.size() <= kMaxPathBytes) return success();
  return bad_spec("port '{}': the socket path has {} bytes, at most {} fit a socket address", text,
                  path.size(), kMaxPathBytes);
}

/// What follows "bench".
Result<PortSpec, Error> parse_bench(std::string_view text, std::string_view path) {
  if (auto fine = check_path(text, path); !fine) return fine.error();
  return PortSpec{
      .kind = PortSpec::Kind::kBench, .side = PortSpec::VhostSide::kFront, .target = std::string(path)};
}

Result<PortSpec, Error> parse_vhost(std::string_view text, std::string_view rest) {
  PortSpec spec{.kind = PortSpec::Kind::kVhost, .side = PortSpec::VhostSide::kFront, .target = {}};
  const std::size_t comma = rest.rfind(',');
  if (comma != std::string_view::npos) {
    const std::string_view side = rest.substr(comma + 1);
    if (side == "back") {
      spec.side = PortSpec::VhostSide::kBack;
    } else if (side != "front") {
      return bad_spec("port '{}': the side after the comma is 'front' or 'back', not '{}'", text, side);
    }
    rest = rest.substr(0, comma);
  }
  if (auto fine = check_path(text, rest); !fine) return fine.error();
  // DPDK separates the arguments of a device by commas and cannot quote them.
  if (rest.find(',') != std::string_view::npos) {
    return bad_spec("port '{}': a comma cannot be part of the socket path", text);
  }
  spec.target = rest;
  return spec;
}

/// What follows "af_packet" or "af_xdp".
Result<PortSpec, Error> parse_interface(PortSpec::Kind kind, std::string_view text,
                                        std::string_view interface) {
  if (interface.empty()) return bad_spec("port '{}': an interface name is missing; {}", text, kForms);
  if (interface.size() > kMaxInterfaceBytes) {
    return bad_spec("port '{}': an interface name has at most {} bytes", text, kMaxInterfaceBytes);
  }
  if (interface.find_first_of(",/ \t") != std::string_view::npos) {
    return bad_spec("port '{}': '{}' is not an interface name", text, interface);
  }
  return PortSpec{.kind = kind, .side = PortSpec::VhostSide::kFront, .target = std::string(interface)};
}

/// "03:00.0" or "0000:03:00.0", of hexadecimal digits: domain (four and more, 0000 where left away), bus,
/// device, function.
std::optional<std::string> parse_pci_address(std::string_view text) {
  const auto take = [&](std::size_t least, std::size_t most, char behind) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789abcdefABCDEF"), text.size());
    const bool is_fine = digits >= least && digits <= most &&
                         (behind == '\0' ? text.size() == digits : text.substr(digits).starts_with(behind));
    unsigned number = 0;
    std::from_chars(text.data(), text.data() + digits, number, 16);
    text.remove_prefix(std::min(text.size(), digits + 1));
    return is_fine ? std::optional(number) : std::nullopt;
  };
  const bool has_domain = std::ranges::count(text, ':') == 2;
  const auto domain = has_domain ? take(4, 8, ':') : 0;
  const auto bus = take(2, 2, ':');
  const auto device = take(2, 2, '.');
  const auto function = take(1, 1, '\0');
  if (!domain || !bus || !device || !function || *device > 0x1f || *function > 7) return std::nullopt;
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", *domain, *bus, *device, *function);
}

Result<PortSpec, Error> parse_pci(std::string_view text, std::string_view rest) {
  if (rest.empty()) return bad_spec("port '{}': the address of a PCI card is missing; {}", text, kForms);
  auto address = parse_pci_address(rest);
  if (!address) {
    return bad_spec(
        "port '{}': '{}' is no address of a PCI card, such as 0000:03:00.0 ('lspci -D' lists them)", text,
        rest);
  }
  return PortSpec{
      .kind = PortSpec::Kind::kPci, .side = PortSpec::VhostSide::kFront, .target = std::move(*address)};
}

Result<PortSpec, Error> parse_fabric(std::string_view text, std::string_view rest) {
  constexpr std::string_view kSwitched = "switched";
  std::size_t comma = rest.find(',');
  PortSpec spec{.kind = PortSpec::Kind::kFabric,
                .side = PortSpec::VhostSide::kFront,
                .target = std::string(rest.substr(0, comma))};
  if (auto fine = check_fabric_name(spec.target); !fine) {
    return bad_spec("port '{}': {}", text, fine.error().message);
  }
  while (comma != std::string_view::npos) {
    rest = rest.substr(comma + 1);
    comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    const char* const end = word.data() + word.size();
    const auto [read, failure] = std::from_chars(word.data(), end, spec.slot);
    const bool is_slot = failure == std::errc() && read == end && spec.slot < kFabricPorts;
    if (is_slot ? spec.is_slot_named || spec.is_switched : word != kSwitched || spec.is_switched) {
      return bad_spec("port '{}': after the name comes a number from 0 to {}, or '{}', or both", text,
                      kFabricPorts - 1, kSwitched);
    }
    spec.is_slot_named |= is_slot;
    spec.is_switched |= !is_slot;
  }
  return spec;
}

constexpr std::string_view kUnsegmented = ",unsegmented";

constexpr std::string_view kEach = ",each";

/// What follows "host".
Result<PortSpec, Error> parse_host(std::string_view text, std::string_view rest) {
  PortSpec spec{.kind = PortSpec::Kind::kHost, .side = PortSpec::VhostSide::kFront, .target = {}};
  spec.is_each = rest == kEach || rest.starts_with(",each,");
  if (spec.is_each) rest.remove_prefix(kEach.size());
  spec.is_unsegmented = rest == kUnsegmented;
  if (rest.empty() || spec.is_unsegmented) return spec;
  return bad_spec("port '{}': after 'host' comes nothing, ',each', ',unsegmented', or ',each,unsegmented'",
                  text);
}

/// What follows "udp".
Result<PortSpec, Error> parse_udp(std::string_view text, std::string_view rest) {
  PortSpec spec{.kind = PortSpec::Kind::kUdp, .side = PortSpec::VhostSide::kFront, .target = {}};
  spec.is_unsegmented = rest.ends_with(kUnsegmented);
  if (spec.is_unsegmented) rest.remove_suffix(kUnsegmented.size());
  if (rest.empty()) return spec;
  rest.remove_prefix(1);  // the colon
  const bool is_address =
      transport::wire::Ipv4Address::parse(rest) || transport::wire::Ipv6Address::parse(rest);
  if (!is_address) return bad_spec("port '{}': '{}' is no IPv4 or IPv6 address; {}", text, rest, kForms);
  spec.target = rest;
  return spec;
}

}  // namespace

Result<PortSpec, Error> PortSpec::parse(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return bad_spec("the port has a zero byte in it; {}", kForms);
  }
  const bool is_udp = text == "udp" || text.starts_with("udp:") || text.starts_with("udp,");
  if (is_udp) return parse_udp(text, text.substr(3));
  if (text == "host" || text.starts_with("host,")) return parse_host(text, text.substr(4));
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const bool has_target = colon != std::string_view::npos;
  const std::string_view rest = has_target ? text.substr(colon + 1) : std::string_view();

  if (kind == "vhost") return parse_vhost(text, rest);
  if (kind == "af_packet") return parse_interface(Kind::kAfPacket, text, rest);
  if (kind == "af_xdp") return parse_interface(Kind::kAfXdp, text, rest);
  if (kind == "pci") return parse_pci(text, rest);
  if (kind == "bench") return parse_bench(text, rest);
  if (kind == "fabric") return parse_fabric(text, has_target ? rest : kDefaultFabric);
  if (kind == "loopback") {
    if (has_target) return bad_spec("port '{}': {} takes nothing after it", text, kind);
    return PortSpec{.kind = Kind::kLoopback, .side = VhostSide::kFront, .target = {}};
  }
  return bad_spec("port '{}': there is no kind of port called '{}'; {}", text, kind, kForms);
}

std::string PortSpec::to_string() const {
  switch (kind) {
    case Kind::kFabric:
      return fmt::format("fabric:{},{}{}", target, slot, is_switched ? ",switched" : "");
    case Kind::kVhost:
      return fmt::format("vhost:{},{}", target, side == VhostSide::kFront ? "front" : "back");
    case Kind::kAfPacket:
      return fmt::format("af_packet:{}", target);
    case Kind::kAfXdp:
      return fmt::format("af_xdp:{}", target);
    case Kind::kPci:
      return fmt::format("pci:{}", target);
    case Kind::kBench:
      return fmt::format("bench:{}", target);
    case Kind::kHost:
      return fmt::format("host{}{}", is_each ? kEach : "", is_unsegmented ? kUnsegmented : "");
    case Kind::kUdp:
      return fmt::format("udp{}{}{}", target.empty() ? "" : ":", target, is_unsegmented ? kUnsegmented : "");
    case Kind::kLoopback:
      break;
  }
  return "loopback";
}

}  // namespace urnic::nic
