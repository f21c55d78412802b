// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Registration, its flags and its errno values.
#include <sys/mman.h>
#include <unistd.h>

#include <limits>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

class MemoryRegion : public testing::Test {
 protected:
  /// Registers `memory_` with these flags, and gives the errno value.
  int register_with(unsigned int access) {
    errno = 0;
    const MrPtr mr(ibv_reg_mr_iova2(pd_.get(), memory_.data(), memory_.size(),
                                    reinterpret_cast<std::uintptr_t>(memory_.data()), access));
    EXPECT_EQ(mr == nullptr, errno != 0);
    return errno;
  }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
  std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(4096);
};

TEST_F(MemoryRegion, TellsWhatWasRegistered) {
  const MrPtr mr(ibv_reg_mr(pd_.get(), memory_.data(), memory_.size(), kAllAccess));
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, memory_.data());
  EXPECT_EQ(mr->length, memory_.size());
  EXPECT_EQ(mr->pd, pd_.get());
  EXPECT_EQ(mr->context, context_.get());
}

TEST_F(MemoryRegion, HasAKeyOfItsOwn) {
  const Buffer first(pd_.get(), 64);
  const Buffer second(pd_.get(), 64);
  EXPECT_NE(first.rkey(), second.rkey());
}

TEST_F(MemoryRegion, NeedsLocalWriteForRemoteWrite) {
  EXPECT_EQ(register_with(IBV_ACCESS_REMOTE_WRITE), EINVAL);
  EXPECT_EQ(register_with(IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
  EXPECT_EQ(register_with(IBV_ACCESS_REMOTE_READ), 0);
}

TEST_F(MemoryRegion, IgnoresTheOptionalFlags) {
  EXPECT_EQ(register_with(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING), 0);
  EXPECT_EQ(register_with(0x3ff00001), 0);
}

TEST_F(MemoryRegion, RefusesFlagsThatNobodyKnows) {
  EXPECT_EQ(register_with(1u << 12), EINVAL);
}

TEST_F(MemoryRegion, RefusesMemoryThatIsNotThere) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const hole = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(hole, MAP_FAILED);
  munmap(static_cast<std::uint8_t*>(hole) + page, page);
  errno = 0;
  EXPECT_EQ(ibv_reg_mr(pd_.get(), hole, 2 * page, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EFAULT);
  munmap(hole, page);
}

TEST_F(MemoryRegion, IsNeverTheWholeAddressSpace) {
  constexpr std::size_t kLast = std::numeric_limits<std::size_t>::max();
  const auto refused = [&](void* memory, std::size_t length, std::uint64_t iova, unsigned int access) {
    errno = 0;
    return ibv_reg_mr_iova2(pd_.get(), memory, length, iova, access) == nullptr ? errno : 0;
  };
  for (const unsigned int zero_based : {0u, unsigned{IBV_ACCESS_ZERO_BASED}}) {
    const unsigned int access = kAllAccess | zero_based;
    const auto here = reinterpret_cast<std::uintptr_t>(memory_.data());
    EXPECT_EQ(refused(nullptr, kLast, 0, access), EINVAL) << "that is for on-demand paging";
    EXPECT_EQ(refused(nullptr, kLast - 1, 0, access), EFAULT);
    EXPECT_EQ(refused(nullptr, kLast - 4094, 0, access), EFAULT);
    EXPECT_EQ(refused(memory_.data(), kLast - here, here, access), EFAULT);
    EXPECT_EQ(refused(memory_.data(), kLast - here + 1, here, access), EINVAL);
  }
  EXPECT_EQ(refused(memory_.data(), 64, kLast - 63, kAllAccess), EINVAL);
}

// As the kernel has it, which pins the page that an empty region begins in.
TEST_F(MemoryRegion, MayBeEmptyUnlessItIsInNoPage) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const start = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(start, MAP_FAILED);
  std::uint8_t* const inside = static_cast<std::uint8_t*>(start) + 8;
  EXPECT_NE(MrPtr(ibv_reg_mr(pd_.get(), inside, 0, IBV_ACCESS_LOCAL_WRITE)), nullptr);
  for (void* const nowhere : {start, static_cast<void*>(nullptr)}) {
    errno = 0;
    EXPECT_EQ(ibv_reg_mr(pd_.get(), nowhere, 0, IBV_ACCESS_LOCAL_WRITE), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  munmap(start, page);
  EXPECT_EQ(ibv_reg_mr(pd_.get(), inside, 0, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EFAULT);
}

TEST_F(MemoryRegion, MayBeReadOnlyMemoryWithoutLocalWrite) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const constant = mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(constant, MAP_FAILED);
  EXPECT_EQ(ibv_reg_mr(pd_.get(), constant, page, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_NE(MrPtr(ibv_reg_mr(pd_.get(), constant, page, IBV_ACCESS_REMOTE_READ)), nullptr);
  munmap(constant, page);
}

// A file of memory is as good as a dma-buf: both are descriptors that can be mapped.
TEST_F(MemoryRegion, MayBeADmaBuf) {
  const int fd = memfd_create("dma-buf", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, 16384), 0);
  Pair pair;
  const MrPtr mr(ibv_reg_dmabuf_mr(pair.pd(), 4100, 64, 0x1000, fd, kAllAccess));
  ASSERT_NE(mr, nullptr);
  Buffer from(pair.pd(), 8);
  from.fill(3);
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE);
  wr.wr.rdma = {.remote_addr = 0x1000 + 56, .rkey = mr->rkey};
  ASSERT_EQ(post_send(pair.a(), wr, {from.sge()}), 0);
  EXPECT_EQ(next_completion(pair.cq_a()).status, IBV_WC_SUCCESS);
  std::vector<std::uint8_t> written(8);
  EXPECT_EQ(pread(fd, written.data(), written.size(), 4100 + 56), 8);
  EXPECT_EQ(written, from.bytes());
  close(fd);
}

TEST_F(MemoryRegion, OfADmaBufHasToBeThere) {
  const int fd = memfd_create("dma-buf", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  const auto refused = [&](std::uint64_t offset, std::size_t length, int descriptor, unsigned int access) {
    errno = 0;
    const auto flags = static_cast<int>(access);
    return ibv_reg_dmabuf_mr(pd_.get(), offset, length, 0, descriptor, flags) == nullptr ? errno : 0;
  };
  EXPECT_EQ(refused(0, 64, -1, kAllAccess), EBADF);
  EXPECT_EQ(refused(0, 0, fd, kAllAccess), EINVAL);
  EXPECT_EQ(refused(~std::uint64_t{0}, 64, fd, kAllAccess), EINVAL);
  EXPECT_EQ(refused(0, ~std::size_t{0}, fd, kAllAccess), EINVAL);
  EXPECT_EQ(refused(4096, 64, fd, kAllAccess), EFAULT) << "beyond the end of the file";
  EXPECT_EQ(refused(0, 64, fd, IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
  close(fd);
}

TEST_F(MemoryRegion, OfNothingReadsAsZerosAndForgetsWhatIsWritten) {
  Pair pair;
  const MrPtr null(ibv_alloc_null_mr(pair.pd()));
  ASSERT_NE(null, nullptr);
  Buffer to(pair.pd(), 16);
  to.fill(1);
  const ibv_sge nowhere{.addr = 0x123456789, .length = 8, .lkey = null->lkey};
  ASSERT_EQ(post_send(pair.a(), request(IBV_WR_RDMA_WRITE, to), {nowhere}), 0);
  EXPECT_EQ(next_completion(pair.cq_a()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(std::vector<std::uint8_t>(to.data(), to.data() + 8), std::vector<std::uint8_t>(8, 0));
  // A receive that wants only the end of what comes.
  to.fill(2);
  ASSERT_EQ(post_receive(pair.b(), 1, {nowhere, to.sge(8, 8)}), 0);
  ASSERT_EQ(post_send(pair.a(), request(IBV_WR_SEND), {to.sge()}), 0);
  EXPECT_EQ(next_completion(pair.cq_b()).status, IBV_WC_SUCCESS);
  EXPECT_EQ(next_completion(pair.cq_a()).status, IBV_WC_SUCCESS);
  // Peers do not reach it.
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE);
  wr.wr.rdma = {.remote_addr = 0, .rkey = null->rkey};
  ASSERT_EQ(post_send(pair.a(), wr, {to.sge()}), 0);
  EXPECT_EQ(next_completion(pair.cq_a()).status, IBV_WC_REM_ACCESS_ERR);
}

}  // namespace
}  // namespace urnic::test
