// Registration, its flags and its errno values.
#include <sys/mman.h>
#include <unistd.h>

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

TEST_F(MemoryRegion, DoesNotSupportWhatOnlyOtherDevicesDo) {
  EXPECT_EQ(register_with(IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
  EXPECT_EQ(register_with(IBV_ACCESS_HUGETLB), EOPNOTSUPP);
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

TEST_F(MemoryRegion, MayBeReadOnlyMemoryWithoutLocalWrite) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const constant = mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(constant, MAP_FAILED);
  EXPECT_EQ(ibv_reg_mr(pd_.get(), constant, page, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_NE(MrPtr(ibv_reg_mr(pd_.get(), constant, page, IBV_ACCESS_REMOTE_READ)), nullptr);
  munmap(constant, page);
}

TEST_F(MemoryRegion, CannotBeRegisteredAgainAndStaysAsItIs) {
  const Buffer buffer(pd_.get(), 64);
  ibv_mr* const mr = const_cast<Buffer&>(buffer).mr();
  errno = 0;
  EXPECT_LT(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, IBV_ACCESS_LOCAL_WRITE), 0);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(MemoryRegion, OfADmaBufIsNotSupported) {
  errno = 0;
  EXPECT_EQ(ibv_reg_dmabuf_mr(pd_.get(), 0, 4096, 0, 0, IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

}  // namespace
}  // namespace urnic::test
