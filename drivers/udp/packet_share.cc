// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/udp/packet_share.h"

#include "drivers/udp/packet_numbers.h"
#include "transport/wire/byte_order.h"
#include "transport/wire/headers.h"
#include "transport/wire/ipv4.h"
#include "transport/wire/ipv6.h"
#include "transport/wire/udp.h"

namespace urnic::drivers {
namespace {

namespace wire = transport::wire;
using Bytes = std::span<const std::byte>;

using namespace packet_numbers;

constexpr std::uint32_t kMulticastQp = 0xffffff;
constexpr std::uint8_t kSwitch = 0;

/// The highest byte of an id of 32 bits is the share.
std::uint8_t share_of_message(Bytes roce) {
  if (roce.size() <= kSecondId || wire::load_u8(roce, kManagementClass) != kCommunicationManagement) {
    return kSwitch;
  }
  switch (wire::load_u16(roce, kAttribute)) {
    case kReq:
    case kSidrReq:
      return kSwitch;
    case kSidrRep:
      return wire::load_u8(roce, kFirstId);
    default:
      return wire::load_u8(roce, kSecondId);
  }
}

}  // namespace

std::optional<std::uint8_t> share_of_packet(Bytes packet) {
  if (packet.empty()) return kSwitch;
  const bool is_ipv4 = std::to_integer<unsigned>(packet[0]) >> 4 == 4;
  const std::size_t headers = (is_ipv4 ? wire::Ipv4::kMinBytes : wire::Ipv6::kBytes) + wire::Udp::kBytes;
  if (packet.size() < headers + wire::Bth::kBytes) return kSwitch;
  const Bytes roce = packet.subspan(headers);
  const std::uint32_t qp = wire::load_u24(roce, kDestinationQp);
  if (qp == kMulticastQp) return std::nullopt;
  if (qp != kQpOfManagement) return static_cast<std::uint8_t>(qp >> 16);
  return share_of_message(roce);
}

}  // namespace urnic::drivers
