// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The packets that a work request becomes.
#include "tests/support/qp_fixture.h"
#include "transport/rc/endpoint.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RcRequesterPackets : public RcTest {
 protected:
  static Bytes local_pattern(std::uint64_t offset, std::size_t size) {
    return pattern(kLocalAddress + offset, size);
  }
};

class RcRequesterLength : public RcRequesterPackets, public ::testing::WithParamInterface<std::uint32_t> {
 protected:
  RcRequesterLength() { connect(); }
};

INSTANTIATE_TEST_SUITE_P(Bytes, RcRequesterLength,
                         ::testing::Values(0, 1, 2, 3, 5, 1023, 1024, 1025, 2048, 2049, 4097));

// The packets of capture vs_sizes: opcodes, PSNs, AckReq on the last packet, padding. The fixture looks
// at the padding.
TEST_P(RcRequesterLength, CutsASendAtThePathMtu) {
  post(send_wr(1, GetParam()));
  EXPECT_EQ(sent(), send_message(Psn(200), local_pattern(0, GetParam()), kMtu));
}

TEST_P(RcRequesterLength, CutsAWriteAtThePathMtu) {
  post(write_wr(1, GetParam(), kShared + 5));
  EXPECT_EQ(sent(), write_message(Psn(200), local_pattern(0, GetParam()), kMtu, kShared + 5));
}

// Fact 28: one request, whatever its length.
TEST_P(RcRequesterLength, AsksForAReadWithOnePacket) {
  post(read_wr(1, GetParam(), kShared + 5));
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(200), GetParam(), kShared + 5)));
}

// Fact 28: N = ceil(length / PMTU), 1 for nothing.
TEST_P(RcRequesterLength, LeavesPsnsForTheResponsesOfARead) {
  post({read_wr(1, GetParam()), write_wr(2, 0)});
  const std::uint32_t responses = GetParam() == 0 ? 1 : (GetParam() + 1023) / 1024;
  EXPECT_THAT(sent(), ElementsAre(read_request(Psn(200), GetParam()), write_only(Psn(200 + responses), {})));
  EXPECT_EQ(endpoint_.next_send_psn(), Psn(200 + responses + 1));
}

TEST_P(RcRequesterLength, PutsTheImmediateOfASendInItsLastPacket) {
  post(send_wr(1, GetParam()).with_immediate(0x01020304));
  auto expected = send_message(Psn(200), local_pattern(0, GetParam()), kMtu);
  QpPacket& last = expected.back();
  last = expected.size() == 1 ? send_only_with_immediate(last.psn, last.payload, 0x01020304)
                              : send_last_with_immediate(last.psn, last.payload, 0x01020304);
  EXPECT_EQ(sent(), expected);
}

TEST_P(RcRequesterLength, PutsTheImmediateOfAWriteInItsLastPacket) {
  post(write_wr(1, GetParam()).with_immediate(0x01020304));
  auto expected = write_message(Psn(200), local_pattern(0, GetParam()), kMtu);
  QpPacket& last = expected.back();
  last = expected.size() == 1 ? write_only_with_immediate(last.psn, last.payload, 0x01020304)
                              : write_last_with_immediate(last.psn, last.payload, 0x01020304);
  EXPECT_EQ(sent(), expected);
}

class RcRequesterMtu : public RcRequesterPackets, public ::testing::WithParamInterface<PathMtu> {};

INSTANTIATE_TEST_SUITE_P(Mtu, RcRequesterMtu,
                         ::testing::Values(PathMtu::k256, PathMtu::k512, PathMtu::k2048, PathMtu::k4096),
                         [](const auto& mtu) { return std::to_string(bytes(mtu.param)); });

TEST_P(RcRequesterMtu, CutsAtThePathMtu) {
  config_.path_mtu = GetParam();
  connect();
  post(write_wr(1, 8193));
  auto packets = sent();
  for (QpPacket& packet : packets) packet.ack_request = packet.psn == packets.back().psn;
  EXPECT_EQ(packets, write_message(Psn(200), local_pattern(0, 8193), bytes(GetParam())));
}

