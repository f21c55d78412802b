// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "transport/wire/tail_crc.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/support/bitwise_crc32.h"
#include "tests/support/bytes.h"

namespace urnic::transport::wire {
namespace {

using transport::test::payload;
using urnic::test::bitwise_crc32;

TEST(TailCrc, JoinsEveryLengthToWhatIsInFront) {
  constexpr std::size_t kFront = 70;
  const auto bytes = payload(kFront + kMostTailBytes);
  for (std::uint32_t size = 0; size <= kMostTailBytes; size += size < 300 || size > 3900 ? 1 : 31) {
    const auto all = std::span(bytes).subspan(size % kFront);
    const std::size_t in_front = kFront - size % kFront;
    const TailCrc tail(size, bitwise_crc32(all.subspan(in_front, size)));
    ASSERT_EQ(join(bitwise_crc32(all.first(in_front)), tail), bitwise_crc32(all.first(in_front + size)))
        << size;
  }
}

TEST(TailCrc, IsExtendedByWhatStandsBehindIt) {
  const auto bytes = payload(5000);
  const std::span all(bytes);
  TailCrc tail;
  extend(tail, all.first(3000));
  extend(tail, all.subspan(3000, 1));
  extend(tail, all.subspan(3001, 0));
  extend(tail, all.subspan(3001, 1999));
  EXPECT_EQ(tail.bytes(), 5000u);
  EXPECT_EQ(tail.crc(), bitwise_crc32(all));
}

TEST(TailCrc, GoesOnOverPadding) {
  for (std::size_t padding = 0; padding < 4; ++padding) {
    std::vector<std::byte> bytes = payload(20);
    TailCrc tail;
    extend(tail, std::span(bytes).first(20 - padding));
    write_padding(std::span(bytes).last(padding), tail);
    for (std::size_t i = 20 - padding; i < 20; ++i) EXPECT_EQ(bytes[i], std::byte{0}) << i;
    EXPECT_EQ(tail.bytes(), 20u);
    EXPECT_EQ(tail.crc(), bitwise_crc32(bytes)) << padding;
  }
}

TEST(TailCrc, KnowsNothingMoreAfterThePaddingOfWhatItDoesNotKnow) {
  std::vector<std::byte> padding(3, std::byte{1});
  TailCrc tail;
  write_padding(padding, tail);
  EXPECT_EQ(padding, std::vector<std::byte>(3));
  EXPECT_EQ(tail.bytes(), 0u);
}

}  // namespace
}  // namespace urnic::transport::wire
