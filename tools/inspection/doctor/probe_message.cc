// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/doctor/probe_message.h"

#include <algorithm>

#include "transport/wire/byte_order.h"

namespace urnic::tools {
namespace {

// "urnic-dr". The second byte of a BTH has the transport version in its low four bits: 2 here, and 0 in all
// there are.
constexpr std::uint64_t kMagic = 0x75726e69632d6472;
constexpr std::size_t kKindAt = 8, kPortAt = 10, kNumberAt = 12, kSizeAt = 20, kAddressAt = 24;

}  // namespace

using namespace transport::wire;

std::optional<ProbeMessage> ProbeMessage::parse(std::span<const std::byte> bytes) {
  if (bytes.size() < kBytes || load_u64(bytes, 0) != kMagic) return std::nullopt;
  const std::uint8_t kind = load_u8(bytes, kKindAt);
  if (kind < static_cast<std::uint8_t>(Kind::kProbe) || kind > static_cast<std::uint8_t>(Kind::kEcho)) {
    return std::nullopt;
  }
  return ProbeMessage{
      .kind = static_cast<Kind>(kind),
      .number = load_u64(bytes, kNumberAt),
      .packet_bytes = load_u32(bytes, kSizeAt),
      .sender = {.address = load_address<Gid>(bytes, kAddressAt), .port = load_u16(bytes, kPortAt)}};
}

void ProbeMessage::emit(std::span<std::byte> out) const {
  std::fill_n(out.begin(), kBytes, std::byte{0});
  store_u64(out, 0, kMagic);
  store_u8(out, kKindAt, static_cast<std::uint8_t>(kind));
  store_u16(out, kPortAt, sender.port);
  store_u64(out, kNumberAt, number);
  store_u32(out, kSizeAt, packet_bytes);
  store_address(out, kAddressAt, sender.address);
}

}  // namespace urnic::tools
