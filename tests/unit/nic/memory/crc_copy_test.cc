// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/memory/crc_copy.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "nic/memory/fault_guard.h"
#include "tests/support/bitwise_crc32.h"
#include "tests/support/bytes.h"
#include "tests/support/sanitizers.h"

namespace urnic::nic {
namespace {

using test::bitwise_crc32;
using transport::test::payload;

/// Every copy that this processor can run.
class CrcCopyTest : public testing::Test {
 protected:
  void SetUp() override {
    if (crc_copies().empty()) GTEST_SKIP() << "on this processor a copy and its CRC are one after the other";
    install_fault_guard();
  }
};

// Lengths around the loops' steps and the largest path MTU, at every alignment of 64 on either side.
TEST_F(CrcCopyTest, CopiesAndGivesTheCrcOfEveryLengthAtEveryAlignment) {
  constexpr std::size_t kLongest = 4096 + 300;
  const auto source = payload(kLongest + 64);
  for (const NamedCrcCopy& each : crc_copies()) {
    SCOPED_TRACE(each.name);
    for (std::size_t size = kLeastCrcCopy; size <= kLongest; size += size < 1200 || size > 4080 ? 1 : 41) {
      const std::span from = std::span(source).subspan(size * 5 % 64, size);
      const std::size_t skip = size * 7 % 61;
      std::vector<std::byte> to(size + 128);
      std::uint32_t crc = 0;
      ASSERT_TRUE(each.copy(to.data() + skip, from.data(), size, crc));
      ASSERT_EQ(crc, bitwise_crc32(from)) << size;
      ASSERT_EQ(std::memcmp(to.data() + skip, from.data(), size), 0) << size;
      const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
      const auto begin = to.begin() + static_cast<std::ptrdiff_t>(skip);
      ASSERT_TRUE(std::all_of(to.begin(), begin, is_zero)) << size;
      ASSERT_TRUE(std::all_of(begin + static_cast<std::ptrdiff_t>(size), to.end(), is_zero)) << size;
    }
  }
}

TEST_F(CrcCopyTest, GoesOnWithTheCrcOfWhatStoodBefore) {
  const auto source = payload(3000);
  const std::span all(source);
  for (const NamedCrcCopy& each : crc_copies()) {
    std::vector<std::byte> to(source.size());
    std::uint32_t crc = 0;
    ASSERT_TRUE(each.copy(to.data(), source.data(), 259, crc));
    EXPECT_EQ(crc, bitwise_crc32(all.first(259))) << each.name;
    ASSERT_TRUE(each.copy(to.data() + 259, source.data() + 259, 1024, crc));
    EXPECT_EQ(crc, bitwise_crc32(all.first(1283))) << each.name;
    ASSERT_TRUE(each.copy(to.data() + 1283, source.data() + 1283, 1717, crc));
    EXPECT_EQ(crc, bitwise_crc32(all)) << each.name;
    EXPECT_EQ(to, source) << each.name;
  }
}

TEST_F(CrcCopyTest, FailsAtAPageThatIsNotThere) {
  if (!kCatchesFaults) GTEST_SKIP() << "this build does not catch faults";
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const memory = static_cast<std::byte*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  munmap(memory + page, page);
  for (const NamedCrcCopy& each : crc_copies()) {
    SCOPED_TRACE(each.name);
    for (const std::size_t size : {256u, 257u, 319u, 320u, 511u, 512u, 1024u, 1100u, 4000u}) {
      std::vector<std::byte> ours(size, std::byte{5});
      for (const std::size_t there : {std::size_t{0}, size / 2, size - 70, size - 1}) {
        std::byte* const partly = memory + page - there;
        std::uint32_t crc = 77;
        EXPECT_FALSE(each.copy(ours.data(), partly, size, crc)) << size << ", " << there;
        EXPECT_FALSE(each.copy(partly, ours.data(), size, crc)) << size << ", " << there;
        EXPECT_EQ(crc, 77u);
      }
      std::byte* const wholly = memory + page - size;
      std::uint32_t crc = 0;
      EXPECT_TRUE(each.copy(wholly, ours.data(), size, crc));
      EXPECT_TRUE(each.copy(ours.data(), wholly, size, crc));
    }
  }
  munmap(memory, page);
}

// A program may write to what it sends: the packet then holds the one or the other, and its CRC is right.
TEST_F(CrcCopyTest, GivesTheCrcOfWhatItCopiedWhileTheProgramWrites) {
  if (kIsSanitized) GTEST_SKIP() << "the program's race is meant";
  std::vector<std::byte> source = payload(4096 + 37);
  std::atomic<bool> is_over{false};
  std::thread program([&] {
    std::uint32_t state = 3;
    while (!is_over) {
      state = state * 1664525 + 1013904223;
      static_cast<volatile std::byte*>(source.data())[state % source.size()] =
          static_cast<std::byte>(state >> 24);
    }
  });
  std::vector<std::byte> to(source.size());
  for (const NamedCrcCopy& each : crc_copies()) {
    for (int i = 0; i < 2000; ++i) {
      std::uint32_t crc = 0;
      ASSERT_TRUE(each.copy(to.data(), source.data(), to.size(), crc));
      ASSERT_EQ(crc, bitwise_crc32(to)) << each.name;
    }
  }
  is_over = true;
  program.join();
}

}  // namespace
}  // namespace urnic::nic
