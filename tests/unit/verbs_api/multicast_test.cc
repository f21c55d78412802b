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
  ibv_send_wr wr = request(IBV_WR_SEND);
  wr.wr.ud.ah = ah.get();
  wr.wr.ud.remote_qpn = kGroupQp;
  wr.wr.ud.remote_qkey = kGroupsQkey;
  ASSERT_EQ(post_send(sender.get(), wr, {}), 0);
  EXPECT_EQ(next_completion(cq_member_.get()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(next_completion(cq_member_.get()).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(stays_empty(cq_member_.get()));
  EXPECT_EQ(ibv_detach_mcast(first.get(), &group_, 0), 0);
  EXPECT_EQ(ibv_detach_mcast(second.get(), &group_, 0), 0);
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
