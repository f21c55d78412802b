// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/qp_packets.h"

#include <algorithm>
#include <iomanip>
#include <numeric>
#include <utility>

namespace urnic::transport {

void PrintTo(Psn psn, std::ostream* out) {
  *out << "PSN " << psn.value();
}

}  // namespace urnic::transport

namespace urnic::transport::test {
namespace {

QpPacket packet(std::uint8_t opcode, Psn psn, Bytes payload = {}) {
  QpPacket result;
  result.opcode = static_cast<wire::Opcode>(opcode);
  result.psn = psn;
  result.payload = std::move(payload);
  return result;
}

QpPacket with_reth(QpPacket packet, Remote remote, std::uint32_t length) {
  packet.address = remote.address;
  packet.rkey = remote.rkey;
  packet.length = length;
  return packet;
}

QpPacket with_aeth(QpPacket packet, std::uint8_t syndrome, std::uint32_t msn) {
  packet.syndrome = syndrome;
  packet.msn = msn;
  return packet;
}

/// Calls `make(index, payload)` for the packets of `message`.
template <typename Make>
std::vector<QpPacket> cut(const Bytes& message, std::size_t mtu, Make make) {
  std::vector<QpPacket> packets;
  std::size_t from = 0;
  do {
    const std::size_t size = std::min(mtu, message.size() - from);
    packets.push_back(make(static_cast<std::uint32_t>(packets.size()), slice(message, from, size)));
    from += size;
  } while (from < message.size());
  return packets;
}

}  // namespace

QpPacket QpPacket::asking_for_ack(bool yes) const {
  QpPacket copy = *this;
  copy.ack_request = yes;
  return copy;
}

QpPacket QpPacket::solicits(bool yes) const {
  QpPacket copy = *this;
  copy.solicited = yes;
  return copy;
}

QpPacket QpPacket::with_length(std::uint32_t reth_length) const {
  QpPacket copy = *this;
  copy.length = reth_length;
  return copy;
}

QpPacket QpPacket::with_rkey(Rkey other) const {
  QpPacket copy = *this;
  copy.rkey = other;
  return copy;
}

QpPacket QpPacket::with_syndrome(std::uint8_t other) const {
  QpPacket copy = *this;
  copy.syndrome = other;
  return copy;
}

QpPacket QpPacket::with_qkey(std::uint32_t other) const {
  QpPacket copy = *this;
  copy.qkey = other;
  return copy;
}

QpPacket QpPacket::with_immediate(std::uint32_t value) const {
  QpPacket copy = *this;
  copy.opcode = static_cast<wire::Opcode>(to_integer(opcode) + 1);
  copy.immediate = value;
  return copy;
}

wire::Packet QpPacket::view(QpNumber destination) const {
  wire::Packet view;
  view.bth.opcode = opcode;
  view.bth.solicited = solicited;
  view.bth.pad_count = wire::pad_bytes(payload.size());
  view.bth.destination_qp = destination;
  view.bth.ack_request = ack_request;
  view.bth.psn = psn;
  view.info = &wire::info(opcode);
  view.reth = {.address = address, .rkey = rkey, .length = length};
  view.aeth = {.syndrome = syndrome, .msn = msn};
  view.deth = {.qkey = qkey, .source_qp = source_qp};
  view.immediate = immediate;
  view.payload = payload;
  return view;
}

void PrintTo(const QpPacket& packet, std::ostream* out) {
  const wire::OpcodeInfo& row = wire::info(packet.opcode);
  *out << "{" << row.name << ", PSN " << packet.psn.value();
  if (wire::has(row.headers, wire::Headers::kReth)) {
    *out << ", address 0x" << std::hex << packet.address << " rkey 0x" << to_integer(packet.rkey) << std::dec
         << " length " << packet.length;
  }
  if (wire::has(row.headers, wire::Headers::kAeth)) {
    *out << ", syndrome 0x" << std::hex << unsigned{packet.syndrome} << std::dec << " MSN " << packet.msn;
  }
  if (wire::has(row.headers, wire::Headers::kDeth)) {
    *out << ", Q_Key 0x" << std::hex << packet.qkey << std::dec << " from QP " << to_integer(packet.source_qp)
         << " to QP " << to_integer(packet.destination_qp);
  }
  if (row.has_immediate()) *out << ", immediate " << packet.immediate;
  if (row.has_payload) {
    // A sum tells apart what the eye cannot see.
    const unsigned sum = std::accumulate(
        packet.payload.begin(), packet.payload.end(), 0u,
        [](unsigned total, std::byte byte) { return total * 31 + std::to_integer<unsigned>(byte); });
    *out << ", " << packet.payload.size() << " bytes (sum " << std::hex << sum << std::dec << ")";
  }
  *out << (packet.ack_request ? ", AckReq" : "") << (packet.solicited ? ", solicited}" : "}");
}

QpPacket to_value(const wire::Packet& packet) {
  QpPacket value;
  value.opcode = packet.bth.opcode;
  value.psn = packet.bth.psn;
  value.ack_request = packet.bth.ack_request;
  value.solicited = packet.bth.solicited;
  value.address = packet.reth.address;
  value.rkey = packet.reth.rkey;
  value.length = packet.reth.length;
  value.syndrome = packet.aeth.syndrome;
  value.msn = packet.aeth.msn;
  value.immediate = packet.immediate;
  if (has(packet.info->headers, wire::Headers::kDeth)) {
    value.qkey = packet.deth.qkey;
    value.source_qp = packet.deth.source_qp;
    value.destination_qp = packet.bth.destination_qp;
  }
  value.payload.assign(packet.payload.begin(), packet.payload.end());
  return value;
}

QpPacket as_uc(QpPacket packet) {
  packet.opcode = static_cast<wire::Opcode>(0x20 | to_integer(packet.opcode));
  packet.ack_request = false;
  return packet;
}

std::vector<QpPacket> as_uc(std::vector<QpPacket> packets) {
  for (QpPacket& packet : packets) packet = as_uc(std::move(packet));
  return packets;
}

QpPacket send_first(Psn psn, Bytes payload) {
  return packet(0x00, psn, std::move(payload));
}
QpPacket send_middle(Psn psn, Bytes payload) {
  return packet(0x01, psn, std::move(payload));
}
QpPacket send_last(Psn psn, Bytes payload) {
  return packet(0x02, psn, std::move(payload)).asking_for_ack();
}
QpPacket send_last_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate) {
  return send_last(psn, std::move(payload)).with_immediate(immediate);
}
QpPacket send_only(Psn psn, Bytes payload) {
  return packet(0x04, psn, std::move(payload)).asking_for_ack();
}
QpPacket send_only_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate) {
  return send_only(psn, std::move(payload)).with_immediate(immediate);
}

