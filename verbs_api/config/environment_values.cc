// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/config/environment_values.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <system_error>

#include "nic/personality/table.h"
#include "nic/port/vlan.h"
#include "verbs_api/fault/likeness.h"

namespace urnic::verbs_api {
namespace {

using transport::wire::Ipv4Address;
using transport::wire::Ipv6Address;
using transport::wire::Mac;

// A packet of the smallest path MTU with all its headers; and what jumbo frames come to.
constexpr std::uint16_t kMinLinkMtu = 336;
constexpr std::uint16_t kMaxLinkMtu = 9216;

Error invalid(std::string why) {
  return Error{.code = EINVAL, .message = std::move(why)};
}

template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const bool is_hexadecimal = text.substr(0, 2) == "0x";
  text.remove_prefix(is_hexadecimal ? 2 : 0);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, is_hexadecimal ? 16 : 10);
  return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

/// An address and what follows the slash.
struct Prefixed {
  std::string_view address;
  std::uint8_t length;
};

std::optional<Prefixed> split_prefix(std::string_view text, std::uint8_t default_length,
                                     std::uint8_t longest) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return Prefixed{.address = text, .length = default_length};
  const auto length = parse_number<std::uint8_t>(text.substr(slash + 1));
  if (!length || *length == 0 || *length > longest) return std::nullopt;
  return Prefixed{.address = text.substr(0, slash), .length = *length};
}

/// Whether the host part of the address is all zeros or all ones. Prefixes of 31 and 32 bits have no such
/// addresses.
bool names_the_network(const nic::Ipv4Interface& interface) {
  if (interface.prefix_length >= 31) return false;
  std::uint32_t number = 0;
  for (const std::uint8_t octet : interface.address.octets) number = number << 8 | octet;
  const std::uint32_t host_bits = std::numeric_limits<std::uint32_t>::max() >> interface.prefix_length;
  const std::uint32_t host = number & host_bits;
  return host == 0 || host == host_bits;
}

bool is_loopback(const Ipv6Address& address) {
  Ipv6Address loopback;
  loopback.octets[15] = 1;
  return address == loopback;
}

}  // namespace

Result<nic::Ipv4Interface, Error> parse_ipv4_interface(std::string_view text) {
  const auto parts = split_prefix(text, 24, 32);
  const auto address = parts ? Ipv4Address::parse(parts->address) : std::nullopt;
  if (!address) return invalid("not an IPv4 address with a prefix length, such as 10.0.0.1/24");
  const nic::Ipv4Interface interface { .address = *address, .prefix_length = parts->length };
  // 0.0.0.0/8, 127.0.0.0/8, and everything from the multicast addresses on.
  if (address->octets[0] == 0 || address->octets[0] == 127 || address->octets[0] >= 224) {
    return invalid("no NIC can have this address");
  }
  if (names_the_network(interface)) {
    return invalid("this is the address of the network or its broadcast address, not of a NIC in it");
  }
  return interface;
}

Result<nic::Ipv6Interface, Error> parse_ipv6_interface(std::string_view text) {
  const auto parts = split_prefix(text, 64, 128);
  const auto address = parts ? Ipv6Address::parse(parts->address) : std::nullopt;
  if (!address) return invalid("not an IPv6 address with a prefix length, such as fd00::1/64");
  if (address->is_unspecified() || address->is_multicast() || address->is_ipv4_mapped() ||
      is_loopback(*address)) {
    return invalid("no NIC can have this address");
  }
  if (address->is_link_local()) {
    return invalid("the link-local address is made from the MAC and is GID 0 already; choose another prefix");
  }
  return nic::Ipv6Interface{.address = *address, .prefix_length = parts->length};
}

Result<Mac, Error> parse_mac(std::string_view text) {
  const auto mac = Mac::parse(text);
  if (!mac) return invalid("not a hardware address, such as 02:00:00:00:00:01");
  if (mac->is_multicast() || *mac == Mac{}) {
    return invalid("no NIC can have this address: the first octet must be even, and not all may be zero");
  }
  return *mac;
}

Result<std::uint16_t, Error> parse_link_mtu(std::string_view text) {
  const auto mtu = parse_number<std::uint16_t>(text);
  if (!mtu || *mtu < kMinLinkMtu || *mtu > kMaxLinkMtu) {
    return invalid(fmt::format("not a number from {} to {}", kMinLinkMtu, kMaxLinkMtu));
  }
  return *mtu;
}

Result<std::uint16_t, Error> parse_vlan(std::string_view text) {
  const auto vlan = parse_number<std::uint16_t>(text);
  if (!vlan || *vlan == 0 || *vlan > nic::kMaxVlan) {
    return invalid(fmt::format("not the id of a VLAN, from 1 to {}", nic::kMaxVlan));
  }
  return *vlan;
}

Result<std::uint64_t, Error> parse_seed(std::string_view text) {
  const auto seed = parse_number<std::uint64_t>(text);
  if (!seed) return invalid("not a number of at most 64 bits");
  return *seed;
}

Result<unsigned, Error> parse_devices(std::string_view text) {
  const auto count = parse_number<unsigned>(text);
  if (!count || *count == 0 || *count > kMaxDevices) {
    return invalid(fmt::format("not a number from 1 to {}", kMaxDevices));
  }
  return *count;
}

Result<nic::Column, Error> parse_personality(std::string_view text) {
  if (const auto column = nic::column_named(text)) return *column;
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < nic::kColumnCount; ++i) names.push_back(name_of(static_cast<nic::Column>(i)));
  const std::string like = names_like(text, names);
  return invalid(fmt::format("not one of {}{}", fmt::join(names, ", "),
                             like.empty() ? "" : fmt::format("; is it {}?", like)));
}

Result<Likeness, Error> parse_like(std::string_view text) {
  const std::size_t comma = text.find(',');
  const std::string_view name = text.substr(0, comma);
  const auto column = parse_personality(name);
  if (!column) return column.error();
  if (comma == std::string_view::npos) return Likeness{.column = column.value()};
  const std::string_view word = text.substr(comma + 1);
  if (word != "identity") {
    return invalid(fmt::format("not a name, or a name and ',identity': '{}' means nothing there", word));
  }
  const nic::Identity* const identity = nic::identity_of(column.value());
  if (identity == nullptr) return invalid(fmt::format("not possible: {} has no identity of its own", name));
  return Likeness{.column = column.value(), .identity = identity};
}

Result<int, Error> parse_descriptor(std::string_view text) {
  const auto fd = parse_number<int>(text);
  if (!fd || *fd < 0) return invalid("not a file descriptor");
  return *fd;
}

Result<std::vector<unsigned>, Error> parse_processors(std::string_view text) {
  const Error wrong = {.code = EINVAL, .message = "not a list of processors, such as 0-3,8"};
  std::vector<unsigned> processors;
  while (true) {
    const std::string_view part = text.substr(0, text.find(','));
    const std::size_t dash = part.find('-');
    const auto first = parse_number<std::uint16_t>(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_number<std::uint16_t>(part.substr(dash + 1));
    if (!first || !last || *first > *last) return wrong;
    for (unsigned processor = *first; processor <= *last; ++processor) processors.push_back(processor);
    if (part.size() == text.size()) break;
    text.remove_prefix(part.size() + 1);
  }
  std::ranges::sort(processors);
  processors.erase(std::unique(processors.begin(), processors.end()), processors.end());
  return processors;
}

}  // namespace urnic::verbs_api