// Fact 17.
TEST_F(RcRequesterPackets, SolicitsWithTheLastPacketOfASend) {
  connect();
  post({send_wr(1, 10).solicited(), send_wr(2, 1025).solicited()});
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(200), local_pattern(0, 10)).solicits(),
                                  send_first(Psn(201), local_pattern(0, 1024)),
                                  send_last(Psn(202), local_pattern(1024, 1)).solicits()));
}

// Fact 17.
TEST_F(RcRequesterPackets, SolicitsWithAWriteOnlyIfItHasAnImmediate) {
  connect();
  post({write_wr(1, 10).solicited(), write_wr(2, 1025).with_immediate(7).solicited(),
        read_wr(3, 1).solicited()});
  EXPECT_THAT(sent(), ElementsAre(write_only(Psn(200), local_pattern(0, 10)),
                                  write_first(Psn(201), local_pattern(0, 1024), 1025),
                                  write_last_with_immediate(Psn(202), local_pattern(1024, 1), 7).solicits(),
                                  read_request(Psn(203), 1)));
}

TEST_F(RcRequesterPackets, GathersAllElements) {
  connect();
  post(send_wr(1, 0).from_elements({local(1000), local(1, 5000), local(2000, 10000)}));
  const Bytes message = local_pattern(0, 1000) + local_pattern(5000, 1) + local_pattern(10000, 2000);
  EXPECT_EQ(sent(), send_message(Psn(200), message, kMtu));
}

TEST_F(RcRequesterPackets, GathersElementsThatEndWithAPacket) {
  connect();
  post(write_wr(1, 0).from_elements({local(1024, 5000), local(1024), local(1, 7000)}));
  const Bytes message = local_pattern(5000, 1024) + local_pattern(0, 1024) + local_pattern(7000, 1);
  EXPECT_EQ(sent(), write_message(Psn(200), message, kMtu));
}

TEST_F(RcRequesterPackets, SkipsElementsOfNoLength) {
  connect();
  const Sge nothing{.address = 0, .length = 0, .lkey = Lkey{0xbad}};
  post(send_wr(1, 0).from_elements({nothing, local(10), nothing, local(10, 100)}));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(200), local_pattern(0, 10) + local_pattern(100, 10))));
}

TEST_F(RcRequesterPackets, LooksUpNoMemoryForAnEmptyMessage) {
  connect();
  const Sge nothing{.address = 0, .length = 0, .lkey = Lkey{0xbad}};
  post({send_wr(1, 0), write_wr(2, 0), read_wr(3, 0), send_wr(4, 0).from_elements({nothing})});
  EXPECT_EQ(sent().size(), 4u);
  EXPECT_THAT(dma_.calls(), IsEmpty());
}

TEST_F(RcRequesterPackets, SendsInlineDataWithoutLookingUpMemory) {
  connect();
  post({send_wr(1, 0).with_inline(payload(37)), write_wr(2, 0).with_inline(payload(64, 1))});
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(200), payload(37)), write_only(Psn(201), payload(64, 1))));
  EXPECT_THAT(dma_.calls(), IsEmpty());
}

TEST_F(RcRequesterPackets, SendsInlineDataOfNoLength) {
  connect();
  post(send_wr(1, 0).with_inline({}));
  EXPECT_THAT(sent(), ElementsAre(send_only(Psn(200), {})));
}

TEST_F(RcRequesterPackets, CutsInlineDataAtThePathMtu) {
  SendQueue queue({.work_requests = 4, .sges = 1, .inline_bytes = 1000});
  config_.path_mtu = PathMtu::k256;
  RcEndpoint endpoint(
      {.dma = dma_,
       .send_queue = queue,
       .send_completions = &send_completions_,
       .receiver = {.queue = &receive_queue_, .completions = &receive_completions_, .pd = kPd},
       .events = events_,
       .counters = counters_});
  endpoint.to_init(config_);
  endpoint.to_ready_to_receive(config_);
  endpoint.to_ready_to_send(config_);
  const Bytes data = payload(1000);
  const auto place = queue.prepare_inline(send_wr(1, 0).request, 1000);
  std::copy(data.begin(), data.end(), place.begin());
  queue.publish();

  Bytes received;
  std::array<std::byte, 512> buffer{};
  for (int i = 0; i < 4; ++i) {
    const std::size_t size = endpoint.poll_transmit(buffer, now_).size;
    const auto packet = wire::parse_packet(std::span(buffer).first(size));
    ASSERT_TRUE(packet);
    received = received + to_value(packet.value()).payload;
  }
  EXPECT_EQ(received, data);
}

