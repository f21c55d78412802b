#include "tests/support/uc_fixture.h"

#include <utility>

namespace urnic::transport::test {

RcPacket as_uc(RcPacket packet) {
  packet.opcode = static_cast<wire::Opcode>(0x20 | to_integer(packet.opcode));
  packet.ack_request = false;
  return packet;
}

std::vector<RcPacket> as_uc(std::vector<RcPacket> packets) {
  for (RcPacket& packet : packets) packet = as_uc(std::move(packet));
  return packets;
}

UcTest::UcTest(bool shares_receive_queue) : endpoint_(dependencies(shares_receive_queue)) {
  config_.service = wire::Service::kUc;
}

void UcTest::peer_sends(const std::vector<RcPacket>& burst) {
  for (const RcPacket& packet : burst) {
    const RcPacket uc_packet = as_uc(packet);
    endpoint_.on_packet(uc_packet.view(kOurQp), now_);
    EXPECT_FALSE(endpoint_.has_pending_response());
  }
  EXPECT_FALSE(poll_bytes().has_value()) << "an unreliable connection answered";
}

std::vector<RcPacket> UcTest::sent() {
  std::vector<RcPacket> packets;
  for (const Bytes& bytes : sent_bytes()) {
    const auto packet = parse_sent(bytes);
    if (!packet) break;
    EXPECT_EQ(packet->bth.destination_qp, kPeerQp);
    packets.push_back(to_value(*packet));
  }
  return packets;
}

}  // namespace urnic::transport::test
