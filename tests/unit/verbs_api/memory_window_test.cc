// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Memory windows of both types, and regions that are addressed from zero.
#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

constexpr unsigned int kReadWrite = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

class MemoryWindow : public testing::Test {
 protected:
  MwPtr allocate(ibv_mw_type type) {
    MwPtr mw(ibv_alloc_mw(pair_.pd(), type));
    EXPECT_NE(mw, nullptr);
    return mw;
  }

  ibv_mw_bind_info all_of_region(unsigned int access = kReadWrite) {
    return {.mr = region_.mr(), .addr = region_.address(), .length = 64, .mw_access_flags = access};
  }

  /// By ibv_bind_mw(), on the queue pair whose peer shall use it.
  int bind(ibv_mw* mw, const ibv_mw_bind_info& info) {
    ibv_mw_bind mw_bind{.wr_id = 3, .send_flags = IBV_SEND_SIGNALED, .bind_info = info};
    return ibv_bind_mw(pair_.b(), mw, &mw_bind);
  }

  int post_bind(ibv_mw* mw, std::uint32_t new_rkey) { return post_bind(mw, new_rkey, all_of_region()); }

  int post_bind(ibv_mw* mw, std::uint32_t new_rkey, const ibv_mw_bind_info& info) {
    ibv_send_wr wr = request(IBV_WR_BIND_MW, 3);
    wr.bind_mw.mw = mw;
    wr.bind_mw.rkey = new_rkey;
    wr.bind_mw.bind_info = info;
    return post_send(pair_.b(), wr, {});
  }

  ibv_wc_status write_to(std::uint32_t rkey, std::uint64_t address) {
    ibv_send_wr wr = request(IBV_WR_RDMA_WRITE);
    wr.wr.rdma.remote_addr = address;
    wr.wr.rdma.rkey = rkey;
    EXPECT_EQ(post_send(pair_.a(), wr, {from_.sge()}), 0);
    return next_completion(pair_.cq_a()).status;
  }

  Pair pair_;
  Buffer from_{pair_.pd(), 8};
  Buffer region_{pair_.pd(), 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND};
};

