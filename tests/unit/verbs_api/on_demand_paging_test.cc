// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Regions whose pages come and go, and all of memory as one region.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "tests/support/sanitizers.h"
#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

constexpr int kOnDemand = kAllAccess | IBV_ACCESS_ON_DEMAND;

/// Two pages of the program, with a region over them.
class Pages : public testing::Test {
 protected:
  explicit Pages(int access) : access_(access) {
    memory_ = static_cast<std::uint8_t*>(
        mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~Pages() override { munmap(memory_, 2 * page_); }
  void SetUp() override {
    ibv_device_attr_ex attributes{};
    ASSERT_EQ(ibv_query_device_ex(pair_.context(), nullptr, &attributes), 0);
    if ((access_ & IBV_ACCESS_ON_DEMAND) != 0 && attributes.odp_caps.general_caps == 0) {
      GTEST_SKIP() << "this system does not allow process_vm_readv(2)";
    }
    mr_.reset(ibv_reg_mr(pair_.pd(), memory_, 2 * page_, access_));
    ASSERT_NE(mr_, nullptr);
  }

  ibv_sge sge(std::size_t offset, std::uint32_t length) {
    return {.addr = reinterpret_cast<std::uintptr_t>(memory_) + offset, .length = length, .lkey = mr_->lkey};
  }
  ibv_wc_status run(ibv_wr_opcode opcode, std::size_t offset) {
    ibv_send_wr wr = request(opcode);
    const std::uint64_t address = reinterpret_cast<std::uintptr_t>(memory_) + offset;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic = {.remote_addr = address, .compare_add = 1, .swap = 0, .rkey = mr_->rkey};
    } else {
      wr.wr.rdma = {.remote_addr = address, .rkey = mr_->rkey};
    }
    EXPECT_EQ(post_send(pair_.a(), wr, {pinned_.sge()}), 0);
    return next_completion(pair_.cq_a()).status;
  }
  void lose_second_page() { munmap(memory_ + page_, page_); }

  int access_;
  std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::uint8_t* memory_ = nullptr;
  Pair pair_;
  Buffer pinned_{pair_.pd(), 8};
  MrPtr mr_;
};

class OnDemandPaging : public Pages {
 protected:
  OnDemandPaging() : Pages(kOnDemand) {}
};

/// Whether pages may come and go, or the program takes them from a region that should have kept them.
class LostPages : public Pages, public testing::WithParamInterface<int> {
 protected:
  LostPages() : Pages(GetParam()) {}
  void SetUp() override {
    if (kIsSanitized && (access_ & IBV_ACCESS_ON_DEMAND) == 0) {
      GTEST_SKIP() << "sanitizers see the fault, and are to see it";
    }
    Pages::SetUp();
  }
};

INSTANTIATE_TEST_SUITE_P(, LostPages, testing::Values(kOnDemand, kAllAccess), [](const auto& access) {
  return access.param == kOnDemand ? "OnDemand" : "Pinned";
});

TEST_F(OnDemandPaging, ServesPeersWhileThePagesAreThere) {
  pinned_.fill(1);
  EXPECT_EQ(run(IBV_WR_RDMA_WRITE, page_ - 4), IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(memory_ + page_ - 4, pinned_.data(), 8), 0);
  memory_[page_ + 64] = 41;
  EXPECT_EQ(run(IBV_WR_ATOMIC_FETCH_AND_ADD, page_ + 64), IBV_WC_SUCCESS);
  EXPECT_EQ(memory_[page_ + 64], 42);
  EXPECT_EQ(run(IBV_WR_RDMA_READ, page_ + 64), IBV_WC_SUCCESS);
  EXPECT_EQ(pinned_.data()[0], 42);
}

TEST_P(LostPages, FollowsTheProgramToNewPages) {
  lose_second_page();
  ASSERT_NE(
      mmap(memory_ + page_, page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
      MAP_FAILED);
  pinned_.fill(2);
  EXPECT_EQ(run(IBV_WR_RDMA_WRITE, page_), IBV_WC_SUCCESS);
  EXPECT_EQ(memory_[page_ + 7], pinned_.data()[7]);
}

TEST_P(LostPages, RefusesPeersWhereAPageIsNotThere) {
  lose_second_page();
  EXPECT_EQ(run(IBV_WR_RDMA_WRITE, page_), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(LostPages, RefusesReadsWhereAPageIsNotThere) {
  lose_second_page();
  EXPECT_EQ(run(IBV_WR_RDMA_READ, page_), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(LostPages, RefusesAtomicsWhereAPageIsNotThere) {
  lose_second_page();
  EXPECT_EQ(run(IBV_WR_ATOMIC_FETCH_AND_ADD, page_), IBV_WC_REM_ACCESS_ERR);
}

TEST_P(LostPages, FailsToSendFromAPageThatIsNotThere) {
  lose_second_page();
  ASSERT_EQ(post_receive(pair_.b(), 1, {pinned_.sge()}), 0);
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_SEND), {sge(page_, 8)}), 0);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_LOC_PROT_ERR);
}

TEST_P(LostPages, FailsToReceiveIntoAPageThatIsNotThere) {
  lose_second_page();
  ASSERT_EQ(post_receive(pair_.b(), 1, {sge(page_, 8)}), 0);
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_SEND), {pinned_.sge()}), 0);
  EXPECT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_REM_OP_ERR);
}

