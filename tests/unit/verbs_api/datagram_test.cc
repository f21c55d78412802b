// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Unreliable datagrams (UD) between queue pairs of the same device.
#include <endian.h>

#include <cstring>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

constexpr std::uint32_t kQkey = 0x11111111;
constexpr std::size_t kGrhArea = sizeof(ibv_grh);

class Datagram : public testing::Test {
 protected:
  Datagram() {
    ibv_qp_init_attr attributes = qp_attributes(IBV_QPT_UD, cq_a_.get());
    a_.reset(ibv_create_qp(pd_.get(), &attributes));
    attributes = qp_attributes(IBV_QPT_UD, cq_b_.get());
    b_.reset(ibv_create_qp(pd_.get(), &attributes));
    EXPECT_EQ(start_datagrams(a_.get(), kQkey), 0);
    EXPECT_EQ(start_datagrams(b_.get(), kQkey), 0);
    ibv_ah_attr address = own_address(context_.get());
    ah_.reset(ibv_create_ah(pd_.get(), &address));
    EXPECT_NE(ah_, nullptr);
  }

  ibv_send_wr to_b(ibv_wr_opcode opcode = IBV_WR_SEND) const {
    ibv_send_wr wr = request(opcode);
    wr.wr.ud.ah = ah_.get();
    wr.wr.ud.remote_qpn = b_->qp_num;
    wr.wr.ud.remote_qkey = kQkey;
    return wr;
  }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
  const CqPtr cq_a_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  const CqPtr cq_b_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  QpPtr a_;
  QpPtr b_;
  AhPtr ah_;
};

TEST_F(Datagram, ArrivesBehindItsHeaderArea) {
  Buffer from(pd_.get(), 100);
  Buffer to(pd_.get(), 200);
  from.fill(1);
  ASSERT_EQ(post_receive(b_.get(), 7, {to.sge()}), 0);
  ibv_send_wr wr = to_b(IBV_WR_SEND_WITH_IMM);
  wr.imm_data = htobe32(9);
  ASSERT_EQ(post_send(a_.get(), wr, {from.sge()}), 0);
  const ibv_wc received = next_completion(cq_b_.get());
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.opcode, IBV_WC_RECV);
  EXPECT_EQ(received.byte_len, kGrhArea + 100);
  EXPECT_EQ(received.wc_flags, static_cast<unsigned int>(IBV_WC_GRH | IBV_WC_WITH_IMM));
  EXPECT_EQ(be32toh(received.imm_data), 9u);
  EXPECT_EQ(received.src_qp, a_->qp_num);
  EXPECT_EQ(received.slid, 0);
  EXPECT_EQ(received.sl, 2);  // IPv4, as UCX expects it
  EXPECT_EQ(to.data()[20], 0x45);
  EXPECT_EQ(std::memcmp(to.data() + kGrhArea, from.data(), 100), 0);
  EXPECT_EQ(next_completion(cq_a_.get()).opcode, IBV_WC_SEND);
}

TEST_F(Datagram, OverIpv6SaysSo) {
  ibv_ah_attr address = own_address(context_.get(), kLinkLocalGid);
  const AhPtr ah(ibv_create_ah(pd_.get(), &address));
  Buffer to(pd_.get(), 200);
  ASSERT_EQ(post_receive(b_.get(), 7, {to.sge()}), 0);
  ibv_send_wr wr = to_b();
  wr.wr.ud.ah = ah.get();
  ASSERT_EQ(post_send(a_.get(), wr, {}), 0);
  EXPECT_EQ(next_completion(cq_b_.get()).sl, 1);
  EXPECT_EQ(to.data()[0] >> 4, 6);
}

TEST_F(Datagram, CanBeAnsweredFromWhatArrived) {
  Buffer to(pd_.get(), 64);
  Buffer back(pd_.get(), 64);
  ASSERT_EQ(post_receive(b_.get(), 1, {to.sge()}), 0);
  ASSERT_EQ(post_receive(a_.get(), 2, {back.sge()}), 0);
  ASSERT_EQ(post_send(a_.get(), to_b(), {}), 0);
  ibv_wc received = next_completion(cq_b_.get());
  const AhPtr answer(ibv_create_ah_from_wc(pd_.get(), &received, reinterpret_cast<ibv_grh*>(to.data()), 1));
  ASSERT_NE(answer, nullptr);
  ibv_send_wr wr = to_b();
  wr.wr.ud.ah = answer.get();
  wr.wr.ud.remote_qpn = received.src_qp;
  ASSERT_EQ(post_send(b_.get(), wr, {}), 0);
  EXPECT_EQ(next_completion(cq_a_.get()).opcode, IBV_WC_SEND);
  EXPECT_EQ(next_completion(cq_a_.get()).wr_id, 2u);
}

