// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What may be destroyed when. A busy object refuses and stays as it is: some programs destroy in the wrong
// order on every run, and go on to use what they tried to destroy.
#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

TEST(DestroyCq, IsBusyWhileAQueuePairUsesIt) {
  const ContextPtr context = open_device();
  const PdPtr pd(ibv_alloc_pd(context.get()));
  const CqPtr cq(ibv_create_cq(context.get(), 8, nullptr, nullptr, 0));
  ibv_qp_init_attr attributes = rc_attributes(cq.get());
  const QpPtr qp(ibv_create_qp(pd.get(), &attributes));
  EXPECT_EQ(ibv_destroy_cq(cq.get()), EBUSY);
  ibv_wc completion{};
  EXPECT_EQ(ibv_poll_cq(cq.get(), 1, &completion), 0);
}

TEST(DeallocPd, IsBusyWhileItHasARegion) {
  const ContextPtr context = open_device();
  const PdPtr pd(ibv_alloc_pd(context.get()));
  const Buffer buffer(pd.get(), 64);
  EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
}

TEST(DeallocPd, IsBusyWhileItHasAQueuePair) {
  const ContextPtr context = open_device();
  const PdPtr pd(ibv_alloc_pd(context.get()));
  const CqPtr cq(ibv_create_cq(context.get(), 8, nullptr, nullptr, 0));
  ibv_qp_init_attr attributes = rc_attributes(cq.get());
  const QpPtr qp(ibv_create_qp(pd.get(), &attributes));
  EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
}

TEST(DeallocPd, IsBusyWhileItHasAnAddressHandle) {
  const ContextPtr context = open_device();
  const PdPtr pd(ibv_alloc_pd(context.get()));
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = 1;
  attributes.grh.sgid_index = kIpv4Gid;
  ASSERT_EQ(ibv_query_gid(context.get(), 1, kIpv4Gid, &attributes.grh.dgid), 0);
  const AhPtr ah(ibv_create_ah(pd.get(), &attributes));
  ASSERT_NE(ah, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
}

TEST(DestroyCompChannel, IsBusyWhileACompletionQueueIsOnIt) {
  const ContextPtr context = open_device();
  const ChannelPtr channel(ibv_create_comp_channel(context.get()));
  const CqPtr cq(ibv_create_cq(context.get(), 8, nullptr, channel.get(), 0));
  EXPECT_EQ(channel->refcnt, 1);
  EXPECT_EQ(ibv_destroy_comp_channel(channel.get()), EBUSY);
}

TEST(CloseDevice, EndsWhatTheProgramForgot) {
  ibv_context* const context = open_device().release();
  ibv_pd* const pd = ibv_alloc_pd(context);
  std::vector<std::uint8_t> memory(64);
  ibv_mr* const mr = ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
  ibv_cq* const cq = ibv_create_cq(context, 8, nullptr, nullptr, 0);
  ibv_qp_init_attr attributes = rc_attributes(cq);
  ibv_qp* const qp = ibv_create_qp(pd, &attributes);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(ibv_close_device(context), 0);

  // The kernel, too, has destroyed them by then, and says so; nothing crashes.
  ibv_wc completion{};
  EXPECT_LT(ibv_poll_cq(cq, 1, &completion), 0);
  EXPECT_EQ(post_receive(qp, 1, {}), EIO);
  EXPECT_EQ(ibv_dereg_mr(mr), EIO);
  EXPECT_EQ(ibv_destroy_qp(qp), EIO);
}

// Closing one context must not take away what objects of another one use.
TEST(Contexts, DoNotMix) {
  const ContextPtr first = open_device();
  const ContextPtr second = open_device();
  const PdPtr pd(ibv_alloc_pd(first.get()));
  const CqPtr cq(ibv_create_cq(second.get(), 8, nullptr, nullptr, 0));
  ibv_qp_init_attr attributes = rc_attributes(cq.get());
  errno = 0;
  EXPECT_EQ(ibv_create_qp(pd.get(), &attributes), nullptr);
  EXPECT_EQ(errno, EINVAL);
  const ChannelPtr channel(ibv_create_comp_channel(first.get()));
  errno = 0;
  EXPECT_EQ(ibv_create_cq(second.get(), 8, nullptr, channel.get(), 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST(CloseDevice, LeavesOtherContextsAlone) {
  const ContextPtr kept = open_device();
  const PdPtr pd(ibv_alloc_pd(kept.get()));
  open_device().reset();
  const CqPtr cq(ibv_create_cq(kept.get(), 8, nullptr, nullptr, 0));
  EXPECT_NE(cq, nullptr);
}

}  // namespace
}  // namespace urnic::test