TEST_F(MemoryWindow, OfType1OpensARegionUnderANewKey) {
  const MwPtr mw = allocate(IBV_MW_TYPE_1);
  const std::uint32_t first_key = mw->rkey;
  from_.fill(1);
  ASSERT_EQ(bind(mw.get(), all_of_region()), 0);
  EXPECT_NE(mw->rkey, first_key);
  const ibv_wc bound = next_completion(pair_.cq_b());
  EXPECT_EQ(bound.status, IBV_WC_SUCCESS);
  EXPECT_EQ(bound.opcode, IBV_WC_BIND_MW);
  EXPECT_EQ(bound.wr_id, 3u);
  EXPECT_EQ(write_to(mw->rkey, region_.address()), IBV_WC_SUCCESS);
  EXPECT_EQ(region_.data()[1], from_.data()[1]);
  // Bound again, the key before is worth nothing.
  const std::uint32_t second_key = mw->rkey;
  ASSERT_EQ(bind(mw.get(), all_of_region()), 0);
  EXPECT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(write_to(second_key, region_.address()), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(MemoryWindow, OfType1IsUnboundByABindOfNothing) {
  const MwPtr mw = allocate(IBV_MW_TYPE_1);
  ASSERT_EQ(bind(mw.get(), all_of_region()), 0);
  EXPECT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_dereg_mr(region_.mr()), EBUSY);
  ASSERT_EQ(bind(mw.get(), {}), 0);
  EXPECT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(write_to(mw->rkey, region_.address()), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(MemoryWindow, OfType2IsTakenBackByItsOwner) {
  const MwPtr mw = allocate(IBV_MW_TYPE_2);
  const std::uint32_t key = ibv_inc_rkey(mw->rkey);
  ASSERT_EQ(post_bind(mw.get(), key), 0);
  EXPECT_EQ(next_completion(pair_.cq_b()).opcode, IBV_WC_BIND_MW);
  EXPECT_EQ(write_to(key, region_.address()), IBV_WC_SUCCESS);
  ibv_send_wr wr = request(IBV_WR_LOCAL_INV);
  wr.invalidate_rkey = key;
  ASSERT_EQ(post_send(pair_.b(), wr, {}), 0);
  const ibv_wc completion = next_completion(pair_.cq_b());
  EXPECT_EQ(completion.status, IBV_WC_SUCCESS);
  EXPECT_EQ(completion.opcode, IBV_WC_LOCAL_INV);
  EXPECT_EQ(write_to(key, region_.address()), IBV_WC_REM_ACCESS_ERR);
}

// rdma_rxe, mlx5 and irdma choose the upper 24 bits themselves.
TEST_F(MemoryWindow, OfType2TakesTheLowEightBitsOfTheKeyThatIsAskedFor) {
  const MwPtr mw = allocate(IBV_MW_TYPE_2);
  const std::uint32_t slot = mw->rkey & ~0xffu;
  ASSERT_EQ(post_bind(mw.get(), 0x0004'00ba), 0);
  EXPECT_EQ(mw->rkey, slot | 0xba) << "the key is the window's from then on";
  EXPECT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(write_to(mw->rkey, region_.address()), IBV_WC_SUCCESS);
}

TEST_F(MemoryWindow, OfType2KeepsItsKeyWhenTheBindIsNotPosted) {
  const MwPtr mw = allocate(IBV_MW_TYPE_2);
  const std::uint32_t key = mw->rkey;
  ibv_send_wr wr = request(IBV_WR_BIND_MW, 3);
  wr.bind_mw = {.mw = mw.get(), .rkey = ibv_inc_rkey(key), .bind_info = all_of_region()};
  wr.send_flags |= IBV_SEND_INLINE;
  EXPECT_EQ(post_send(pair_.b(), wr, {}), EINVAL);
  EXPECT_EQ(mw->rkey, key);
}

// Programs keep the key in a variable of their own, or write it into the window: libibverbs asks for neither.
TEST_F(MemoryWindow, OfType2MayBeBoundAgainWhateverItsFieldSays) {
  const MwPtr mw = allocate(IBV_MW_TYPE_2);
  std::uint32_t key = mw->rkey;
  for (int i = 0; i < 3; ++i) {
    key = ibv_inc_rkey(key);
    ASSERT_EQ(post_bind(mw.get(), key), 0);
    mw->rkey = 0x1234;
    ASSERT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_SUCCESS);
    ASSERT_EQ(write_to(key, region_.address()), IBV_WC_SUCCESS);
    ibv_send_wr wr = request(IBV_WR_LOCAL_INV);
    wr.invalidate_rkey = key;
    ASSERT_EQ(post_send(pair_.b(), wr, {}), 0);
    ASSERT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_SUCCESS);
  }
}

TEST_F(MemoryWindow, OfType2IsTakenBackByThePeersSend) {
  const MwPtr mw = allocate(IBV_MW_TYPE_2);
  const std::uint32_t key = ibv_inc_rkey(mw->rkey);
  ASSERT_EQ(post_bind(mw.get(), key), 0);
  EXPECT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_SUCCESS);
  ASSERT_EQ(post_receive(pair_.b(), 8, {}), 0);
  ibv_send_wr wr = request(IBV_WR_SEND_WITH_INV);
  wr.invalidate_rkey = key;
  ASSERT_EQ(post_send(pair_.a(), wr, {}), 0);
  const ibv_wc received = next_completion(pair_.cq_b());
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.wc_flags, static_cast<unsigned int>(IBV_WC_WITH_INV));
  EXPECT_EQ(received.invalidated_rkey, key);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(write_to(key, region_.address()), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(MemoryWindow, IsBoundTheWayItsTypeAsks) {
  const MwPtr first = allocate(IBV_MW_TYPE_1);
  const MwPtr second = allocate(IBV_MW_TYPE_2);
  EXPECT_EQ(post_bind(first.get(), ibv_inc_rkey(first->rkey)), EINVAL);
  EXPECT_EQ(post_bind(nullptr, 1), EINVAL);
  EXPECT_EQ(bind(second.get(), all_of_region()), EINVAL);
}

TEST_F(MemoryWindow, HasRemoteRightsOnly) {
  const MwPtr mw = allocate(IBV_MW_TYPE_1);
  EXPECT_EQ(bind(mw.get(), all_of_region(IBV_ACCESS_MW_BIND)), EINVAL);
  EXPECT_EQ(bind(mw.get(), all_of_region(IBV_ACCESS_ON_DEMAND)), EINVAL);
  EXPECT_EQ(bind(mw.get(), all_of_region(IBV_ACCESS_LOCAL_WRITE)),
            0);  // programs do it, and mean nothing by it
}

TEST_F(MemoryWindow, NeedsARegionThatAllowsIt) {
  Buffer closed(pair_.pd(), 64);
  const MwPtr mw = allocate(IBV_MW_TYPE_1);
  ASSERT_EQ(bind(mw.get(),
                 {.mr = closed.mr(), .addr = closed.address(), .length = 64, .mw_access_flags = kReadWrite}),
            0);
  EXPECT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_MW_BIND_ERR);
}

TEST_F(MemoryWindow, BelongsToItsProtectionDomain) {
  const PdPtr other_pd(ibv_alloc_pd(pair_.context()));
  const MwPtr mw(ibv_alloc_mw(other_pd.get(), IBV_MW_TYPE_1));
  EXPECT_EQ(bind(mw.get(), all_of_region()), EPERM) << "the header compares region and window";
  EXPECT_EQ(bind(mw.get(), {}), 0);
  EXPECT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_MW_BIND_ERR);
  EXPECT_EQ(ibv_dealloc_pd(other_pd.get()), EBUSY);
}

TEST_F(MemoryWindow, WithARegionOfAnotherDomainThanTheQueuePairsIsNotBound) {
  const PdPtr other_pd(ibv_alloc_pd(pair_.context()));
  Buffer elsewhere(other_pd.get(), 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  const MwPtr mw(ibv_alloc_mw(other_pd.get(), IBV_MW_TYPE_1));
  ASSERT_EQ(
      bind(mw.get(),
           {.mr = elsewhere.mr(), .addr = elsewhere.address(), .length = 64, .mw_access_flags = kReadWrite}),
      0);
  EXPECT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_MW_BIND_ERR);
}

TEST_F(MemoryWindow, IsOfAKnownType) {
  errno = 0;
  EXPECT_EQ(ibv_alloc_mw(pair_.pd(), static_cast<ibv_mw_type>(9)), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(MemoryWindow, OfType2MayCountFromZero) {
  const MwPtr mw = allocate(IBV_MW_TYPE_2);
  from_.fill(2);
  ibv_mw_bind_info info = all_of_region(kReadWrite | IBV_ACCESS_ZERO_BASED);
  info.addr += 16;
  info.length = 16;
  ASSERT_EQ(post_bind(mw.get(), ibv_inc_rkey(mw->rkey), info), 0);
  EXPECT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(write_to(mw->rkey, 8), IBV_WC_SUCCESS);
  EXPECT_EQ(region_.data()[24], from_.data()[0]);
}

TEST_F(MemoryWindow, OfType1DoesNotCountFromZero) {
  const MwPtr mw = allocate(IBV_MW_TYPE_1);
  const std::uint32_t key = mw->rkey;
  EXPECT_EQ(bind(mw.get(), all_of_region(kReadWrite | IBV_ACCESS_ZERO_BASED)), EINVAL);
  EXPECT_EQ(mw->rkey, key);
  EXPECT_TRUE(stays_empty(pair_.cq_b()));
}

TEST_F(MemoryWindow, IsNotBoundToARegionThatCountsFromZero) {
  Buffer zero_based(pair_.pd(), 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED);
  const ibv_mw_bind_info info{.mr = zero_based.mr(), .addr = 0, .length = 64, .mw_access_flags = kReadWrite};
  const MwPtr first = allocate(IBV_MW_TYPE_1);
  const MwPtr second = allocate(IBV_MW_TYPE_2);
  EXPECT_EQ(bind(first.get(), info), EINVAL);
  EXPECT_EQ(post_bind(second.get(), ibv_inc_rkey(second->rkey), info), EINVAL);
  EXPECT_TRUE(stays_empty(pair_.cq_b()));
}

TEST_F(MemoryWindow, ARegionThatCountsFromZeroTakesOffsetsAsAddresses) {
  Buffer zero_based(pair_.pd(), 64, kAllAccess | IBV_ACCESS_ZERO_BASED);
  from_.fill(3);
  EXPECT_EQ(write_to(zero_based.rkey(), 56), IBV_WC_SUCCESS);
  EXPECT_EQ(zero_based.data()[56], from_.data()[0]);
}

}  // namespace
}  // namespace urnic::test
