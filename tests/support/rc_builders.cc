#include "tests/support/rc_builders.h"

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

RcPacket packet(std::uint8_t opcode, Psn psn, Bytes payload = {}) {
  RcPacket result;
  result.opcode = static_cast<wire::Opcode>(opcode);
  result.psn = psn;
  result.payload = std::move(payload);
  return result;
}

RcPacket with_reth(RcPacket packet, Remote remote, std::uint32_t length) {
  packet.address = remote.address;
  packet.rkey = remote.rkey;
  packet.length = length;
  return packet;
}

RcPacket with_immediate(RcPacket packet, std::uint32_t immediate) {
  packet.immediate = immediate;
  return packet;
}

RcPacket with_aeth(RcPacket packet, std::uint8_t syndrome, std::uint32_t msn) {
  packet.syndrome = syndrome;
  packet.msn = msn;
  return packet;
}

SendWr work_request(std::uint64_t wr_id, SendOperation operation, std::uint32_t length) {
  SendWr wr;
  wr.request.wr_id = wr_id;
  wr.request.operation = operation;
  wr.request.signaled = true;
  if (length > 0) {
    wr.sges = {local(length)};
  }
  return wr;
}

/// Calls `make(index, payload)` for the packets of `message`.
template <typename Make>
std::vector<RcPacket> cut(const Bytes& message, std::size_t mtu, Make make) {
  std::vector<RcPacket> packets;
  std::size_t from = 0;
  do {
    const std::size_t size = std::min(mtu, message.size() - from);
    packets.push_back(make(static_cast<std::uint32_t>(packets.size()), slice(message, from, size)));
    from += size;
  } while (from < message.size());
  return packets;
}

}  // namespace

RcPacket RcPacket::asking_for_ack(bool yes) const {
  RcPacket copy = *this;
  copy.ack_request = yes;
  return copy;
}

RcPacket RcPacket::solicits(bool yes) const {
  RcPacket copy = *this;
  copy.solicited = yes;
  return copy;
}

RcPacket RcPacket::with_length(std::uint32_t reth_length) const {
  RcPacket copy = *this;
  copy.length = reth_length;
  return copy;
}

RcPacket RcPacket::with_rkey(Rkey other) const {
  RcPacket copy = *this;
  copy.rkey = other;
  return copy;
}

RcPacket RcPacket::with_syndrome(std::uint8_t other) const {
  RcPacket copy = *this;
  copy.syndrome = other;
  return copy;
}

wire::Packet RcPacket::view(QpNumber destination) const {
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
  view.immediate = immediate;
  view.payload = payload;
  return view;
}

void PrintTo(const RcPacket& packet, std::ostream* out) {
  const wire::OpcodeInfo& row = wire::info(packet.opcode);
  *out << "{" << row.name << ", PSN " << packet.psn.value();
  if (wire::has(row.headers, wire::Headers::kReth)) {
    *out << ", address 0x" << std::hex << packet.address << " rkey 0x" << to_integer(packet.rkey) << std::dec
         << " length " << packet.length;
  }
  if (wire::has(row.headers, wire::Headers::kAeth)) {
    *out << ", syndrome 0x" << std::hex << unsigned{packet.syndrome} << std::dec << " MSN " << packet.msn;
  }
  if (row.has_immediate()) {
    *out << ", immediate " << packet.immediate;
  }
  if (row.has_payload) {
    // A sum tells apart what the eye cannot see.
    const unsigned sum = std::accumulate(
        packet.payload.begin(), packet.payload.end(), 0u,
        [](unsigned total, std::byte byte) { return total * 31 + std::to_integer<unsigned>(byte); });
    *out << ", " << packet.payload.size() << " bytes (sum " << std::hex << sum << std::dec << ")";
  }
  *out << (packet.ack_request ? ", AckReq" : "") << (packet.solicited ? ", solicited}" : "}");
}

RcPacket to_value(const wire::Packet& packet) {
  RcPacket value;
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
  value.payload.assign(packet.payload.begin(), packet.payload.end());
  return value;
}

RcPacket send_first(Psn psn, Bytes payload) {
  return packet(0x00, psn, std::move(payload));
}
RcPacket send_middle(Psn psn, Bytes payload) {
  return packet(0x01, psn, std::move(payload));
}
RcPacket send_last(Psn psn, Bytes payload) {
  return packet(0x02, psn, std::move(payload)).asking_for_ack();
}
RcPacket send_last_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate) {
  return with_immediate(packet(0x03, psn, std::move(payload)), immediate).asking_for_ack();
}
RcPacket send_only(Psn psn, Bytes payload) {
  return packet(0x04, psn, std::move(payload)).asking_for_ack();
}
RcPacket send_only_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate) {
  return with_immediate(packet(0x05, psn, std::move(payload)), immediate).asking_for_ack();
}

RcPacket write_first(Psn psn, Bytes payload, std::uint32_t message_length, Remote to) {
  return with_reth(packet(0x06, psn, std::move(payload)), to, message_length);
}
RcPacket write_middle(Psn psn, Bytes payload) {
  return packet(0x07, psn, std::move(payload));
}
RcPacket write_last(Psn psn, Bytes payload) {
  return packet(0x08, psn, std::move(payload)).asking_for_ack();
}
RcPacket write_last_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate) {
  return with_immediate(packet(0x09, psn, std::move(payload)), immediate).asking_for_ack();
}
RcPacket write_only(Psn psn, Bytes payload, Remote to) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  return with_reth(packet(0x0a, psn, std::move(payload)), to, length).asking_for_ack();
}
RcPacket write_only_with_immediate(Psn psn, Bytes payload, std::uint32_t immediate, Remote to) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  return with_immediate(with_reth(packet(0x0b, psn, std::move(payload)), to, length), immediate)
      .asking_for_ack();
}

