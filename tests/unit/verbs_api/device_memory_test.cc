// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Memory of the NIC: allocation, copies, regions over it.
#include <cerrno>
#include <limits>
#include <memory>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

using DmPtr = std::unique_ptr<ibv_dm, Destroy<ibv_free_dm>>;

constexpr unsigned int kZeroBased = IBV_ACCESS_ZERO_BASED | kAllAccess;

class DeviceMemory : public testing::Test {
 protected:
  DmPtr allocate(std::size_t length, std::uint32_t log_alignment = 0, std::uint32_t mask = 0) {
    ibv_alloc_dm_attr attr{.length = length, .log_align_req = log_alignment, .comp_mask = mask};
    errno = 0;
    return DmPtr(ibv_alloc_dm(pair_.context(), &attr));
  }
  std::size_t capacity() {
    ibv_device_attr_ex attributes{};
    EXPECT_EQ(ibv_query_device_ex(pair_.context(), nullptr, &attributes), 0);
    return attributes.max_dm_size;
  }

  Pair pair_;
};

TEST_F(DeviceMemory, KeepsWhatIsCopiedToIt) {
  const DmPtr dm = allocate(64);
  ASSERT_NE(dm, nullptr);
  const std::uint32_t number = 0x12345678;
  std::uint32_t read = 0;
  EXPECT_EQ(ibv_memcpy_to_dm(dm.get(), 60, &number, sizeof(number)), 0);
  EXPECT_EQ(ibv_memcpy_from_dm(&read, dm.get(), 60, sizeof(read)), 0);
  EXPECT_EQ(read, number);
}

TEST_F(DeviceMemory, RefusesCopiesThatAreNotInsideOrNotAligned) {
  const DmPtr dm = allocate(64);
  std::uint8_t bytes[128] = {};
  EXPECT_EQ(ibv_memcpy_to_dm(dm.get(), 64, bytes, 4), EFAULT);
  EXPECT_EQ(ibv_memcpy_from_dm(bytes, dm.get(), 0, 68), EFAULT);
  EXPECT_EQ(ibv_memcpy_from_dm(bytes, dm.get(), ~std::uint64_t{3}, 8), EFAULT);
  EXPECT_EQ(ibv_memcpy_to_dm(dm.get(), 2, bytes, 4), EINVAL);
  EXPECT_EQ(ibv_memcpy_to_dm(dm.get(), 0, bytes, 3), EINVAL);
  EXPECT_EQ(ibv_memcpy_to_dm(dm.get(), 64, bytes, 0), 0);
}

TEST_F(DeviceMemory, RefusesWhatIsNotThere) {
  EXPECT_EQ(allocate(0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(allocate(capacity() + 1), nullptr);
  EXPECT_EQ(allocate(64, 40), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(allocate(64, 0, 1), nullptr);
  EXPECT_EQ(errno, EINVAL);
  const DmPtr all = allocate(capacity());
  EXPECT_NE(all, nullptr);
  EXPECT_EQ(allocate(4), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(DeviceMemory, IsReachedByPeersThroughARegionThatBeginsAtZero) {
  const DmPtr dm = allocate(64);
  const MrPtr mr(ibv_reg_dm_mr(pair_.pd(), dm.get(), 16, 32, kZeroBased));
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_free_dm(dm.get()), EBUSY);
  Buffer from(pair_.pd(), 8);
  from.fill(5);
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE);
  wr.wr.rdma.remote_addr = 8;
  wr.wr.rdma.rkey = mr->rkey;
  ASSERT_EQ(post_send(pair_.a(), wr, {from.sge()}), 0);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_SUCCESS);
  std::uint8_t read[8] = {};
  EXPECT_EQ(ibv_memcpy_from_dm(read, dm.get(), 16 + 8, sizeof(read)), 0);
  EXPECT_EQ(std::vector<std::uint8_t>(read, read + 8), from.bytes());
}

TEST_F(DeviceMemory, TakesAtomicsAndIsSentFrom) {
  const DmPtr dm = allocate(64, 3);
  const MrPtr mr(ibv_reg_dm_mr(pair_.pd(), dm.get(), 0, 64, kZeroBased));
  ASSERT_NE(mr, nullptr);
  Buffer original(pair_.pd(), 8);
  ibv_send_wr wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD);
  wr.wr.atomic = {.remote_addr = 8, .compare_add = 7, .swap = 0, .rkey = mr->rkey};
  ASSERT_EQ(post_send(pair_.a(), wr, {original.sge()}), 0);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_SUCCESS);
  Buffer to(pair_.pd(), 8);
  ASSERT_EQ(
      post_send(pair_.a(), request(IBV_WR_RDMA_WRITE, to), {{.addr = 8, .length = 8, .lkey = mr->lkey}}), 0);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(to.data()[0], 7);
}

TEST_F(DeviceMemory, HasNoOtherRegions) {
  const DmPtr dm = allocate(64);
  const auto refused = [&](std::uint64_t offset, std::size_t length, unsigned int access) {
    errno = 0;
    return ibv_reg_dm_mr(pair_.pd(), dm.get(), offset, length, access) == nullptr ? errno : 0;
  };
  EXPECT_EQ(refused(0, 64, kAllAccess), EINVAL);
  EXPECT_EQ(refused(0, 68, kZeroBased), EINVAL);
  EXPECT_EQ(refused(64, 4, kZeroBased), EINVAL);
  EXPECT_EQ(refused(~std::uint64_t{3}, 8, kZeroBased), EINVAL);
  EXPECT_EQ(refused(0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_WRITE), EINVAL);
  EXPECT_EQ(refused(0, 64, kZeroBased | IBV_ACCESS_ON_DEMAND), EINVAL);
  EXPECT_EQ(refused(0, 64, kZeroBased | (1u << 12)), EINVAL);
  constexpr std::uint32_t kPage = 12;
  const DmPtr of_pages = allocate(64, kPage);
  const MrPtr mr(ibv_reg_dm_mr(pair_.pd(), of_pages.get(), 0, 0, kZeroBased));
  EXPECT_NE(mr, nullptr) << "of no bytes, though the memory begins with a page";
  EXPECT_EQ(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 0),
            IBV_REREG_MR_ERR_INPUT);
}

}  // namespace
}  // namespace urnic::test
