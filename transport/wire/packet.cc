// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/packet.h"

#include <algorithm>
#include <cassert>

namespace urnic::transport::wire {
namespace {

/// Takes headers off the front of a packet whose length was checked.
class HeaderReader {
 public:
  explicit HeaderReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename Header>
  Header take() {
    const Header header = Header::parse(rest_);
    rest_ = rest_.subspan(Header::kBytes);
    return header;
  }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> rest_;
};

/// Writes headers one after the other.
class HeaderWriter {
 public:
  explicit HeaderWriter(std::span<std::byte> out) : out_(out) {}

  template <typename Header>
  void put(const Header& header) {
    size_ += emit(header, out_.subspan(size_));
  }
  void put_zeros(std::size_t count) {
    std::fill_n(out_.begin() + static_cast<std::ptrdiff_t>(size_), count, std::byte{0});
    size_ += count;
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(size_); }

 private:
  std::span<std::byte> out_;
  std::size_t size_ = 0;
};

constexpr std::size_t kCnpReservedBytes = 16;

}  // namespace

std::optional<ParseError> Packet::read(std::span<const std::byte> bytes) {
  if (bytes.size() < Bth::kBytes) return ParseError::kTooShort;
  HeaderReader reader(bytes);
  bth = reader.take<Bth>();
  if (bth.version != 0) return ParseError::kBadVersion;
  const OpcodeInfo& row = wire::info(bth.opcode);
  if (!row.exists()) return ParseError::kUnknownOpcode;
  const std::size_t headers = Bth::kBytes + row.header_bytes;
  if (bytes.size() < headers + bth.pad_count) return ParseError::kTooShort;
  if (!row.has_payload && bytes.size() != headers) return ParseError::kUnexpectedPayload;

  info = &row;
  if (has(row.headers, Headers::kXrceth)) xrc_srq = reader.take<Xrceth>().srq;
  if (has(row.headers, Headers::kDeth)) deth = reader.take<Deth>();
  if (has(row.headers, Headers::kFeth)) feth = reader.take<Feth>();
  if (has(row.headers, Headers::kReth)) reth = reader.take<Reth>();
  if (has(row.headers, Headers::kAtomicEth)) atomic = reader.take<AtomicEth>();
  if (has(row.headers, Headers::kAeth)) aeth = reader.take<Aeth>();
  if (has(row.headers, Headers::kAtomicAckEth)) atomic_original = reader.take<AtomicAckEth>().original;
  if (has(row.headers, Headers::kImmediate)) immediate = reader.take<Immediate>().value;
  if (has(row.headers, Headers::kIeth)) invalidate_rkey = reader.take<Ieth>().rkey;
  if (row.has_payload) payload = reader.rest().first(reader.rest().size() - bth.pad_count);
  return std::nullopt;
}

Result<Packet, ParseError> parse_packet(std::span<const std::byte> bytes) {
  return parse_in_place<Packet>(bytes);
}

std::uint32_t header_bytes(Opcode opcode) {
  return Bth::kBytes + info(opcode).header_bytes;
}

std::uint32_t emit_headers(const Packet& packet, std::span<std::byte> out) {
  const Headers headers = info(packet.bth.opcode).headers;
  assert(out.size() >= header_bytes(packet.bth.opcode));

  HeaderWriter writer(out);
  writer.put(packet.bth);
  if (has(headers, Headers::kXrceth)) writer.put(Xrceth{.srq = packet.xrc_srq});
  if (has(headers, Headers::kDeth)) writer.put(packet.deth);
  if (has(headers, Headers::kFeth)) writer.put(packet.feth);
  if (has(headers, Headers::kReth)) writer.put(packet.reth);
  if (has(headers, Headers::kAtomicEth)) writer.put(packet.atomic);
  if (has(headers, Headers::kAeth)) writer.put(packet.aeth);
  if (has(headers, Headers::kAtomicAckEth)) writer.put(AtomicAckEth{.original = packet.atomic_original});
  if (has(headers, Headers::kImmediate)) writer.put(Immediate{.value = packet.immediate});
  if (has(headers, Headers::kIeth)) writer.put(Ieth{.rkey = packet.invalidate_rkey});
  if (has(headers, Headers::kCnpReserved)) writer.put_zeros(kCnpReservedBytes);
  return writer.size();
}

}  // namespace urnic::transport::wire
