// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/memory/device_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <vector>

namespace urnic::nic {
namespace {

constexpr std::size_t kWholePool = DeviceMemoryPool::kCapacity;

TEST(DeviceMemory, IsZerosAtAnAlignedAddress) {
  DeviceMemoryPool pool;
  for (std::uint32_t log = 0; log <= DeviceMemoryPool::kMaxLogAlignment; ++log) {
    const auto memory = pool.allocate(12, log);
    ASSERT_TRUE(memory) << memory.error().message;
    const auto bytes = memory.value()->bytes();
    EXPECT_EQ(bytes.size(), 12u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % (std::uintptr_t{1} << log), 0u);
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; }));
    std::fill(bytes.begin(), bytes.end(), std::byte{0xff});  // for the next owner
  }
}

TEST(DeviceMemory, EndsAtTheCapacityAndComesBack) {
  DeviceMemoryPool pool;
  {
    const auto half = pool.allocate(kWholePool / 2, 0);
    ASSERT_TRUE(half);
    const auto rest = pool.allocate(kWholePool / 2, 0);
    ASSERT_TRUE(rest);
    EXPECT_EQ(pool.allocate(1, 0).error().code, ENOMEM);
  }
  EXPECT_TRUE(pool.allocate(kWholePool, 0));
}

TEST(DeviceMemory, RefusesWhatIsNeverPossible) {
  DeviceMemoryPool pool;
  EXPECT_EQ(pool.allocate(0, 0).error().code, EINVAL);
  EXPECT_EQ(pool.allocate(kWholePool + 1, 0).error().code, EINVAL);
  EXPECT_EQ(pool.allocate(std::numeric_limits<std::size_t>::max(), 0).error().code, EINVAL);
  EXPECT_EQ(pool.allocate(4, DeviceMemoryPool::kMaxLogAlignment + 1).error().code, EINVAL);
  EXPECT_EQ(pool.allocate(4, std::numeric_limits<std::uint32_t>::max()).error().code, EINVAL);
  EXPECT_TRUE(pool.allocate(kWholePool, 0)) << "nothing was lost on the way";
}

}  // namespace
}  // namespace urnic::nic
