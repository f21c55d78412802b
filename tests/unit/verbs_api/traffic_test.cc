// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Reliable connections between two queue pairs of the same device.
#include <endian.h>

#include <cstring>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

class Traffic : public testing::Test {
 protected:
  /// Checks that `cq` gets a successful completion of `opcode`.
  static ibv_wc expect_success(ibv_cq* cq, ibv_wc_opcode opcode) {
    const ibv_wc completion = next_completion(cq);
    EXPECT_EQ(completion.status, IBV_WC_SUCCESS) << ibv_wc_status_str(completion.status);
    EXPECT_EQ(completion.opcode, opcode);
    return completion;
  }

  Pair pair_;
};

TEST_F(Traffic, SendFillsTheReceiveBuffer) {
  Buffer from(pair_.pd(), 100);
  Buffer to(pair_.pd(), 200);
  from.fill(1);
  ASSERT_EQ(post_receive(pair_.b(), 7, {to.sge()}), 0);
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_SEND, 3), {from.sge()}), 0);

  const ibv_wc received = expect_success(pair_.cq_b(), IBV_WC_RECV);
  EXPECT_EQ(received.wr_id, 7u);
  EXPECT_EQ(received.byte_len, 100u);
  EXPECT_EQ(received.qp_num, pair_.b()->qp_num);
  EXPECT_EQ(received.wc_flags, 0u);
  EXPECT_EQ(std::memcmp(to.data(), from.data(), 100), 0);
  EXPECT_EQ(to.data()[100], 0);
  const ibv_wc sent = expect_success(pair_.cq_a(), IBV_WC_SEND);
  EXPECT_EQ(sent.wr_id, 3u);
  EXPECT_EQ(sent.qp_num, pair_.a()->qp_num);
}

TEST_F(Traffic, SendWithImmediateDeliversIt) {
  ASSERT_EQ(post_receive(pair_.b(), 7, {}), 0);
  ibv_send_wr wr = request(IBV_WR_SEND_WITH_IMM);
  wr.imm_data = htobe32(0x01020304);
  ASSERT_EQ(post_send(pair_.a(), wr, {}), 0);
  const ibv_wc received = expect_success(pair_.cq_b(), IBV_WC_RECV);
  EXPECT_EQ(received.wc_flags, static_cast<unsigned int>(IBV_WC_WITH_IMM));
  EXPECT_EQ(be32toh(received.imm_data), 0x01020304u);
  EXPECT_EQ(received.byte_len, 0u);
}

TEST_F(Traffic, WriteTouchesItsRangeAndCompletesOnOneSideOnly) {
  Buffer from(pair_.pd(), 3000);
  Buffer to(pair_.pd(), 4000);
  from.fill(2);
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, to);
  wr.wr.rdma.remote_addr += 500;
  ASSERT_EQ(post_send(pair_.a(), wr, {from.sge()}), 0);
  expect_success(pair_.cq_a(), IBV_WC_RDMA_WRITE);
  EXPECT_EQ(std::memcmp(to.data() + 500, from.data(), 3000), 0);
  EXPECT_EQ(to.data()[499], 0);
  EXPECT_EQ(to.data()[3500], 0);
  EXPECT_TRUE(stays_empty(pair_.cq_b()));
}

TEST_F(Traffic, WriteWithImmediateConsumesAReceive) {
  Buffer from(pair_.pd(), 2000);
  Buffer to(pair_.pd(), 2000);
  from.fill(3);
  ASSERT_EQ(post_receive(pair_.b(), 9, {}), 0);
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE_WITH_IMM, to);
  wr.imm_data = htobe32(5);
  ASSERT_EQ(post_send(pair_.a(), wr, {from.sge()}), 0);
  const ibv_wc received = expect_success(pair_.cq_b(), IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(received.wr_id, 9u);
  EXPECT_EQ(received.byte_len, 2000u);
  EXPECT_EQ(received.wc_flags, static_cast<unsigned int>(IBV_WC_WITH_IMM));
  EXPECT_EQ(be32toh(received.imm_data), 5u);
  EXPECT_EQ(to.bytes(), from.bytes());
  expect_success(pair_.cq_a(), IBV_WC_RDMA_WRITE);
}

TEST_F(Traffic, ReadFetchesRemoteMemory) {
  Buffer local(pair_.pd(), 5000);
  Buffer remote(pair_.pd(), 5000);
  remote.fill(4);
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_RDMA_READ, remote, 6), {local.sge()}), 0);
  const ibv_wc completion = expect_success(pair_.cq_a(), IBV_WC_RDMA_READ);
  EXPECT_EQ(completion.wr_id, 6u);
  EXPECT_EQ(local.bytes(), remote.bytes());
}

