// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/raw/rss_hash.h"

#include <cassert>

#include "transport/wire/byte_order.h"

namespace urnic::nic {

using transport::wire::load_u32;
using transport::wire::load_u8;

namespace {

/// What is hashed, one field after the other.
class Input {
 public:
  explicit Input(HashFields fields) : fields_(fields) {}

  template <typename Address>
  void add_address(HashFields field, const Address& address) {
    if (!contains(fields_, field)) return;
    for (const auto octet : address.octets) append(octet);
  }
  void add_port(HashFields field, std::uint16_t port) {
    if (!contains(fields_, field)) return;
    append(static_cast<std::uint8_t>(port >> 8));
    append(static_cast<std::uint8_t>(port));
  }

  std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }

 private:
  void append(std::uint8_t octet) { bytes_[size_++] = static_cast<std::byte>(octet); }

  HashFields fields_;
  std::array<std::byte, 36> bytes_;
  std::size_t size_ = 0;
};

}  // namespace

std::uint32_t toeplitz_hash(const ToeplitzKey& key, std::span<const std::byte> input) {
  assert(input.size() + sizeof(std::uint32_t) <= key.size());
  std::uint32_t hash = 0;
  for (std::size_t i = 0; i < input.size(); ++i) {
    // Every bit that is set adds the 32 bits of the key that begin at its own place.
    const std::uint64_t window = std::uint64_t{load_u32(key, i)} << 8 | load_u8(key, i + 4);
    for (unsigned bit = 0; bit < 8; ++bit) {
      const bool is_set = (load_u8(input, i) >> (7 - bit) & 1u) != 0;
      if (is_set) hash ^= static_cast<std::uint32_t>(window >> (8 - bit));
    }
  }
  return hash;
}

std::uint32_t RssHash::of(const FlowHeaders& headers) const {
  Input input(fields_);
  if (headers.ipv4) {
    input.add_address(HashFields::kSourceIpv4, headers.ipv4->source);
    input.add_address(HashFields::kDestinationIpv4, headers.ipv4->destination);
  }
  if (headers.ipv6) {
    input.add_address(HashFields::kSourceIpv6, headers.ipv6->source);
    input.add_address(HashFields::kDestinationIpv6, headers.ipv6->destination);
  }
  if (headers.ports) {
    const bool is_tcp = headers.ports->protocol == PortProtocol::kTcp;
    input.add_port(is_tcp ? HashFields::kSourceTcpPort : HashFields::kSourceUdpPort, headers.ports->source);
    input.add_port(is_tcp ? HashFields::kDestinationTcpPort : HashFields::kDestinationUdpPort,
                   headers.ports->destination);
  }
  return toeplitz_hash(key_, input.bytes());
}

}  // namespace urnic::nic
