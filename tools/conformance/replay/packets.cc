// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/replay/packets.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/conformance/check/packets/number_text.h"
#include "tools/conformance/check/packets/opcode.h"

namespace urnic::replay {

namespace {

constexpr std::size_t kFlagsAt = 1;
constexpr std::size_t kReservedAt = 4;
constexpr std::size_t kAckRequestAt = 8;
constexpr std::byte kMigReq{0x40};
constexpr std::byte kAckRequest{0x80};
constexpr std::size_t kShownBytes = 16;

enum class Base : std::uint8_t { kHexadecimal, kDecimal };

struct Field {
  std::size_t bytes;
  const char* name;
  Base base = Base::kHexadecimal;
};

/// The fields of a packet in their order, up to its payload.
std::vector<Field> fields_of(const check::OpcodeInfo& info) {
  std::vector<Field> fields = {{1, "opcode"},
                               {1, "SE, MigReq, PadCnt or TVer"},
                               {2, "P_Key"},
                               {1, "FECN or BECN"},
                               {3, "destination QP"},
                               {1, "AckReq"},
                               {3, "PSN", Base::kDecimal}};
  const auto add = [&fields](bool present, std::initializer_list<Field> more) {
    if (present) fields.insert(fields.end(), more);
  };
  add(info.has_xrceth, {{4, "XRC SRQ"}});
  add(info.has_deth, {{4, "Q_Key"}, {4, "source QP"}});
  add(info.has_feth, {{4, "FETH"}});
  add(info.has_reth, {{8, "remote address"}, {4, "R_Key"}, {4, "DMA length", Base::kDecimal}});
  add(info.has_atomic, {{8, "remote address"}, {4, "R_Key"}, {8, "swap or add"}, {8, "compare"}});
  add(info.has_aeth, {{1, "syndrome"}, {3, "MSN", Base::kDecimal}});
  add(info.has_atomic_ack, {{8, "original value"}});
  add(info.has_immediate, {{4, "immediate"}});
  add(info.has_ieth, {{4, "invalidated R_Key"}});
  return fields;
}

std::string hex(std::span<const std::byte> bytes, std::size_t from, std::size_t count) {
  std::string text;
  for (std::size_t at = from; at < std::min(from + count, bytes.size()); ++at) {
    text += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[at]));
  }
  return text.empty() ? "nothing" : text;
}

/// A field of a header, as Wireshark shows it.
std::string value_text(std::span<const std::byte> bytes, std::size_t from, const Field& field) {
  if (bytes.size() < from + field.bytes) return hex(bytes, from, field.bytes);
  if (field.base == Base::kHexadecimal) return "0x" + hex(bytes, from, field.bytes);
  std::uint64_t value = 0;
  for (const std::byte byte : bytes.subspan(from, field.bytes)) {
    value = value << 8 | std::to_integer<std::uint64_t>(byte);
  }
  return std::to_string(value);
}

Difference describe_difference(std::span<const std::byte> captured, std::span<const std::byte> ours,
                               const check::OpcodeInfo& info) {
  const auto differing = std::mismatch(captured.begin(), captured.end(), ours.begin(), ours.end());
  const auto at = static_cast<std::size_t>(differing.first - captured.begin());
  std::size_t from = 0;
  for (const Field& field : fields_of(info)) {
    if (at < from + field.bytes) {
      return {field.name, value_text(captured, from, field), value_text(ours, from, field)};
    }
    from += field.bytes;
  }
  if (captured.size() != ours.size()) {
    return {"payload length", fmt::format("{} B", captured.size() - from),
            fmt::format("{} B", ours.size() - from)};
  }
  return {fmt::format("payload byte {}", at - from), hex(captured, at, kShownBytes),
          hex(ours, at, kShownBytes)};
}

}  // namespace

OwnPacket::OwnPacket(std::span<const std::byte> ib) : bytes_(ib.begin(), ib.end()) {
  bytes_.resize(bytes_.size() + check::kIcrcBytes);
  check::Frame frame;
  frame.ib = bytes_;
  frame.ib_bytes = bytes_.size();
  packet_ = check::parse_packet(frame);
}

std::string describe(const check::Packet& packet) {
  if (packet.info == nullptr || packet.fault != check::PacketFault::kNone) return "a malformed packet";
  const check::OpcodeInfo& info = *packet.info;
  std::string text = info.operation == check::Operation::kAcknowledge
                         ? check::describe_syndrome(packet.syndrome)
                         : check::name_of(packet.opcode);
  text += " " + check::to_string(packet.psn);
  if (info.has_payload) text += fmt::format(" {} B", packet.payload_bytes);
  if (info.operation == check::Operation::kRead) text += fmt::format(" {} B", packet.length);
  if (info.has_aeth) text += fmt::format(" msn {}", packet.msn);
  return text + (packet.ack_requested ? " A" : "");
}

std::string to_string(const Difference& difference) {
  return fmt::format("{}: captured {}, ours {}", difference.field, difference.captured, difference.ours);
}

std::optional<Difference> find_difference(const CapturedPacket& captured, const OwnPacket& ours,
                                          std::uint32_t msn_offset, Outcome* outcome) {
  const std::span<const std::byte> theirs = captured.ib();
  std::vector<std::byte> bytes(ours.ib().begin(), ours.ib().end());
  const check::Packet& packet = captured.packet;
  const check::OpcodeInfo& info = *packet.info;
  std::vector<AllowedDeviation> used;
  const auto allow = [&](std::size_t at, std::byte mask, AllowedDeviation deviation) {
    if (((bytes[at] ^ theirs[at]) & mask) == std::byte{0}) return;
    bytes[at] = (bytes[at] & ~mask) | (theirs[at] & mask);
    used.push_back(deviation);
  };
  allow(kFlagsAt, kMigReq, AllowedDeviation::kMigReq);
  allow(kReservedAt, std::byte{0xff}, AllowedDeviation::kReservedBits);
  allow(kAckRequestAt, ~kAckRequest, AllowedDeviation::kReservedBits);
  if (!info.is_response()) allow(kAckRequestAt, kAckRequest, AllowedDeviation::kAckRequest);
  if (info.has_aeth && ours.packet().opcode == packet.opcode) {
    constexpr std::size_t kAethAt = check::kBthBytes;
    const std::uint32_t msn = (ours.packet().msn + msn_offset) & 0xffffff;
    for (std::size_t i = 0; i < 3; ++i) bytes[kAethAt + 1 + i] = static_cast<std::byte>(msn >> (16 - 8 * i));
    const bool are_acks = check::kind_of(packet.syndrome) == check::AnswerKind::kAck &&
                          check::kind_of(ours.packet().syndrome) == check::AnswerKind::kAck;
    if (are_acks) allow(kAethAt, std::byte{0x1f}, AllowedDeviation::kCredits);
  }
  if (!std::equal(theirs.begin(), theirs.end(), bytes.begin(), bytes.end())) {
    return describe_difference(theirs, bytes, info);
  }
  if (outcome != nullptr) {
    for (const AllowedDeviation deviation : used) outcome->use(deviation);
  }
  return std::nullopt;
}

}  // namespace urnic::replay