QpPacket write_first(Psn psn, Bytes payload, std::uint32_t message_length, Remote to) {
  return with_reth(packet(0x06, psn, std::move(payload)), to, message_length);
}
QpPacket write_middle(Psn psn, Bytes payload) {
  return packet(0x07, psn, std::move(payload));
}
QpPacket write_last(Psn psn, Bytes payload) {
  return packet(0x08, psn, std::move(payload)).asking_for_ack();
}
QpPacket write_last_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate) {
  return write_last(psn, std::move(payload)).with_immediate(immediate);
}
QpPacket write_only(Psn psn, Bytes payload, Remote to) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  return with_reth(packet(0x0a, psn, std::move(payload)), to, length).asking_for_ack();
}
QpPacket write_only_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate, Remote to) {
  return write_only(psn, std::move(payload), to).with_immediate(immediate);
}

QpPacket read_request(Psn psn, std::uint32_t length, Remote from) {
  return with_reth(packet(0x0c, psn), from, length).asking_for_ack();
}

QpPacket request(std::uint8_t opcode, Psn psn, Bytes payload) {
  return packet(opcode, psn, std::move(payload)).asking_for_ack();
}

QpPacket read_response_first(Psn psn, Bytes payload, std::uint32_t msn) {
  return with_aeth(packet(0x0d, psn, std::move(payload)), kAckSyndrome, msn);
}
QpPacket read_response_middle(Psn psn, Bytes payload) {
  return packet(0x0e, psn, std::move(payload));
}
QpPacket read_response_last(Psn psn, Bytes payload, std::uint32_t msn) {
  return with_aeth(packet(0x0f, psn, std::move(payload)), kAckSyndrome, msn);
}
QpPacket read_response_only(Psn psn, Bytes payload, std::uint32_t msn) {
  return with_aeth(packet(0x10, psn, std::move(payload)), kAckSyndrome, msn);
}
QpPacket ack(Psn psn, std::uint32_t msn) {
  return with_aeth(packet(0x11, psn), kAckSyndrome, msn);
}
QpPacket nak(Nak nak, Psn psn, std::uint32_t msn) {
  return with_aeth(packet(0x11, psn), to_integer(nak), msn);
}
QpPacket rnr_nak(std::uint8_t timer_code, Psn psn, std::uint32_t msn) {
  return with_aeth(packet(0x11, psn), static_cast<std::uint8_t>(0x20 | timer_code), msn);
}

