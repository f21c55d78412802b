#include "tools/sim/wire_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/crc.hpp>
#include <vector>

namespace urnic::sim {
namespace {

constexpr std::size_t kEthernet = 14;
constexpr std::size_t kUdp = 8;
constexpr std::size_t kBth = 12;
constexpr std::size_t kIcrc = 4;

std::uint64_t number(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
  }
  return value;
}
unsigned byte_at(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<unsigned>(bytes[at]);
}

bool is_ipv6(std::span<const std::byte> frame) {
  return number(frame, 12, 2) == 0x86dd;
}
std::size_t ip_header_bytes(std::span<const std::byte> frame) {
  return is_ipv6(frame) ? 40 : 20;
}

/// The headers behind the BTH, in the order in which they stand there.
enum Header : unsigned {
  kFeth = 1,
  kReth = 2,
  kAtomicEth = 4,
  kAeth = 8,
  kAtomicAckEth = 16,
  kImm = 32,
  kIeth = 64,
  kDeth = 128
};

struct Row {
  std::string_view name;
  PacketKind kind = PacketKind::kSend;
  bool first = false, last = false;
  unsigned headers = 0;
  bool payload = true;

  bool has(Header header) const { return (headers & header) != 0; }
  std::size_t header_bytes() const {
    return (has(kDeth) ? 8 : 0) + (has(kFeth) ? 4 : 0) + (has(kReth) ? 16 : 0) + (has(kAtomicEth) ? 28 : 0) +
           (has(kAeth) ? 4 : 0) + (has(kAtomicAckEth) ? 8 : 0) + (has(kImm) ? 4 : 0) + (has(kIeth) ? 4 : 0);
  }
};

// The RC opcodes that this version of the NIC may send. Rows without a name are none.
constexpr std::array<Row, 0x1e> kRows = {{
    {"SEND_FIRST", PacketKind::kSend, true, false},
    {"SEND_MIDDLE", PacketKind::kSend, false, false},
    {"SEND_LAST", PacketKind::kSend, false, true},
    {"SEND_LAST_IMM", PacketKind::kSend, false, true, kImm},
    {"SEND_ONLY", PacketKind::kSend, true, true},
    {"SEND_ONLY_IMM", PacketKind::kSend, true, true, kImm},
    {"WRITE_FIRST", PacketKind::kWrite, true, false, kReth},
    {"WRITE_MIDDLE", PacketKind::kWrite, false, false},
    {"WRITE_LAST", PacketKind::kWrite, false, true},
    {"WRITE_LAST_IMM", PacketKind::kWrite, false, true, kImm},
    {"WRITE_ONLY", PacketKind::kWrite, true, true, kReth},
    {"WRITE_ONLY_IMM", PacketKind::kWrite, true, true, kReth | kImm},
    {"READ_REQUEST", PacketKind::kReadRequest, true, true, kReth, false},
    {"READ_RESPONSE_FIRST", PacketKind::kReadResponse, true, false, kAeth},
    {"READ_RESPONSE_MIDDLE", PacketKind::kReadResponse, false, false},
    {"READ_RESPONSE_LAST", PacketKind::kReadResponse, false, true, kAeth},
    {"READ_RESPONSE_ONLY", PacketKind::kReadResponse, true, true, kAeth},
    {"ACKNOWLEDGE", PacketKind::kAcknowledge, true, true, kAeth, false},
    {"ATOMIC_ACKNOWLEDGE", PacketKind::kAtomicAcknowledge, true, true, kAeth | kAtomicAckEth, false},
    {"COMPARE_SWAP", PacketKind::kAtomic, true, true, kAtomicEth, false},
    {"FETCH_ADD", PacketKind::kAtomic, true, true, kAtomicEth, false},
    {},
    {"SEND_LAST_INV", PacketKind::kSend, false, true, kIeth},
    {"SEND_ONLY_INV", PacketKind::kSend, true, true, kIeth},
    {},
    {},
    {},
    {},
    {"FLUSH", PacketKind::kFlush, true, true, kFeth | kReth, false},
    {"ATOMIC_WRITE", PacketKind::kAtomicWrite, true, true, kReth},
}};

constexpr Row kDatagrams[] = {{"UD_SEND", PacketKind::kSend, true, true, kDeth},
                              {"UD_SEND_IMM", PacketKind::kSend, true, true, kDeth | kImm}};

/// Null for an opcode that has no business here. UC has the first twelve of RC's, XRC all.
const Row* find_row(std::uint8_t opcode) {
  const std::size_t low = opcode & 0x1fu;
  switch (static_cast<WireService>(opcode & 0xe0u)) {
    case WireService::kRc:
    case WireService::kXrc:
      return low < kRows.size() && !kRows[low].name.empty() ? &kRows[low] : nullptr;
    case WireService::kUc:
      return low < 12 ? &kRows[low] : nullptr;
    case WireService::kUd:
      return low == 4 || low == 5 ? &kDatagrams[low - 4] : nullptr;
  }
  return nullptr;
}

/// Directly behind the BTH of every XRC request, and of no response (the decision below the facts).
std::size_t xrceth_bytes(const WireView& view) {
  return view.service == WireService::kXrc && view.is_request() ? 4 : 0;
}

/// Reads the headers of `row` behind the BTH and the XRCETH.
void read_headers(const Row& row, std::span<const std::byte> packet, WireView& view) {
  std::size_t at = kBth + xrceth_bytes(view);
  const auto take = [&](std::size_t size) {
    at += size;
    return number(packet, at - size, size);
  };
  if (row.has(kDeth)) {
    view.qkey = static_cast<std::uint32_t>(take(4));
    view.source_qp = static_cast<std::uint32_t>(take(4)) & 0xffffffu;
  }
  if (row.has(kFeth)) view.flush = static_cast<std::uint32_t>(take(4));
  if (row.has(kReth) || row.has(kAtomicEth)) {
    view.address = take(8);
    view.rkey = static_cast<std::uint32_t>(take(4));
  }
  if (row.has(kReth)) view.length = static_cast<std::uint32_t>(take(4));
  if (row.has(kAtomicEth)) {
    view.swap_or_add = take(8);
    view.compare = take(8);
  }
  if (row.has(kAeth)) {
    view.syndrome = static_cast<std::uint8_t>(take(1));
    view.msn = static_cast<std::uint32_t>(take(3));
  }
  if (row.has(kAtomicAckEth)) view.original = take(8);
  if (row.has(kImm)) view.immediate = static_cast<std::uint32_t>(take(4));
  if (row.has(kIeth)) view.invalidated_rkey = static_cast<std::uint32_t>(take(4));
}

bool ipv4_checksum_is_right(std::span<const std::byte> frame) {
  std::uint32_t sum = 0;
  for (std::size_t at = kEthernet; at < kEthernet + 20; at += 2) {
    sum += static_cast<std::uint32_t>(number(frame, at, 2));
  }
  while (sum > 0xffff) {
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return sum == 0xffff;
}

/// What is wrong with Ethernet, IP and UDP; empty when nothing is. Facts 4, 6, 10.
std::string check_encapsulation(std::span<const std::byte> frame) {
  const std::size_t ip = ip_header_bytes(frame);
  const std::size_t udp_length = number(frame, kEthernet + ip + 4, 2);
  if (kEthernet + ip + udp_length != frame.size()) {
    return fmt::format("UDP length {} in a frame of {} bytes", udp_length, frame.size());
  }
  if (number(frame, kEthernet + ip + 6, 2) != 0) {
    return "UDP checksum is not 0";
  }
  if (is_ipv6(frame)) {
    if (byte_at(frame, kEthernet) >> 4 != 6) return "IP version is not 6";
    if (number(frame, kEthernet + 4, 2) != udp_length) return "IPv6 payload length is not the UDP length";
    if (byte_at(frame, kEthernet + 7) != 64) return "hop limit is not 64";
    return {};
  }
  if (byte_at(frame, kEthernet) != 0x45) return "IPv4 version or header length";
  if (number(frame, kEthernet + 2, 2) != ip + udp_length) return "IPv4 total length";
  if (number(frame, kEthernet + 6, 2) != 0x4000) return "IPv4 flags are not just DF";
  if (byte_at(frame, kEthernet + 8) != 64) return "TTL is not 64";
  if (!ipv4_checksum_is_right(frame)) return "IPv4 header checksum";
  return {};
}

}  // namespace

bool is_roce(std::span<const std::byte> frame) {
  if (frame.size() < kEthernet + 20 + kUdp + kBth + kIcrc) {
    return false;
  }
  const auto ether_type = number(frame, 12, 2);
  if (ether_type != 0x0800 && ether_type != 0x86dd) {
    return false;
  }
  const std::size_t ip = ip_header_bytes(frame);
  if (frame.size() < kEthernet + ip + kUdp + kBth + kIcrc) {
    return false;
  }
  return byte_at(frame, kEthernet + (ip == 20 ? 9 : 6)) == 17 && number(frame, kEthernet + ip + 2, 2) == 4791;
}

std::optional<WireView> read_frame(std::span<const std::byte> frame, bool check_icrc,
                                   std::string* complaint) {
  const auto complain = [&](std::string what) {
    if (complaint != nullptr && complaint->empty()) *complaint = std::move(what);
  };
  if (complaint != nullptr) {
    if (std::string wrong = check_encapsulation(frame); !wrong.empty()) {
      complain(std::move(wrong));
      return std::nullopt;
    }
    if (check_icrc) {
      const std::size_t at = frame.size() - kIcrc;
      const std::uint32_t carried = byte_at(frame, at) | byte_at(frame, at + 1) << 8 |
                                    byte_at(frame, at + 2) << 16 | byte_at(frame, at + 3) << 24;
      if (carried != icrc_of(frame)) complain("ICRC is wrong");
    }
  }

  const std::size_t udp_at = kEthernet + ip_header_bytes(frame);
  const std::size_t udp_length = number(frame, udp_at + 4, 2);
  if (udp_length < kUdp + kBth + kIcrc || udp_at + udp_length > frame.size()) {
    return std::nullopt;
  }
  std::span<const std::byte> packet = frame.subspan(udp_at + kUdp, udp_length - kUdp - kIcrc);

  WireView view;
  view.opcode = static_cast<std::uint8_t>(packet[0]);
  view.solicited = (byte_at(packet, 1) & 0x80) != 0;
  const std::size_t pad = byte_at(packet, 1) >> 4 & 3;
  view.destination_qp = static_cast<std::uint32_t>(number(packet, 5, 3));
  view.ack_request = (byte_at(packet, 8) & 0x80) != 0;
  view.psn = static_cast<std::uint32_t>(number(packet, 9, 3));
  if ((byte_at(packet, 1) & 0x40) == 0) complain("MigReq is 0 (fact 15)");
  if ((byte_at(packet, 1) & 0x0f) != 0) complain("TVer is not 0 (fact 14)");
  if (number(packet, 2, 2) != 0xffff) complain("P_Key is not 0xffff (fact 14)");
  if (byte_at(packet, 4) != 0) complain("FECN, BECN or reserved bits are set");
  if ((byte_at(packet, 8) & 0x7f) != 0) complain("reserved bits beside AckReq are set");

  const Row* const found = find_row(view.opcode);
  if (found == nullptr) {
    complain(fmt::format("opcode 0x{:02x} has no business here", view.opcode));
    return std::nullopt;
  }
  const Row& row = *found;
  view.service = static_cast<WireService>(view.opcode & 0xe0u);
  view.kind = row.kind;
  view.is_first = row.first;
  view.is_last = row.last;
  view.has_reth = row.has(kReth);
  view.has_aeth = row.has(kAeth);
  view.has_atomic_eth = row.has(kAtomicEth);
  view.has_immediate = row.has(kImm);
  view.has_invalidate = row.has(kIeth);

  const std::size_t headers = kBth + xrceth_bytes(view) + row.header_bytes();
  if (packet.size() < headers + pad || (!row.payload && packet.size() != headers)) {
    complain(fmt::format("{} of {} bytes", row.name, packet.size()));
    return std::nullopt;
  }
  if (xrceth_bytes(view) > 0) view.xrc_srq = static_cast<std::uint32_t>(number(packet, kBth, 4));
  if (view.xrc_srq > 0xffffffu) complain("reserved bits of the XRCETH are set");
  read_headers(row, packet, view);
  if ((view.flush & ~0x3fu) != 0) complain("reserved bits of the FETH are set (fact 32)");
  view.payload = packet.subspan(headers, packet.size() - headers - pad);
  const auto padding = packet.last(pad);
  if (view.payload.size() % 4 != (4 - pad) % 4) complain("pad count does not fill up to four bytes (fact 3)");
  if (std::any_of(padding.begin(), padding.end(), [](std::byte byte) { return byte != std::byte{0}; })) {
    complain("padding is not zero (fact 3)");
  }
  return view;
}

std::uint32_t icrc_of(std::span<const std::byte> frame) {
  constexpr std::size_t ip = 8;  // behind as many bytes of ones
  const auto sent = frame.subspan(kEthernet, frame.size() - kEthernet - kIcrc);
  std::vector<std::byte> covered(ip + sent.size(), std::byte{0xff});
  std::copy(sent.begin(), sent.end(), covered.begin() + ip);
  const auto mask = [&](std::size_t at, std::size_t count) {
    std::fill_n(covered.begin() + static_cast<std::ptrdiff_t>(at), count, std::byte{0xff});
  };
  const std::size_t ip_size = ip_header_bytes(frame);
  if (ip_size == 20) {
    mask(ip + 1, 1);   // TOS
    mask(ip + 8, 1);   // TTL
    mask(ip + 10, 2);  // header checksum
  } else {
    covered[ip] |= std::byte{0x0f};  // traffic class and flow label
    mask(ip + 1, 3);
    mask(ip + 7, 1);  // hop limit
  }
  mask(ip + ip_size + 6, 2);         // UDP checksum
  mask(ip + ip_size + kUdp + 4, 1);  // BTH byte 4
  boost::crc_32_type crc;
  crc.process_bytes(covered.data(), covered.size());
  return crc.checksum();
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

std::string_view opcode_name(std::uint8_t opcode) {
  const Row* const row = find_row(opcode);
  return row != nullptr ? row->name : std::string_view("UNKNOWN");
}

static std::string_view service_prefix(WireService service) {
  if (service == WireService::kUc) return "UC_";
  return service == WireService::kXrc ? "XRC_" : "";
}

std::string to_string(const WireView& view) {
  std::string text = fmt::format("{}{} psn {:#08x} qp {:#x}", service_prefix(view.service),
                                 opcode_name(view.opcode), view.psn, view.destination_qp);
  if (view.xrc_srq != 0) text += fmt::format(" srq {:#x}", view.xrc_srq);
  if (view.has_reth) text += fmt::format(" va {:#x} rkey {:#x} len {}", view.address, view.rkey, view.length);
  if (view.has_aeth) {
    const char* const kind = view.is_ack()            ? "ACK"
                             : view.is_rnr_nak()      ? "RNR"
                             : view.is_sequence_nak() ? "SEQ"
                                                      : "NAK";
    text += fmt::format(" {} syndrome {:#04x} msn {}", kind, view.syndrome, view.msn);
  }
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
