// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Regions that are registered again: rights, domain, memory.
#include <cerrno>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

constexpr int kWritable = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

class Reregistration : public testing::Test {
 protected:
  int register_again(int changes, ibv_pd* pd = nullptr, void* memory = nullptr, std::size_t length = 0,
                     int access = 0) {
    errno = 0;
    return ibv_rereg_mr(region_.mr(), changes, pd, memory, length, access);
  }

  ibv_wc_status write_to(std::uint64_t address) {
    ibv_send_wr wr = request(IBV_WR_RDMA_WRITE);
    wr.wr.rdma.remote_addr = address;
    wr.wr.rdma.rkey = region_.rkey();
    EXPECT_EQ(post_send(pair_.a(), wr, {from_.sge()}), 0);
    return next_completion(pair_.cq_a()).status;
  }

  Pair pair_;
  Buffer from_{pair_.pd(), 8};
  Buffer region_{pair_.pd(), 64, kWritable};
  std::vector<std::uint8_t> other_ = std::vector<std::uint8_t>(32);
};

TEST_F(Reregistration, TakesRightsAway) {
  const std::uint32_t key = region_.rkey();
  EXPECT_EQ(write_to(region_.address()), IBV_WC_SUCCESS);
  ASSERT_EQ(register_again(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE), 0);
  EXPECT_EQ(region_.rkey(), key);
  EXPECT_EQ(write_to(region_.address()), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Reregistration, GivesRights) {
  Buffer shy(pair_.pd(), 64, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_EQ(ibv_rereg_mr(shy.mr(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kWritable), 0);
  from_.fill(9);
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_RDMA_WRITE, shy), {from_.sge()}), 0);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(shy.data()[7], from_.data()[7]);
}

TEST_F(Reregistration, MovesToOtherMemory) {
  from_.fill(3);
  ASSERT_EQ(register_again(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, other_.data(), other_.size()), 0);
  EXPECT_EQ(region_.mr()->addr, other_.data());
  EXPECT_EQ(region_.mr()->length, other_.size());
  EXPECT_EQ(write_to(reinterpret_cast<std::uintptr_t>(other_.data())), IBV_WC_SUCCESS);
  EXPECT_EQ(other_[7], from_.data()[7]);
  EXPECT_EQ(write_to(region_.address()), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Reregistration, MovesToAnotherDomainWhichThenHasAUser) {
  const PdPtr other(ibv_alloc_pd(pair_.context()));
  ASSERT_EQ(register_again(IBV_REREG_MR_CHANGE_PD, other.get()), 0);
  EXPECT_EQ(region_.mr()->pd, other.get());
  EXPECT_EQ(ibv_dealloc_pd(other.get()), EBUSY);
  EXPECT_EQ(write_to(region_.address()), IBV_WC_REM_ACCESS_ERR);
  ASSERT_EQ(register_again(IBV_REREG_MR_CHANGE_PD, pair_.pd()), 0);
}

TEST_F(Reregistration, ChangesEverythingAtOnce) {
  const PdPtr other(ibv_alloc_pd(pair_.context()));
  constexpr int kAll = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
  ASSERT_EQ(register_again(kAll, other.get(), other_.data(), other_.size(), IBV_ACCESS_REMOTE_READ), 0);
  ASSERT_EQ(register_again(kAll, pair_.pd(), other_.data(), other_.size(), kWritable), 0);
  EXPECT_EQ(write_to(reinterpret_cast<std::uintptr_t>(other_.data())), IBV_WC_SUCCESS);
}

TEST_F(Reregistration, LeavesTheRegionAsItWasWhenItIsRefused) {
  struct Refusal {
    int result;
    int code;
    bool operator==(const Refusal&) const = default;
  };
  // What libibverbs finds out by itself, and what the kernel says.
  const auto input = [](int code) { return Refusal{IBV_REREG_MR_ERR_INPUT, code}; };
  const auto command = [](int code) { return Refusal{IBV_REREG_MR_ERR_CMD, code}; };
  const auto refused_with = [&](int changes, ibv_pd* pd, void* memory, std::size_t length, int access) {
    const int result = register_again(changes, pd, memory, length, access);
    return Refusal{result, errno};
  };
  const ContextPtr stranger = open_device();
  const PdPtr foreign(ibv_alloc_pd(stranger.get()));
  void* const nowhere = reinterpret_cast<void*>(std::uintptr_t{4096});
  EXPECT_EQ(refused_with(0, nullptr, nullptr, 0, 0), command(EINVAL));
  EXPECT_EQ(refused_with(1 << 3, nullptr, nullptr, 0, 0), input(EINVAL));
  EXPECT_EQ(refused_with(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, nullptr, 64, 0), input(EINVAL));
  EXPECT_EQ(refused_with(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, other_.data(), 0, 0), input(EINVAL));
  EXPECT_EQ(refused_with(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, nowhere, 64, 0), command(EFAULT));
  EXPECT_EQ(refused_with(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, other_.data(), ~std::size_t{0}, 0),
            command(EINVAL));
  EXPECT_EQ(refused_with(IBV_REREG_MR_CHANGE_PD, nullptr, nullptr, 0, 0), input(EINVAL));
  EXPECT_EQ(refused_with(IBV_REREG_MR_CHANGE_PD, pair_.pd(), nullptr, 0, kWritable), input(EINVAL));
  EXPECT_EQ(refused_with(IBV_REREG_MR_CHANGE_PD, foreign.get(), nullptr, 0, 0), command(EINVAL));
  EXPECT_EQ(refused_with(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_REMOTE_WRITE),
            command(EINVAL));
  EXPECT_EQ(refused_with(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, 1 << 12), command(EINVAL));
  EXPECT_EQ(region_.mr()->pd, pair_.pd());
  EXPECT_EQ(write_to(region_.address()), IBV_WC_SUCCESS);
}

TEST_F(Reregistration, IsRefusedWhileAWindowIsBound) {
  Buffer opened(pair_.pd(), 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
  const MwPtr mw(ibv_alloc_mw(pair_.pd(), IBV_MW_TYPE_1));
  ibv_mw_bind bind{.wr_id = 1, .send_flags = IBV_SEND_SIGNALED, .bind_info = {}};
  bind.bind_info = {
      .mr = opened.mr(), .addr = opened.address(), .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_READ};
  ASSERT_EQ(ibv_bind_mw(pair_.b(), mw.get(), &bind), 0);
  EXPECT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_SUCCESS);
  errno = 0;
  EXPECT_EQ(
      ibv_rereg_mr(opened.mr(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE),
      IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EBUSY);
}

}  // namespace
}  // namespace urnic::test
