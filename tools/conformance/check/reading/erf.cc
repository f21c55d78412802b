// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/reading/erf.h"

#include <algorithm>
#include <iterator>

// As tshark reads them: 8 bytes of time, type, flags, length of the record, 2 bytes by type, length on the
// wire; then extension headers of 8 bytes, if the type's top bit says so, each with a top bit that announces
// another one.
namespace urnic::check {
namespace {

constexpr std::size_t kRecordBytes = 16;
constexpr std::size_t kRecordTypeAt = 8;
constexpr std::size_t kWireBytesAt = 14;
constexpr std::size_t kRecordExtensionBytes = 8;
constexpr unsigned kMoreFollow = 0x80;
/// Before an Ethernet frame stand its offset and a byte of padding.
constexpr std::size_t kEthernetPrefix = 2;

constexpr unsigned kEthernetTypes[] = {2, 11, 16, 20};  // plain, with color, with DSM color, with hash
constexpr unsigned kInfiniBandTypes[] = {21, 25};       // a packet, and one with symbols of its link

template <std::size_t kCount>
bool is_one_of(unsigned type, const unsigned (&types)[kCount]) {
  return std::find(std::begin(types), std::end(types), type) != std::end(types);
}

}  // namespace

void open_erf(RawFrame& frame) {
  const ByteView record = frame.bytes;
  if (record.size() < kRecordBytes) return;
  unsigned type = load_u8(record, kRecordTypeAt);
  std::size_t at = kRecordBytes;
  for (unsigned more = type & kMoreFollow; more != 0; at += kRecordExtensionBytes) {
    if (record.size() < at + kRecordExtensionBytes) return;
    more = load_u8(record, at) & kMoreFollow;
  }
  type &= ~kMoreFollow;
  if (is_one_of(type, kInfiniBandTypes)) {
    frame.link_type = LinkType::kInfiniBand;
  } else if (is_one_of(type, kEthernetTypes) && record.size() >= at + kEthernetPrefix) {
    at += kEthernetPrefix;
    frame.link_type = LinkType::kEthernet;
  } else {
    return;
  }
  const std::size_t wire_bytes = load_u16(record, kWireBytesAt);
  frame.bytes = record.subspan(at, std::min(record.size() - at, wire_bytes));
  frame.wire_bytes = wire_bytes;
}

}  // namespace urnic::check
