// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/memory/guarded_copy.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace urnic::nic {
namespace {

/// Two pages of which the second is not there.
class GuardedCopyTest : public testing::Test {
 protected:
  GuardedCopyTest() {
    memory_ = static_cast<std::byte*>(
        mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(memory_ + page_, page_);
  }
  ~GuardedCopyTest() override { munmap(memory_, page_); }
  void SetUp() override {
    if (!can_copy_guarded()) GTEST_SKIP() << "this system does not allow process_vm_readv(2)";
  }

  std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::byte* memory_ = nullptr;
};

TEST_F(GuardedCopyTest, CopiesWhatIsThere) {
  const std::array from{std::byte{1}, std::byte{2}, std::byte{3}};
  std::byte* const last = memory_ + page_ - from.size();
  EXPECT_TRUE(copy_to_guarded(last, from));
  EXPECT_EQ(std::memcmp(last, from.data(), from.size()), 0);
  std::array<std::byte, 3> to{};
  EXPECT_TRUE(copy_from_guarded(to, last));
  EXPECT_EQ(to, from);
}

TEST_F(GuardedCopyTest, SaysWhenAPageIsNotThere) {
  std::array<std::byte, 8> bytes{};
  EXPECT_FALSE(copy_from_guarded(bytes, memory_ + page_));
  EXPECT_FALSE(copy_to_guarded(memory_ + page_, bytes));
  EXPECT_FALSE(copy_from_guarded(bytes, nullptr));
  EXPECT_FALSE(copy_to_guarded(nullptr, bytes));
}

TEST_F(GuardedCopyTest, SaysWhenTheRangeEndsInAPageThatIsNotThere) {
  std::array<std::byte, 8> bytes{};
  EXPECT_FALSE(copy_from_guarded(bytes, memory_ + page_ - 4));
  EXPECT_FALSE(copy_to_guarded(memory_ + page_ - 4, bytes));
}

TEST_F(GuardedCopyTest, DoesNotWriteWhatIsReadOnly) {
  mprotect(memory_, page_, PROT_READ);
  std::array<std::byte, 8> bytes{};
  EXPECT_TRUE(copy_from_guarded(bytes, memory_));
  EXPECT_FALSE(copy_to_guarded(memory_, bytes));
}

}  // namespace
}  // namespace urnic::nic
