// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/memory/page_probe.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

namespace urnic::nic {
namespace {

/// Five pages that are readable and writable except one, at an address of its own.
class Mapping {
 public:
  explicit Mapping(int protection_of_page_2)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        memory_(static_cast<std::byte*>(
            mmap(nullptr, 5 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_EQ(mprotect(at(2), page_, protection_of_page_2), 0);
  }
  ~Mapping() { munmap(memory_, 5 * page_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::byte* at(std::size_t page) const { return memory_ + page * page_; }
  std::size_t page() const { return page_; }

 private:
  std::size_t page_;
  std::byte* memory_;
};

using Probe = bool (*)(const void*, std::size_t, bool);

/// With the kernel's help, and page by page.
class PageProbe : public testing::TestWithParam<Probe> {
 protected:
  bool can_read(const void* memory, std::size_t length) { return GetParam()(memory, length, false); }
  bool can_write(const void* memory, std::size_t length) { return GetParam()(memory, length, true); }
};

TEST_P(PageProbe, AcceptsOrdinaryMemoryAtAnyAlignment) {
  const Mapping mapping(PROT_READ | PROT_WRITE);
  EXPECT_TRUE(can_write(mapping.at(0), 5 * mapping.page()));
  EXPECT_TRUE(can_write(mapping.at(1) - 1, 2));
  EXPECT_TRUE(can_read(mapping.at(1) + 1, 1));
  int on_stack = 0;
  EXPECT_TRUE(can_write(&on_stack, sizeof on_stack));
}

TEST_P(PageProbe, FindsAReadOnlyPageOnlyWhenItIsToBeWritten) {
  const Mapping mapping(PROT_READ);
  EXPECT_FALSE(can_write(mapping.at(0), 5 * mapping.page()));
  EXPECT_FALSE(can_write(mapping.at(2) - 1, 2));
  EXPECT_TRUE(can_write(mapping.at(0), 2 * mapping.page()));
  EXPECT_TRUE(can_write(mapping.at(3), 2 * mapping.page()));
  EXPECT_TRUE(can_read(mapping.at(0), 5 * mapping.page()));
}

TEST_P(PageProbe, FindsAPageThatCannotBeRead) {
  const Mapping mapping(PROT_NONE);
  EXPECT_FALSE(can_read(mapping.at(0), 5 * mapping.page()));
  EXPECT_FALSE(can_read(mapping.at(2), 1));
  EXPECT_FALSE(can_write(mapping.at(3) - 1, 1));
  EXPECT_TRUE(can_read(mapping.at(3), 1));
}

TEST_P(PageProbe, FindsAPageThatIsNotThere) {
  const Mapping mapping(PROT_READ | PROT_WRITE);
  munmap(mapping.at(2), mapping.page());
  EXPECT_FALSE(can_read(mapping.at(0), 5 * mapping.page()));
  EXPECT_FALSE(can_write(mapping.at(1), mapping.page() + 1));
  EXPECT_TRUE(can_write(mapping.at(1), mapping.page()));
  EXPECT_FALSE(can_read(nullptr, 1));
}

// The number of pages wraps around, or the end of the last one is address 0.
TEST_P(PageProbe, FindsThatNoRangeReachesIntoTheLastPageOfAll) {
  constexpr std::size_t kLast = std::numeric_limits<std::size_t>::max();
  const Mapping mapping(PROT_READ | PROT_WRITE);
  EXPECT_FALSE(can_read(nullptr, kLast - 1));
  EXPECT_FALSE(can_write(nullptr, kLast - mapping.page() + 2));
  EXPECT_FALSE(can_read(mapping.at(0), kLast - reinterpret_cast<std::uintptr_t>(mapping.at(0))));
  EXPECT_FALSE(can_read(reinterpret_cast<const void*>(kLast - 8), 8));
}

TEST_P(PageProbe, FindsPagesBehindTheEndOfAFile) {
  std::string name = testing::TempDir() + "page_probe_XXXXXX";
  const int file = mkstemp(name.data());
  ASSERT_GE(file, 0);
  unlink(name.c_str());
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(page)), 0);
  void* const memory = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_TRUE(can_write(memory, page));
  EXPECT_FALSE(can_read(memory, 2 * page));
  EXPECT_FALSE(can_write(memory, page + 1));
  munmap(memory, 2 * page);
  close(file);
}

TEST_P(PageProbe, AcceptsNoBytesAnywhere) {
  EXPECT_TRUE(can_write(nullptr, 0));
  const Mapping mapping(PROT_NONE);
  EXPECT_TRUE(can_read(mapping.at(2), 0));
}

TEST_P(PageProbe, ChangesNothing) {
  const Mapping mapping(PROT_READ | PROT_WRITE);
  std::memset(mapping.at(0), 0xa5, 5 * mapping.page());
  ASSERT_TRUE(can_write(mapping.at(0), 5 * mapping.page()));
  for (std::size_t i = 0; i < 5 * mapping.page(); ++i) ASSERT_EQ(mapping.at(0)[i], std::byte{0xa5}) << i;
}

INSTANTIATE_TEST_SUITE_P(, PageProbe, testing::Values(&can_access, &can_access_each_page),
                         [](const auto& probe) {
                           return probe.param == &can_access ? "AllAtOnce" : "PageByPage";
                         });

}  // namespace
}  // namespace urnic::nic
