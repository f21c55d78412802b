// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/core/wire_view.h"

#include <fmt/core.h>

#include <algorithm>

#include "tools/conformance/check/packets/icrc.h"
#include "tools/conformance/check/packets/packet.h"

namespace urnic::sim {
namespace {

constexpr std::size_t kBareIpv4Bytes = 20;  // without options

// The packet of selective repeat that no specification knows, read from its page.
constexpr std::size_t kAethBytes = 4;
constexpr std::size_t kHeldBytes = WireView::kHeldPackets / 8;

/// Nothing for what the NIC never sends.
std::optional<PacketKind> kind_of(const check::OpcodeInfo& info) {
  using enum check::Operation;
  switch (info.operation) {
    case kSend:
      return PacketKind::kSend;
    case kWrite:
      return PacketKind::kWrite;
    case kRead:
      return PacketKind::kReadRequest;
    case kCompareSwap:
    case kFetchAdd:
      return PacketKind::kAtomic;
    case kFlush:
      return PacketKind::kFlush;
    case kAtomicWrite:
      return PacketKind::kAtomicWrite;
    case kReadResponse:
      return PacketKind::kReadResponse;
    case kAtomicAcknowledge:
      return PacketKind::kAtomicAcknowledge;
    case kAcknowledge:
    case kSelectiveNak:
      return PacketKind::kAcknowledge;
    case kCnp:
    case kReserved:
      break;
  }
  return std::nullopt;
}

/// What is wrong with IP and UDP; empty when nothing is. Facts 4, 6, 10.
std::string check_encapsulation(const check::Frame& frame) {
  const check::ByteView ip = frame.ip_header;
  if (frame.fault != check::FrameFault::kNone || frame.is_cut() || frame.trailing_bytes != 0 ||
      frame.ip_length != ip.size() + frame.udp_length) {
    return fmt::format("UDP length {} in an IP packet of {} bytes, {} captured", frame.udp_length,
                       frame.ip_length, ip.size() + frame.udp_header.size() + frame.ib.size());
  }
  if (frame.udp_checksum != 0) return "UDP checksum is not 0";
  if (frame.is_ipv6) return check::load_u8(ip, 7) != 64 ? "hop limit is not 64" : "";
  if (ip.size() != kBareIpv4Bytes) return "IPv4 header length";
  if (check::load_u16(ip, 6) != 0x4000) return "IPv4 flags are not just DF";
  if (check::load_u8(ip, 8) != 64) return "TTL is not 64";
  return check::ipv4_checksum_is_right(ip) ? "" : "IPv4 header checksum";
}

/// What no packet of ours may say; empty when it does not.
std::string check_fields(const check::Packet& packet) {
  if (!packet.migration) return "MigReq is 0 (fact 15)";
  if (packet.version != 0) return "TVer is not 0 (fact 14)";
  if (packet.p_key != 0xffff) return "P_Key is not 0xffff (fact 14)";
  if (packet.fecn || packet.becn || packet.reserved != 0) return "FECN, BECN or reserved bits are set";
  if (packet.xrceth > 0xffffff) return "reserved bits of the XRCETH are set";
  if (packet.feth > 0x3f) return "reserved bits of the FETH are set (fact 32)";
  const bool is_padded =
      std::ranges::any_of(packet.padding, [](std::byte byte) { return byte != std::byte{0}; });
  return is_padded ? "padding is not zero (fact 3)" : "";
}

/// The same with the ICRC.
std::string check_packet(const check::Frame& frame, const check::Packet& packet) {
  std::string complaint = check_fields(packet);
  if (complaint.empty() && !check::judge_icrc(frame)->is_right()) complaint = "ICRC is wrong";
  return complaint;
}

/// `packet` has the fields of its BTH. Nothing when the frame is not as long as a selective NAK is.
std::optional<WireView> read_selective_nak(const check::Frame& frame, const check::Packet& packet) {
  constexpr std::size_t kHeaderBytes = check::kBthBytes + kAethBytes;
  if (frame.ib.size() != kHeaderBytes + kHeldBytes + check::kIcrcBytes) return std::nullopt;
  return WireView{.opcode = packet.opcode,
                  .destination_qp = packet.destination_qp,
                  .psn = packet.psn.value(),
                  .ack_request = packet.ack_requested,
                  .solicited = packet.solicited,
                  .service = WireService::kRc,
                  .kind = PacketKind::kAcknowledge,
                  .is_first = true,
                  .is_last = true,
                  .has_aeth = true,
                  .is_selective_nak = true,
                  .syndrome = check::load_u8(frame.ib, check::kBthBytes),
                  .msn = check::load_u24(frame.ib, check::kBthBytes + 1),
                  .payload = frame.ib.subspan(kHeaderBytes, kHeldBytes)};
}

/// What only a selective NAK can get wrong; empty when nothing is.
std::string check_selective_nak(const check::Packet& packet) {
  if (packet.pad_bytes != 0) return "a selective NAK with padding";
  return packet.solicited || packet.ack_requested ? "a selective NAK with SE or AckReq" : "";
}

/// "2-4 7": how far ahead of its PSN the packets are that a selective NAK names.
std::string held_packets(const WireView& nak) {
  std::string text;
  for (std::uint32_t ahead = 1; ahead <= WireView::kHeldPackets; ++ahead) {
    if (!nak.holds(ahead)) continue;
    const std::uint32_t first = ahead;
    while (ahead < WireView::kHeldPackets && nak.holds(ahead + 1)) ++ahead;
    text += first == ahead ? fmt::format(" {}", first) : fmt::format(" {}-{}", first, ahead);
  }
  return text.empty() ? " none" : text;
}

}  // namespace

bool is_roce(std::span<const std::byte> frame) {
  const auto parsed = check::parse_frame(check::LinkType::kEthernet, frame);
  return parsed && parsed->destination_port == check::kRocePort;
}

std::optional<WireView> read_frame(std::span<const std::byte> bytes, std::string* complaint) {
  const auto complain = [complaint](std::string what) {
    if (complaint != nullptr && complaint->empty()) *complaint = std::move(what);
  };
  const auto frame = check::parse_frame(check::LinkType::kEthernet, bytes);
  if (!frame) return std::nullopt;
  if (complaint != nullptr) complain(check_encapsulation(*frame));
  if (frame->fault != check::FrameFault::kNone || frame->is_cut()) return std::nullopt;

  const check::Packet packet = check::parse_packet(*frame);
  if (packet.opcode == check::kSelectiveNakOpcode) {
    const auto nak = read_selective_nak(*frame, packet);
    complain(nak ? check_selective_nak(packet) : fmt::format("a selective NAK of {} bytes", frame->ib_bytes));
    if (complaint != nullptr) complain(check_packet(*frame, packet));
    return nak;
  }
  const check::OpcodeInfo& info = *packet.info;
  const auto kind = kind_of(info);
  if (!kind) {
    complain(fmt::format("{} must not be sent here", check::name_of(packet.opcode)));
    return std::nullopt;
  }
  if (packet.fault != check::PacketFault::kNone ||
      (!info.has_payload && packet.payload_bytes + packet.pad_bytes != 0)) {
    complain(fmt::format("{} of {} bytes", check::name_of(packet.opcode), frame->ib_bytes));
    return std::nullopt;
  }
  if (complaint != nullptr) complain(check_packet(*frame, packet));
  return WireView{.opcode = packet.opcode,
                  .destination_qp = packet.destination_qp,
                  .psn = packet.psn.value(),
                  .ack_request = packet.ack_requested,
                  .solicited = packet.solicited,
                  .service = static_cast<WireService>(packet.opcode & 0xe0u),
                  .kind = *kind,
                  .is_first = info.starts_message(),
                  .is_last = info.ends_message(),
                  .has_reth = info.has_reth,
                  .has_aeth = info.has_aeth,
                  .has_atomic_eth = info.has_atomic,
                  .has_immediate = info.has_immediate,
                  .has_invalidate = info.has_ieth,
                  .address = packet.address,
                  .rkey = packet.r_key,
                  .length = packet.length,
                  .swap_or_add = packet.swap_or_add,
                  .compare = packet.compare,
                  .syndrome = packet.syndrome,
                  .msn = packet.msn,
                  .original = packet.original,
                  .xrc_srq = packet.xrceth,
                  .immediate = packet.immediate,
                  .invalidated_rkey = packet.invalidated_r_key,
                  .qkey = packet.q_key,
                  .source_qp = packet.source_qp,
                  .flush = packet.feth,
                  .payload = packet.payload};
}

std::string_view to_string(PacketKind kind) {
  using enum PacketKind;
  switch (kind) {
    case kSend:
      return "SEND";
    case kWrite:
      return "WRITE";
    case kReadRequest:
      return "READ";
    case kAtomic:
      return "ATOMIC";
    case kFlush:
      return "FLUSH";
    case kAtomicWrite:
      return "ATOMIC_WRITE";
    case kReadResponse:
      return "READ_RESPONSE";
    case kAtomicAcknowledge:
      return "ATOMIC_ACK";
    case kAcknowledge:
      return "ACK";
  }
  return "";
}

std::string to_string(const WireView& view) {
  std::string text = fmt::format("{} psn {:#08x} qp {:#x}",
                                 view.is_selective_nak ? "selective NAK" : check::name_of(view.opcode),
                                 view.psn, view.destination_qp);
  if (view.xrc_srq != 0) text += fmt::format(" srq {:#x}", view.xrc_srq);
  if (view.has_reth) text += fmt::format(" va {:#x} rkey {:#x} len {}", view.address, view.rkey, view.length);
  if (view.has_aeth) {
    const char* const kind = view.is_ack()            ? "ACK"
                             : view.is_rnr_nak()      ? "RNR"
                             : view.is_sequence_nak() ? "SEQ"
                                                      : "NAK";
    text += fmt::format(" {} syndrome {:#04x} msn {}", kind, view.syndrome, view.msn);
  }
  if (view.is_selective_nak) return text + " holds" + held_packets(view);
  if (view.has_atomic_eth) {
    text += fmt::format(" va {:#x} rkey {:#x} compare {:#x} operand {:#x}", view.address, view.rkey,
                        view.compare, view.swap_or_add);
  }
  if (view.kind == PacketKind::kAtomicAcknowledge) text += fmt::format(" was {:#x}", view.original);
  if (view.has_immediate) text += fmt::format(" imm {:#010x}", view.immediate);
  if (view.has_invalidate) text += fmt::format(" invalidates {:#x}", view.invalidated_rkey);
  text += fmt::format(" {} B{}{}", view.payload.size(), view.ack_request ? " AckReq" : "",
                      view.solicited ? " SE" : "");
  return text;
}

}  // namespace urnic::sim
