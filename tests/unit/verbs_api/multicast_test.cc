// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Multicast groups.
#include <arpa/inet.h>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

constexpr std::uint32_t kGroupsQkey = 0x01234567;
constexpr std::uint32_t kGroupQp = 0xffffff;

class Multicast : public testing::Test {
 protected:
  Multicast() { inet_pton(AF_INET6, "::ffff:239.1.1.1", group_.raw); }

  QpPtr create(ibv_cq* cq) {
    ibv_qp_init_attr attributes = qp_attributes(IBV_QPT_UD, cq);
    QpPtr qp(ibv_create_qp(pd_.get(), &attributes));
    EXPECT_EQ(start_datagrams(qp.get(), kGroupsQkey), 0);
    return qp;
  }
  /// One that does not hear what it sends.
  ibv_qp* create_deaf(ibv_qp_type type = IBV_QPT_UD) {
    const ibv_qp_init_attr basics = qp_attributes(type, cq_member_.get());
    ibv_qp_init_attr_ex attributes{};
    attributes.send_cq = basics.send_cq;
    attributes.recv_cq = basics.recv_cq;
    attributes.cap = basics.cap;
    attributes.qp_type = type;
    attributes.sq_sig_all = basics.sq_sig_all;
    attributes.pd = pd_.get();
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
    attributes.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
    return ibv_create_qp_ex(context_.get(), &attributes);
  }
  int send_to_group(ibv_qp* sender, ibv_ah* ah) {
    ibv_send_wr wr = request(IBV_WR_SEND);
    wr.wr.ud.ah = ah;
    wr.wr.ud.remote_qpn = kGroupQp;
    wr.wr.ud.remote_qkey = kGroupsQkey;
    return post_send(sender, wr, {});
  }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
  const CqPtr cq_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  const CqPtr cq_member_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  ibv_gid group_{};
};

TEST_F(Multicast, ReachesEveryMember) {
  const QpPtr sender = create(cq_.get());
  const QpPtr first = create(cq_member_.get());
  const QpPtr second = create(cq_member_.get());
  Buffer to(pd_.get(), 128);
  for (const QpPtr* member : {&first, &second}) {
    ASSERT_EQ(ibv_attach_mcast(member->get(), &group_, 0), 0);
    ASSERT_EQ(post_receive(member->get(), 1, {to.sge(0, 64)}), 0);
  }
  ibv_ah_attr address = own_address(context_.get());
  address.grh.dgid = group_;
  const AhPtr ah(ibv_create_ah(pd_.get(), &address));
  ASSERT_NE(ah, nullptr);
  ASSERT_EQ(send_to_group(sender.get(), ah.get()), 0);
  EXPECT_EQ(next_completion(cq_member_.get()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(next_completion(cq_member_.get()).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(stays_empty(cq_member_.get()));
  EXPECT_EQ(ibv_detach_mcast(first.get(), &group_, 0), 0);
  EXPECT_EQ(ibv_detach_mcast(second.get(), &group_, 0), 0);
}

TEST_F(Multicast, DoesNotReachASenderThatBlocksIt) {
  const QpPtr other = create(cq_.get());
  const QpPtr deaf(create_deaf());
  ASSERT_NE(deaf, nullptr);
  ASSERT_EQ(start_datagrams(deaf.get(), kGroupsQkey), 0);
  Buffer to(pd_.get(), 128);
  ibv_ah_attr address = own_address(context_.get());
  address.grh.dgid = group_;
  const AhPtr ah(ibv_create_ah(pd_.get(), &address));
  for (ibv_qp* const member : {other.get(), deaf.get()}) {
    ASSERT_EQ(ibv_attach_mcast(member, &group_, 0), 0);
    ASSERT_EQ(post_receive(member, 1, {to.sge(0, 64)}), 0);
  }
  ASSERT_EQ(send_to_group(deaf.get(), ah.get()), 0);
  EXPECT_EQ(next_completion(cq_.get()).opcode, IBV_WC_RECV) << "others hear it";
  EXPECT_EQ(next_completion(cq_member_.get()).opcode, IBV_WC_SEND);
  EXPECT_TRUE(stays_empty(cq_member_.get()));
  // It hears the others.
  ASSERT_EQ(send_to_group(other.get(), ah.get()), 0);
  EXPECT_EQ(next_completion(cq_member_.get()).opcode, IBV_WC_RECV);
  for (ibv_qp* const member : {other.get(), deaf.get()}) EXPECT_EQ(ibv_detach_mcast(member, &group_, 0), 0);
}

TEST_F(Multicast, OnlyDatagramsCanBlockTheirOwn) {
  errno = 0;
  EXPECT_EQ(create_deaf(IBV_QPT_RC), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Multicast, KeepsItsMembersFromBeingDestroyed) {
  const QpPtr member = create(cq_.get());
  ASSERT_EQ(ibv_attach_mcast(member.get(), &group_, 0), 0);
  EXPECT_EQ(ibv_destroy_qp(member.get()), EBUSY);
  EXPECT_EQ(ibv_detach_mcast(member.get(), &group_, 0), 0);
  EXPECT_EQ(ibv_detach_mcast(member.get(), &group_, 0), EINVAL);
}

TEST_F(Multicast, IsForDatagramsAndGroupAddresses) {
  ibv_qp_init_attr attributes = rc_attributes(cq_.get());
  const QpPtr connection(ibv_create_qp(pd_.get(), &attributes));
  EXPECT_EQ(ibv_attach_mcast(connection.get(), &group_, 0), EINVAL);
  const QpPtr member = create(cq_.get());
  const ibv_gid nobody{};
  EXPECT_EQ(ibv_attach_mcast(member.get(), &nobody, 0), EINVAL);
}

}  // namespace
}  // namespace urnic::test