TEST_F(Traffic, GathersAndScattersElements) {
  Buffer from(pair_.pd(), 1000);
  Buffer to(pair_.pd(), 1000);
  from.fill(5);
  ASSERT_EQ(post_receive(pair_.b(), 1, {to.sge(500, 100), to.sge(0, 300)}), 0);
  ASSERT_EQ(
      post_send(pair_.a(), request(IBV_WR_SEND), {from.sge(10, 50), from.sge(700, 0), from.sge(200, 200)}),
      0);
  EXPECT_EQ(expect_success(pair_.cq_b(), IBV_WC_RECV).byte_len, 250u);
  EXPECT_EQ(std::memcmp(to.data() + 500, from.data() + 10, 50), 0);
  EXPECT_EQ(std::memcmp(to.data() + 550, from.data() + 200, 50), 0);
  EXPECT_EQ(std::memcmp(to.data(), from.data() + 250, 150), 0);
}

TEST_F(Traffic, MovesAMegabyte) {
  constexpr std::size_t kSize = std::size_t{1} << 20;
  Buffer from(pair_.pd(), kSize);
  Buffer to(pair_.pd(), kSize);
  from.fill(6);
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_RDMA_WRITE, to), {from.sge()}), 0);
  expect_success(pair_.cq_a(), IBV_WC_RDMA_WRITE);
  EXPECT_EQ(to.bytes(), from.bytes());
}

TEST_F(Traffic, InlineDataMayBeOverwrittenAtOnce) {
  Buffer to(pair_.pd(), 64);
  std::vector<std::uint8_t> data(32, 0x5a);
  ASSERT_EQ(post_receive(pair_.b(), 1, {to.sge()}), 0);
  ibv_send_wr wr = request(IBV_WR_SEND);
  wr.send_flags |= IBV_SEND_INLINE;
  const ibv_sge anywhere{
      .addr = reinterpret_cast<std::uintptr_t>(data.data()), .length = 32, .lkey = 0xdeadbeef};
  ASSERT_EQ(post_send(pair_.a(), wr, {anywhere}), 0);
  std::fill(data.begin(), data.end(), std::uint8_t{0});
  EXPECT_EQ(expect_success(pair_.cq_b(), IBV_WC_RECV).byte_len, 32u);
  EXPECT_EQ(to.data()[0], 0x5a);
  EXPECT_EQ(to.data()[31], 0x5a);
}

TEST_F(Traffic, UnsignaledRequestsCompleteSilently) {
  Buffer from(pair_.pd(), 8);
  Buffer to(pair_.pd(), 8);
  for (std::uint64_t i = 0; i < 5; ++i) {
    ibv_send_wr silent = request(IBV_WR_RDMA_WRITE, to, i);
    silent.send_flags = 0;
    ASSERT_EQ(post_send(pair_.a(), silent, {from.sge()}), 0);
  }
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_RDMA_WRITE, to, 77), {from.sge()}), 0);
  EXPECT_EQ(expect_success(pair_.cq_a(), IBV_WC_RDMA_WRITE).wr_id, 77u);
  EXPECT_TRUE(stays_empty(pair_.cq_a()));
}

TEST(TrafficAllSignaled, CompletesWithoutTheFlag) {
  Pair pair(/*all_signaled=*/true);
  Buffer from(pair.pd(), 8);
  Buffer to(pair.pd(), 8);
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, to, 5);
  wr.send_flags = 0;
  ASSERT_EQ(post_send(pair.a(), wr, {from.sge()}), 0);
  EXPECT_EQ(next_completion(pair.cq_a()).wr_id, 5u);
}

TEST_F(Traffic, PollsManyCompletionsAtOnceInOrder) {
  Buffer from(pair_.pd(), 8);
  Buffer to(pair_.pd(), 8);
  std::vector<ibv_wc> completions(40);
  int count = 0;
  for (std::uint64_t i = 0; i < 40; i += 10) {
    for (std::uint64_t j = 0; j < 10; ++j) {
      ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_RDMA_WRITE, to, i + j), {from.sge()}), 0);
    }
    ASSERT_EQ(next_completion(pair_.cq_a()).wr_id, i);
    int got = 0;
    for (int tries = 0; got < 9 && tries < 1000000; ++tries) {
      got += ibv_poll_cq(pair_.cq_a(), 40 - got, completions.data() + got);
    }
    ASSERT_EQ(got, 9);
    for (int j = 0; j < got; ++j) {
      EXPECT_EQ(completions[static_cast<std::size_t>(j)].wr_id, i + 1 + static_cast<std::uint64_t>(j));
    }
    count += got;
  }
  EXPECT_EQ(count, 36);
  EXPECT_EQ(ibv_poll_cq(pair_.cq_a(), 0, nullptr), 0);
}

