// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a UC requester writes: opcodes, headers, payload and flags of each packet.
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

class UcRequesterPacket : public UcTest {
 protected:
  UcRequesterPacket() { connect(); }
};

TEST_F(UcRequesterPacket, CutsASendAtThePathMtu) {
  for (const std::uint32_t length : {0u, 1u, 1023u, 1024u, 1025u, 2048u, 2049u, 5000u}) {
    SCOPED_TRACE(length);
    const Psn first = endpoint_.next_send_psn();
    post(send_wr(1, length));
    EXPECT_THAT(sent(), ElementsAreArray(as_uc(send_message(first, local_memory(0, length), kMtu))));
  }
}

TEST_F(UcRequesterPacket, CutsAWriteAtThePathMtuAndNamesItsPlaceOnce) {
  for (const std::uint32_t length : {0u, 1u, 1023u, 1024u, 1025u, 2048u, 2049u, 5000u}) {
    SCOPED_TRACE(length);
    const Psn first = endpoint_.next_send_psn();
    post(write_wr(1, length, kShared + 77));
    EXPECT_THAT(sent(),
                ElementsAreArray(as_uc(write_message(first, local_memory(0, length), kMtu, kShared + 77))));
  }
}

TEST_F(UcRequesterPacket, CutsAtTheMtuOfItsPath) {
  config_.path_mtu = PathMtu::k256;
  endpoint_.reset();
  connect();
  post(send_wr(1, 600));
  EXPECT_THAT(sent(), ElementsAreArray(as_uc(send_message(Psn(200), local_memory(0, 600), 256))));
}

TEST_F(UcRequesterPacket, PutsTheImmediateIntoTheLastPacketOnly) {
  post({send_wr(1, 10).with_immediate(0x01020304), send_wr(2, 1025).with_immediate(5),
        write_wr(3, 0).with_immediate(6), write_wr(4, 1025).with_immediate(7)});
  EXPECT_THAT(sent(), ElementsAreArray(as_uc({
                          send_only_with_immediate(Psn(200), local_memory(0, 10), 0x01020304),
                          send_first(Psn(201), local_memory(0, 1024)),
                          send_last_with_immediate(Psn(202), local_memory(1024, 1), 5),
                          write_only_with_immediate(Psn(203), {}, 6),
                          write_first(Psn(204), local_memory(0, 1024), 1025),
                          write_last_with_immediate(Psn(205), local_memory(1024, 1), 7),
                      })));
}

// Fact 17.
TEST_F(UcRequesterPacket, SolicitsOnlyWithThePacketThatCompletesAReceive) {
  post({send_wr(1, 1025).solicited(), write_wr(2, 5).solicited(),
        write_wr(3, 1025).with_immediate(1).solicited()});
  std::vector<bool> solicited;
  for (const QpPacket& packet : sent()) solicited.push_back(packet.solicited);
  EXPECT_THAT(solicited, ElementsAre(false, true, false, false, true));
}

// Fact 18; rdma_rxe would ask on a reliable connection after 65 packets.
TEST_F(UcRequesterPacket, NeverAsksForAnAcknowledgement) {
  post({send_wr(1, 0xffff), write_wr(2, 0xffff), send_wr(3, 1)});
  for (const QpPacket& packet : sent()) ASSERT_FALSE(packet.ack_request) << ::testing::PrintToString(packet);
}

TEST_F(UcRequesterPacket, SendsInlineDataOfItsOwn) {
  const Bytes data = payload(kInlineBytes);
  post({send_wr(1, 0).with_inline(data), write_wr(2, 0).with_inline(slice(data, 3, 5)),
        send_wr(3, 0).with_inline({})});
  EXPECT_THAT(sent(),
              ElementsAreArray(as_uc({send_only(Psn(200), data), write_only(Psn(201), slice(data, 3, 5)),
                                      send_only(Psn(202), {})})));
  EXPECT_THAT(dma_.calls(), ::testing::IsEmpty());
}

TEST_F(UcRequesterPacket, GathersAMessageFromAllItsElements) {
  post(send_wr(1, 0).from_elements({local(1000), local(0, 9999), local(30, 5000), local(500, 2000)}));
  const Bytes message = local_memory(0, 1000) + local_memory(5000, 30) + local_memory(2000, 500);
  EXPECT_THAT(sent(), ElementsAreArray(as_uc(send_message(Psn(200), message, kMtu))));
}

TEST_F(UcRequesterPacket, CountsPsnsAcrossTheEndOfTheirSpace) {
  config_.send_psn = Psn(0xfffffe);
  endpoint_.reset();
  connect();
  post({send_wr(1, 3000), write_wr(2, 1)});
  const auto packets = sent();
  std::vector<std::uint32_t> psns;
  for (const QpPacket& packet : packets) psns.push_back(packet.psn.value());
  EXPECT_THAT(psns, ElementsAre(0xfffffeu, 0xffffffu, 0u, 1u));
  EXPECT_EQ(endpoint_.next_send_psn(), Psn(2));
}

}  // namespace
}  // namespace urnic::transport::test
