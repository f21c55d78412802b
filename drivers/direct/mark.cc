#include "drivers/direct/mark.h"

#include <algorithm>
#include <cassert>

#include "transport/wire/byte_order.h"
#include "transport/wire/ethernet.h"

namespace urnic::drivers {
namespace {

using transport::wire::Ethernet;
using transport::wire::Mac;

constexpr std::size_t kTypeAt = 12;
constexpr std::uint16_t kLocalExperimental = 0x88b5;
/// Tells marks from other experiments: "urnc".
constexpr std::size_t kMagicAt = Ethernet::kMinBytes;
constexpr std::uint32_t kMagic = 0x75726e63;
constexpr std::size_t kNonceAt = kMagicAt + 4;

}  // namespace

void Mark::emit(std::span<std::byte> frame) const {
  assert(frame.size() >= kBytes);
  std::fill_n(frame.begin(), kBytes, std::byte{0});
  transport::wire::emit(Ethernet{.destination = to,
                                 .source = from,
                                 .ether_type = static_cast<transport::wire::EtherType>(kLocalExperimental)},
                        frame);
  transport::wire::store_u32(frame, kMagicAt, kMagic);
  transport::wire::store_big<std::uint64_t>(frame, kNonceAt, nonce);
}

std::optional<Mark> Mark::parse(std::span<const std::byte> frame) {
  if (frame.size() < kNonceAt + sizeof(std::uint64_t)) return std::nullopt;
  if (transport::wire::load_u16(frame, kTypeAt) != kLocalExperimental) return std::nullopt;
  if (transport::wire::load_u32(frame, kMagicAt) != kMagic) return std::nullopt;
  return Mark{.to = transport::wire::load_address<Mac>(frame, 0),
              .from = transport::wire::load_address<Mac>(frame, Mac::kBytes),
              .nonce = transport::wire::load_u64(frame, kNonceAt)};
}

}  // namespace urnic::drivers