TEST_F(Traffic, ListsAreExecutedUpToTheFirstBadRequest) {
  Buffer from(pair_.pd(), 8);
  Buffer to(pair_.pd(), 8);
  from.fill(9);
  ibv_sge element = from.sge();
  ibv_send_wr third = request(IBV_WR_RDMA_WRITE, to, 3);
  ibv_send_wr second = request(IBV_WR_TSO, 2);
  ibv_send_wr first = request(IBV_WR_RDMA_WRITE, to, 1);
  first.sg_list = third.sg_list = &element;
  first.num_sge = third.num_sge = 1;
  first.next = &second;
  second.next = &third;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(pair_.a(), &first, &bad), EOPNOTSUPP);
  EXPECT_EQ(bad, &second);
  EXPECT_EQ(expect_success(pair_.cq_a(), IBV_WC_RDMA_WRITE).wr_id, 1u);
  EXPECT_TRUE(stays_empty(pair_.cq_a()));
}

// --- What goes wrong ---

TEST_F(Traffic, AWrongRkeyIsARemoteAccessErrorAndFlushesTheRest) {
  Buffer from(pair_.pd(), 8);
  Buffer to(pair_.pd(), 8);
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, to, 1);
  wr.wr.rdma.rkey ^= 0x100;
  ASSERT_EQ(post_send(pair_.a(), wr, {from.sge()}), 0);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_REM_ACCESS_ERR);

  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_SEND, 2), {}), 0);
  const ibv_wc flushed = next_completion(pair_.cq_a());
  EXPECT_EQ(flushed.wr_id, 2u);
  EXPECT_EQ(flushed.status, IBV_WC_WR_FLUSH_ERR);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr created{};
  ASSERT_EQ(ibv_query_qp(pair_.a(), &attributes, IBV_QP_STATE, &created), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_ERR);
}

TEST_F(Traffic, ARegionOfAnotherDomainIsARemoteAccessError) {
  Buffer from(pair_.pd(), 8);
  const PdPtr other_pd(ibv_alloc_pd(pair_.context()));
  Buffer to(other_pd.get(), 8);
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_RDMA_WRITE, to), {from.sge()}), 0);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Traffic, AnUnknownLkeyIsALocalProtectionError) {
  Buffer from(pair_.pd(), 8);
  Buffer to(pair_.pd(), 8);
  ibv_sge element = from.sge();
  element.lkey ^= 0x100;
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_RDMA_WRITE, to), {element}), 0);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_LOC_PROT_ERR);
}

// Fact 33 and the decision below it.
TEST_F(Traffic, AMessageLongerThanTheReceiveBufferFailsOnBothSides) {
  Buffer from(pair_.pd(), 100);
  Buffer to(pair_.pd(), 50);
  ASSERT_EQ(post_receive(pair_.b(), 1, {to.sge()}), 0);
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_SEND), {from.sge()}), 0);
  EXPECT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_REM_INV_REQ_ERR);
}

TEST_F(Traffic, GoingToErrorFlushesWhatIsPosted) {
  ASSERT_EQ(post_receive(pair_.b(), 11, {}), 0);
  ASSERT_EQ(post_receive(pair_.b(), 12, {}), 0);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(ibv_modify_qp(pair_.b(), &attributes, IBV_QP_STATE), 0);
  for (const std::uint64_t wr_id : {11u, 12u}) {
    const ibv_wc completion = next_completion(pair_.cq_b());
    EXPECT_EQ(completion.wr_id, wr_id);
    EXPECT_EQ(completion.status, IBV_WC_WR_FLUSH_ERR);
  }
}

TEST_F(Traffic, ReachesAnotherContextOfTheSameProgram) {
  const ContextPtr other = open_device();
  const PdPtr pd(ibv_alloc_pd(other.get()));
  const CqPtr cq(ibv_create_cq(other.get(), 8, nullptr, nullptr, 0));
  ibv_qp_init_attr attributes = rc_attributes(cq.get());
  const QpPtr there(ibv_create_qp(pd.get(), &attributes));
  attributes = rc_attributes(pair_.cq_a());
  const QpPtr here(ibv_create_qp(pair_.pd(), &attributes));
  ASSERT_EQ(connect(here.get(), there->qp_num), 0);
  ASSERT_EQ(connect(there.get(), here->qp_num), 0);
  ASSERT_EQ(post_receive(there.get(), 4, {}), 0);
  ASSERT_EQ(post_send(here.get(), request(IBV_WR_SEND), {}), 0);
  EXPECT_EQ(next_completion(cq.get()).wr_id, 4u);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace urnic::test