TEST_F(RcRequesterPackets, NumbersPacketsAcross2To24InsideAMessage) {
  config_.send_psn = Psn(0xfffffe);
  connect();
  post({write_wr(1, 4000), send_wr(2, 1)});
  EXPECT_EQ(sent(), (std::vector<QpPacket>{
                        write_first(Psn(0xfffffe), local_pattern(0, 1024), 4000),
                        write_middle(Psn(0xffffff), local_pattern(1024, 1024)),
                        write_middle(Psn(0), local_pattern(2048, 1024)),
                        write_last(Psn(1), local_pattern(3072, 928)),
                        send_only(Psn(2), local_pattern(0, 1)),
                    }));
}

TEST_F(RcRequesterPackets, SendsWorkRequestsInTheOrderOfPosting) {
  connect();
  post({send_wr(9, 1), write_wr(1, 1), read_wr(5, 1), send_wr(2, 0)});
  EXPECT_THAT(sent(),
              ElementsAre(send_only(Psn(200), local_pattern(0, 1)), write_only(Psn(201), local_pattern(0, 1)),
                          read_request(Psn(202), 1), send_only(Psn(203), {})));
}

TEST_F(RcRequesterPackets, FailsAWorkRequestWithABadLocalKey) {
  connect();
  post({send_wr(1, 0).from_elements({{.address = kLocalAddress, .length = 10, .lkey = Lkey{0xbad}}}),
        send_wr(2, 10), write_wr(3, 10).unsignaled()});
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(),
              ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError), Flushed(2), Flushed(3)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

TEST_F(RcRequesterPackets, FailsAWorkRequestOutsideItsRegion) {
  connect();
  post(write_wr(1, 0).from_elements({local(10, kRegionBytes - 9)}));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError)));
}

TEST_F(RcRequesterPackets, FailsAnUnsignaledWorkRequestWithACompletion) {
  connect();
  post(send_wr(1, 0).from_elements({{.address = 0, .length = 10, .lkey = Lkey{0xbad}}}).unsignaled());
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError)));
}

class RcAtomicLength : public RcRequesterPackets, public ::testing::WithParamInterface<SendOperation> {};

INSTANTIATE_TEST_SUITE_P(Operations, RcAtomicLength,
                         ::testing::Values(SendOperation::kCompareSwap, SendOperation::kFetchAdd,
                                           SendOperation::kAtomicWrite));

// Fact 32: they are about eight bytes.
TEST_P(RcAtomicLength, IsEightBytesOrNothingIsSent) {
  connect();
  SendWr wr = write_wr(1, 16);
  wr.request.operation = GetParam();
  post(wr);
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalLengthError)));
}

TEST_F(RcRequesterPackets, FailsAWorkRequestWhoseRegionVanishesMidway) {
  connect();
  post_quietly(write_wr(1, 3000));
  EXPECT_EQ(poll_one(), write_first(Psn(200), local_pattern(0, 1024), 3000));
  dma_.remove_region(to_integer(kLocalKey));
  drain();
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(send_completions(), ElementsAre(Completed(1, CompletionStatus::kLocalProtectionError)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

TEST_F(RcRequesterPackets, CompletesInOrderWhenALaterWorkRequestFails) {
  connect();
  post({send_wr(1, 10), send_wr(2, 0).from_elements({{.address = 0, .length = 10, .lkey = Lkey{0xbad}}}),
        send_wr(3, 10)});
  peer_sends(ack(Psn(200), 1));
  const auto completions = send_completions();
  ASSERT_EQ(completions.size(), 3u);
  EXPECT_EQ(completions[0].wr_id, 1u);
  EXPECT_THAT(completions[1], Completed(2, CompletionStatus::kLocalProtectionError));
  EXPECT_THAT(completions[2], Flushed(3));
}

}  // namespace
}  // namespace urnic::transport::test
