// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/address.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <charconv>
#include <cstring>
#include <system_error>

namespace urnic::transport::wire {
namespace {

/// inet_pton wants a terminated string; no address it reads is longer than this.
template <typename Address>
std::optional<Address> parse_ip(int family, std::string_view text) {
  char terminated[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof terminated || text.find('\0') != std::string_view::npos) return std::nullopt;
  std::memcpy(terminated, text.data(), text.size());
  terminated[text.size()] = '\0';
  Address address;
  if (inet_pton(family, terminated, address.octets.data()) != 1) return std::nullopt;
  return address;
}

template <typename Address>
std::string ip_to_string(int family, const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(family, address.octets.data(), text, sizeof text);
  return text;
}

}  // namespace

std::optional<Mac> Mac::parse(std::string_view text) {
  Mac mac;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < kBytes; ++i) {
    if (i > 0) {
      if (at == end || *at != ':') return std::nullopt;
      ++at;
    }
    const auto [stop, error] = std::from_chars(at, end, mac.octets[i], 16);
    if (error != std::errc{} || stop - at > 2) return std::nullopt;
    at = stop;
  }
  return at == end ? std::optional<Mac>(mac) : std::nullopt;
}

std::optional<Ipv4Address> Ipv4Address::parse(std::string_view text) {
  return parse_ip<Ipv4Address>(AF_INET, text);
}

std::optional<Ipv6Address> Ipv6Address::parse(std::string_view text) {
  return parse_ip<Ipv6Address>(AF_INET6, text);
}

std::string to_string(const Mac& mac) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t octet : mac.octets) {
    if (!text.empty()) text += ':';
    text += kDigits[octet >> 4];
    text += kDigits[octet & 0xfu];
  }
  return text;
}

std::string to_string(const Ipv4Address& address) {
  return ip_to_string(AF_INET, address);
}

std::string to_string(const Ipv6Address& address) {
  return ip_to_string(AF_INET6, address);
}

}  // namespace urnic::transport::wire