TEST_F(OnDemandPaging, HasARegionOfAllMemory) {
  const MrPtr all(ibv_reg_mr(pair_.pd(), nullptr, std::numeric_limits<std::size_t>::max(), kOnDemand));
  ASSERT_NE(all, nullptr);
  memory_[0] = 77;
  ibv_sge from = sge(0, 8);
  from.lkey = all->lkey;
  ASSERT_EQ(post_receive(pair_.b(), 1, {pinned_.sge()}), 0);
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_SEND), {from}), 0);
  EXPECT_EQ(next_completion(pair_.cq_b()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(pinned_.data()[0], 77);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_SUCCESS);
  from.addr = 0;
  ASSERT_EQ(post_send(pair_.a(), request(IBV_WR_SEND), {from}), 0);
  EXPECT_EQ(next_completion(pair_.cq_a()).status, IBV_WC_LOC_PROT_ERR) << "a null pointer";
}

TEST_F(OnDemandPaging, IsNeededForARegionOfAllMemory) {
  errno = 0;
  EXPECT_EQ(ibv_reg_mr(pair_.pd(), nullptr, std::numeric_limits<std::size_t>::max(), IBV_ACCESS_LOCAL_WRITE),
            nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(OnDemandPaging, IsWhatHugePagesAreAHintFor) {
  EXPECT_NE(MrPtr(ibv_reg_mr(pair_.pd(), memory_, page_, kOnDemand | IBV_ACCESS_HUGETLB)), nullptr);
  errno = 0;
  EXPECT_EQ(ibv_reg_mr(pair_.pd(), memory_, page_, kAllAccess | IBV_ACCESS_HUGETLB), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(OnDemandPaging, TakesAdvice) {
  ibv_sge all = sge(0, static_cast<std::uint32_t>(2 * page_));
  for (const auto advice : {IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
                            IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT}) {
    EXPECT_EQ(ibv_advise_mr(pair_.pd(), advice, 0, &all, 1), 0);
    EXPECT_EQ(ibv_advise_mr(pair_.pd(), advice, IBV_ADVISE_MR_FLAG_FLUSH, &all, 1), 0);
  }
  unsigned char present[2] = {};
  ASSERT_EQ(mincore(memory_, 2 * page_, present), 0);
  EXPECT_EQ(present[0] & present[1] & 1, 1);
  lose_second_page();
  EXPECT_EQ(ibv_advise_mr(pair_.pd(), IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &all, 1), EFAULT);
}

TEST_F(OnDemandPaging, RefusesAdviceThatMakesNoSense) {
  const PdPtr stranger(ibv_alloc_pd(pair_.context()));
  const MrPtr read_only(ibv_reg_mr(pair_.pd(), memory_, page_, IBV_ACCESS_ON_DEMAND));
  ibv_sge good = sge(0, 8);
  ibv_sge outside = sge(2 * page_, 8);
  ibv_sge unknown = sge(0, 8);
  unknown.lkey ^= 0xff;
  ibv_sge unwritable = sge(0, 8);
  unwritable.lkey = read_only->lkey;
  ibv_sge pinned = pinned_.sge();
  const auto advise = [&](ibv_sge* element, unsigned int advice = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
                          std::uint32_t flags = 0, ibv_pd* pd = nullptr, std::uint32_t count = 1) {
    ibv_advise_mr_advice number{};
    std::memcpy(&number, &advice, sizeof(number));
    return ibv_advise_mr(pd != nullptr ? pd : pair_.pd(), number, flags, element, count);
  };
  EXPECT_EQ(advise(&good), 0);
  EXPECT_EQ(advise(&outside), EFAULT);
  EXPECT_EQ(advise(&unknown), EFAULT);
  EXPECT_EQ(advise(&unwritable), EPERM);
  EXPECT_EQ(advise(&pinned), EINVAL);
  EXPECT_EQ(advise(&good, 3), ENOTSUP);
  EXPECT_EQ(advise(&good, IBV_ADVISE_MR_ADVICE_PREFETCH, 1u << 5), EINVAL);
  EXPECT_EQ(advise(&good, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, stranger.get()), EPERM);
  EXPECT_EQ(advise(nullptr), EINVAL);
  EXPECT_EQ(advise(&good, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, nullptr, 0), EINVAL);
}

}  // namespace
}  // namespace urnic::test
