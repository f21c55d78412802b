#include "tests/support/ud_fixture.h"

#include <utility>

namespace urnic::transport::test {

UdPacket UdPacket::with_qkey(std::uint32_t other) const {
  UdPacket copy = *this;
  copy.qkey = other;
  return copy;
}

UdPacket UdPacket::with_immediate(std::uint32_t value) const {
  UdPacket copy = *this;
  copy.opcode = 0x65;
  copy.immediate = value;
  return copy;
}

UdPacket UdPacket::solicits() const {
  UdPacket copy = *this;
  copy.solicited = true;
  return copy;
}

UdPacket UdPacket::asking_for_ack() const {
  UdPacket copy = *this;
  copy.ack_request = true;
  return copy;
}

wire::Packet UdPacket::view(const Bytes& network_header) const {
  wire::Packet view;
  view.bth.opcode = static_cast<wire::Opcode>(opcode);
  view.bth.solicited = solicited;
  view.bth.pad_count = wire::pad_bytes(payload.size());
  view.bth.destination_qp = destination_qp;
  view.bth.ack_request = ack_request;
  view.bth.psn = psn;
  view.info = &wire::info(view.bth.opcode);
  view.deth = {.qkey = qkey, .source_qp = source_qp};
  view.immediate = immediate;
  view.payload = payload;
  view.network_header = network_header;
  return view;
}

void PrintTo(const UdPacket& packet, std::ostream* out) {
  *out << "{opcode 0x" << std::hex << unsigned{packet.opcode} << ", Q_Key 0x" << packet.qkey << std::dec
       << ", PSN " << packet.psn.value() << ", from QP " << to_integer(packet.source_qp) << " to QP "
       << to_integer(packet.destination_qp) << ", immediate " << packet.immediate << ", "
       << packet.payload.size() << " bytes" << (packet.ack_request ? ", AckReq" : "")
       << (packet.solicited ? ", solicited}" : "}");
}

UdTest::UdTest(bool shares_receive_queue) : endpoint_(dependencies(shares_receive_queue)) {
  config_.service = wire::Service::kUd;
  config_.remote_qp = {};
  config_.access = Access::kNone;
  config_.qkey = kQkey;
}

UdPacket UdTest::datagram(Bytes payload) {
  return {.psn = Psn(0),
          .destination_qp = kOurQp,
          .qkey = kQkey,
          .source_qp = kPeerQp,
          .payload = std::move(payload)};
}

UdPacket UdTest::to_peer(Psn psn, Bytes payload) {
  return {.psn = psn,
          .destination_qp = kPeerQp,
          .qkey = kQkey,
          .source_qp = kOurQp,
          .payload = std::move(payload)};
}

SendWr UdTest::datagram_wr(std::uint64_t wr_id, std::uint32_t length, std::uint32_t qkey) {
  SendWr wr = send_wr(wr_id, length);
  wr.request.destination = {.address = kPeerAddress, .qp = kPeerQp, .qkey = qkey};
  return wr;
}

void UdTest::peer_sends(const std::vector<UdPacket>& burst, const Bytes& network_header) {
  for (const UdPacket& packet : burst) {
    endpoint_.on_packet(packet.view(network_header), now_);
    EXPECT_FALSE(endpoint_.has_pending_response());
  }
  EXPECT_FALSE(poll_bytes().has_value()) << "a datagram was answered";
}

std::vector<UdPacket> UdTest::sent() {
  std::vector<UdPacket> packets;
  for (const Bytes& bytes : sent_bytes()) {
    const auto packet = parse_sent(bytes);
    if (!packet) break;
    packets.push_back({.opcode = to_integer(packet->bth.opcode),
                       .psn = packet->bth.psn,
                       .destination_qp = packet->bth.destination_qp,
                       .qkey = packet->deth.qkey,
                       .source_qp = packet->deth.source_qp,
                       .immediate = packet->immediate,
                       .solicited = packet->bth.solicited,
                       .ack_request = packet->bth.ack_request,
                       .payload = Bytes(packet->payload.begin(), packet->payload.end())});
  }
  return packets;
}

}  // namespace urnic::transport::test
