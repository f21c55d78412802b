// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/fuzz/capture_script.h"

#include <algorithm>
#include <span>
#include <vector>

#include "tools/conformance/check/packets/icrc.h"
#include "tools/conformance/check/packets/opcode.h"
#include "tools/conformance/check/unwrapping/unwrapper.h"

namespace urnic::fuzz {
namespace {

constexpr std::size_t kHeaderBytes = 4;
constexpr std::int64_t kTimeUnitNs = 100'000;
constexpr std::uint16_t kTopBit = 0x8000;
constexpr std::size_t kCutBytes = 1500;

std::uint16_t load_little(const std::uint8_t* at) {
  return static_cast<std::uint16_t>(at[0] | at[1] << 8);
}

void set_right_icrc(std::vector<std::byte>& bytes) {
  check::Unwrapper unwrapper;
  const auto found = unwrapper.look(check::LinkType::kEthernet, bytes, 0);
  const auto& frame = found.frame;
  if (!frame || found.was_fragmented) return;
  if (const auto icrc = check::judge_icrc(*frame)) {
    const auto end = static_cast<std::size_t>(frame->ib.data() + frame->ib.size() - bytes.data());
    for (std::size_t i = 0; i < check::kIcrcBytes; ++i) {
      bytes[end - check::kIcrcBytes + i] = static_cast<std::byte>(icrc->expected >> (8 * i));
    }
  }
}

}  // namespace

void for_each_frame(const std::uint8_t* data, std::size_t size,
                    const std::function<void(const check::RawFrame&)>& take) {
  check::RawFrame raw;
  while (size >= kHeaderBytes) {
    const std::uint16_t length = load_little(data);
    const std::uint16_t time = load_little(data + 2);
    data += kHeaderBytes;
    size -= kHeaderBytes;
    const std::size_t taken = std::min<std::size_t>(length & ~kTopBit, size);
    const auto from = std::as_bytes(std::span(data, taken));
    std::vector<std::byte> bytes(from.begin(), from.end());
    if ((time & kTopBit) == 0) set_right_icrc(bytes);
    raw.bytes = bytes;
    raw.wire_bytes = taken + ((length & kTopBit) != 0 ? kCutBytes : 0);
    raw.time_ns += (time & ~kTopBit) * kTimeUnitNs;
    ++raw.number;
    take(raw);
    data += taken;
    size -= taken;
  }
}

}  // namespace urnic::fuzz