TEST_F(Datagram, WithAnotherQkeyIsDropped) {
  Buffer to(pd_.get(), 64);
  ASSERT_EQ(post_receive(b_.get(), 1, {to.sge()}), 0);
  ibv_send_wr wr = to_b();
  wr.wr.ud.remote_qkey = kQkey + 1;
  ASSERT_EQ(post_send(a_.get(), wr, {}), 0);
  EXPECT_EQ(next_completion(cq_a_.get()).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(stays_empty(cq_b_.get()));
}

TEST_F(Datagram, NeedsAnAddressHandleOfItsOwnDomain) {
  ibv_send_wr wr = to_b();
  wr.wr.ud.ah = nullptr;
  EXPECT_EQ(post_send(a_.get(), wr, {}), EINVAL);
  wr = to_b();
  wr.wr.ud.remote_qpn = 1u << 24;
  EXPECT_EQ(post_send(a_.get(), wr, {}), EINVAL);
  const PdPtr other_pd(ibv_alloc_pd(context_.get()));
  ibv_ah_attr address = own_address(context_.get());
  const AhPtr other(ibv_create_ah(other_pd.get(), &address));
  wr = to_b();
  wr.wr.ud.ah = other.get();
  ASSERT_EQ(post_send(a_.get(), wr, {}), 0);
  EXPECT_EQ(next_completion(cq_a_.get()).status, IBV_WC_LOC_QP_OP_ERR);
  EXPECT_TRUE(stays_empty(cq_b_.get()));
}

TEST_F(Datagram, IsAllThatItsQueuePairSends) {
  Buffer buffer(pd_.get(), 8);
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
                                     IBV_WR_SEND_WITH_INV, IBV_WR_LOCAL_INV}) {
    ASSERT_EQ(post_send(a_.get(), to_b(opcode), {buffer.sge()}), 0) << opcode;
    EXPECT_EQ(next_completion(cq_a_.get()).status, IBV_WC_LOC_QP_OP_ERR) << opcode;
    ibv_qp_attr on{};
    on.qp_state = IBV_QPS_RTS;
    ASSERT_EQ(ibv_modify_qp(a_.get(), &on, IBV_QP_STATE), 0) << "only its send queue ended";
  }
}

TEST_F(Datagram, MayBeInline) {
  Buffer to(pd_.get(), 64);
  ASSERT_EQ(post_receive(b_.get(), 1, {to.sge()}), 0);
  std::vector<std::uint8_t> data(8, 0x5a);
  ibv_send_wr wr = to_b();
  wr.send_flags |= IBV_SEND_INLINE;
  ASSERT_EQ(post_send(a_.get(), wr,
                      {{.addr = reinterpret_cast<std::uintptr_t>(data.data()), .length = 8, .lkey = 0}}),
            0);
  EXPECT_EQ(next_completion(cq_b_.get()).byte_len, kGrhArea + 8);
  EXPECT_EQ(to.data()[kGrhArea], 0x5a);
}

TEST_F(Datagram, QueuePairTellsItsQkey) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr created{};
  ASSERT_EQ(ibv_query_qp(a_.get(), &attributes, IBV_QP_QKEY, &created), 0);
  EXPECT_EQ(attributes.qkey, kQkey);
  EXPECT_EQ(created.qp_type, IBV_QPT_UD);
}

TEST_F(Datagram, QueuePairNeedsAQkeyAndNoAccessFlags) {
  ibv_qp_init_attr attributes = qp_attributes(IBV_QPT_UD, cq_a_.get());
  const QpPtr qp(ibv_create_qp(pd_.get(), &attributes));
  EXPECT_EQ(to_init(qp.get()), EINVAL);
}

TEST_F(Datagram, AddressHandleKeepsItsDomainBusyUntilItIsDestroyed) {
  const PdPtr pd(ibv_alloc_pd(context_.get()));
  ibv_ah_attr address = own_address(context_.get());
  AhPtr ah(ibv_create_ah(pd.get(), &address));
  EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
  ah.reset();
}

}  // namespace
}  // namespace urnic::test