RcPacket read_request(Psn psn, std::uint32_t length, Remote from) {
  return with_reth(packet(0x0c, psn), from, length).asking_for_ack();
}

RcPacket request(std::uint8_t opcode, Psn psn, Bytes payload) {
  return packet(opcode, psn, std::move(payload)).asking_for_ack();
}

RcPacket read_response_first(Psn psn, Bytes payload, std::uint32_t msn) {
  return with_aeth(packet(0x0d, psn, std::move(payload)), kAckSyndrome, msn);
}
RcPacket read_response_middle(Psn psn, Bytes payload) {
  return packet(0x0e, psn, std::move(payload));
}
RcPacket read_response_last(Psn psn, Bytes payload, std::uint32_t msn) {
  return with_aeth(packet(0x0f, psn, std::move(payload)), kAckSyndrome, msn);
}
RcPacket read_response_only(Psn psn, Bytes payload, std::uint32_t msn) {
  return with_aeth(packet(0x10, psn, std::move(payload)), kAckSyndrome, msn);
}
RcPacket ack(Psn psn, std::uint32_t msn) {
  return with_aeth(packet(0x11, psn), kAckSyndrome, msn);
}
RcPacket nak(Nak nak, Psn psn, std::uint32_t msn) {
  return with_aeth(packet(0x11, psn), to_integer(nak), msn);
}
RcPacket rnr_nak(std::uint8_t timer_code, Psn psn, std::uint32_t msn) {
  return with_aeth(packet(0x11, psn), static_cast<std::uint8_t>(0x20 | timer_code), msn);
}

std::vector<RcPacket> send_message(Psn first, const Bytes& message, std::size_t mtu) {
  if (message.size() <= mtu) {
    return {send_only(first, message)};
  }
  const std::size_t last = (message.size() - 1) / mtu;
  return cut(message, mtu, [&](std::uint32_t index, Bytes part) {
    const Psn psn = first + index;
    if (index == 0) {
      return send_first(psn, std::move(part));
    }
    return index == last ? send_last(psn, std::move(part)) : send_middle(psn, std::move(part));
  });
}

std::vector<RcPacket> write_message(Psn first, const Bytes& message, std::size_t mtu, Remote to) {
  if (message.size() <= mtu) {
    return {write_only(first, message, to)};
  }
  const std::size_t last = (message.size() - 1) / mtu;
  const auto length = static_cast<std::uint32_t>(message.size());
  return cut(message, mtu, [&](std::uint32_t index, Bytes part) {
    const Psn psn = first + index;
    if (index == 0) {
      return write_first(psn, std::move(part), length, to);
    }
    return index == last ? write_last(psn, std::move(part)) : write_middle(psn, std::move(part));
  });
}

std::vector<RcPacket> read_responses(Psn first, const Bytes& message, std::size_t mtu, std::uint32_t msn) {
  if (message.size() <= mtu) {
    return {read_response_only(first, message, msn)};
  }
  const std::size_t last = (message.size() - 1) / mtu;
  return cut(message, mtu, [&](std::uint32_t index, Bytes part) {
    const Psn psn = first + index;
    if (index == 0) {
      return read_response_first(psn, std::move(part), msn);
    }
    return index == last ? read_response_last(psn, std::move(part), msn)
                         : read_response_middle(psn, std::move(part));
  });
}

std::vector<RcPacket> slice(const std::vector<RcPacket>& packets, std::size_t from, std::size_t count) {
  const auto begin = packets.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

SendWr SendWr::unsignaled() const {
  SendWr copy = *this;
  copy.request.signaled = false;
  return copy;
}

SendWr SendWr::solicited() const {
  SendWr copy = *this;
  copy.request.solicited = true;
  return copy;
}

SendWr SendWr::fenced() const {
  SendWr copy = *this;
  copy.request.fence = true;
  return copy;
}

SendWr SendWr::with_immediate(std::uint32_t immediate) const {
  SendWr copy = *this;
  copy.request.operation = request.operation == SendOperation::kSend ? SendOperation::kSendWithImmediate
                                                                     : SendOperation::kWriteWithImmediate;
  copy.request.immediate = immediate;
  return copy;
}

SendWr SendWr::from_elements(std::vector<Sge> elements) const {
  SendWr copy = *this;
  copy.sges = std::move(elements);
  return copy;
}

SendWr SendWr::with_inline(Bytes data) const {
  SendWr copy = *this;
  copy.sges.clear();
  copy.inline_data = std::move(data);
  return copy;
}

SendWr SendWr::to(Remote remote) const {
  SendWr copy = *this;
  copy.request.remote_address = remote.address;
  copy.request.rkey = remote.rkey;
  return copy;
}

SendWr send_wr(std::uint64_t wr_id, std::uint32_t length) {
  return work_request(wr_id, SendOperation::kSend, length);
}

SendWr write_wr(std::uint64_t wr_id, std::uint32_t length, Remote to) {
  return work_request(wr_id, SendOperation::kWrite, length).to(to);
}

SendWr read_wr(std::uint64_t wr_id, std::uint32_t length, Remote from) {
  return work_request(wr_id, SendOperation::kRead, length).to(from);
}

}  // namespace urnic::transport::test