QpPacket selective_nak(Psn expected, std::initializer_list<std::uint32_t> held, std::uint32_t msn) {
  QpPacket value = with_aeth(packet(0xd1, expected), 0x60, msn);
  value.payload.resize(32);
  for (const std::uint32_t psn : held) {
    const std::uint32_t bit = (psn - expected.value() - 1) & 0xffffff;
    value.payload.at(bit / 8) |= std::byte{1} << (bit % 8);
  }
  return value;
}

std::vector<QpPacket> send_message(Psn first, const Bytes& message, std::size_t mtu) {
  if (message.size() <= mtu) return {send_only(first, message)};
  const std::size_t last = (message.size() - 1) / mtu;
  return cut(message, mtu, [&](std::uint32_t index, Bytes part) {
    const Psn psn = first + index;
    if (index == 0) return send_first(psn, std::move(part));
    return index == last ? send_last(psn, std::move(part)) : send_middle(psn, std::move(part));
  });
}

std::vector<QpPacket> write_message(Psn first, const Bytes& message, std::size_t mtu, Remote to) {
  if (message.size() <= mtu) return {write_only(first, message, to)};
  const std::size_t last = (message.size() - 1) / mtu;
  const auto length = static_cast<std::uint32_t>(message.size());
  return cut(message, mtu, [&](std::uint32_t index, Bytes part) {
    const Psn psn = first + index;
    if (index == 0) return write_first(psn, std::move(part), length, to);
    return index == last ? write_last(psn, std::move(part)) : write_middle(psn, std::move(part));
  });
}

std::vector<QpPacket> read_responses(Psn first, const Bytes& message, std::size_t mtu, std::uint32_t msn) {
  if (message.size() <= mtu) return {read_response_only(first, message, msn)};
  const std::size_t last = (message.size() - 1) / mtu;
  return cut(message, mtu, [&](std::uint32_t index, Bytes part) {
    const Psn psn = first + index;
    if (index == 0) return read_response_first(psn, std::move(part), msn);
    return index == last ? read_response_last(psn, std::move(part), msn)
                         : read_response_middle(psn, std::move(part));
  });
}

namespace {

/// The opcode of a message of one packet, where the last one of several has the opcode `last`.
wire::Opcode only_of(std::uint8_t last) {
  const std::uint8_t operation = last & 0x1f;
  // READ responses, and SEND with Invalidate.
  const bool is_next = operation == 0x0f || operation == 0x16;
  return static_cast<wire::Opcode>(last + (is_next ? 1 : 2));
}

bool is_first(std::uint8_t opcode) {
  const std::uint8_t operation = opcode & 0x1f;
  return operation == 0x00 || operation == 0x06 || operation == 0x0d;
}

bool is_middle(std::uint8_t opcode) {
  const std::uint8_t operation = opcode & 0x1f;
  return operation == 0x01 || operation == 0x07 || operation == 0x0e;
}

}  // namespace

QpPacket joined(const std::vector<QpPacket>& packets) {
  const QpPacket& first = packets.front();
  const QpPacket& last = packets.back();
  if (packets.size() == 1) return first;
  const bool begins = is_first(to_integer(first.opcode));
  const bool ends = !is_middle(to_integer(last.opcode));
  QpPacket whole = first;
  whole.ack_request = last.ack_request;
  whole.solicited = last.solicited;
  whole.immediate = last.immediate;
  if (ends) {
    whole.opcode = begins ? only_of(to_integer(last.opcode)) : last.opcode;
    whole.syndrome = last.syndrome;
    whole.msn = last.msn;
  }
  whole.payload.clear();
  for (const QpPacket& packet : packets) whole.payload = whole.payload + packet.payload;
  return whole;
}

std::vector<QpPacket> slice(const std::vector<QpPacket>& packets, std::size_t from, std::size_t count) {
  const auto begin = packets.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace urnic::transport::test
