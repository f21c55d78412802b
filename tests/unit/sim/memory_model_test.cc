// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/models/memory_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace urnic::sim {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr Range kTarget{.region = Region::kShared, .offset = 100, .length = 50};

class MemoryModelTest : public ::testing::Test {
 protected:
  /// What a NIC does.
  void dma(const Range& range, Pattern pattern, std::uint64_t position = 0) {
    fill(memory_.at(range), pattern, position);
  }

  MemoryModel memory_{{1000, 1000, 1000, 1000}, 1};
};

TEST_F(MemoryModelTest, IsSilentWhenEverythingIsAsItShould) {
  memory_.begin(kTarget);
  dma(kTarget, Pattern{5});
  EXPECT_THAT(memory_.settle(kTarget, Pattern{5}), Eq(std::nullopt));
  EXPECT_THAT(memory_.check(), Eq(std::nullopt));
}

TEST_F(MemoryModelTest, ComplainsAboutDataThatWasNotWritten) {
  memory_.begin(kTarget);
  EXPECT_THAT(memory_.settle(kTarget, Pattern{5}),
              Optional(HasSubstr("byte 0 of shared[100+50] (as it was before)")));
}

TEST_F(MemoryModelTest, ComplainsAboutDataAtTheWrongPosition) {
  memory_.begin(kTarget);
  dma(kTarget, Pattern{5}, 1);
  EXPECT_THAT(memory_.settle(kTarget, Pattern{5}), Optional(HasSubstr("wrong data")));
}

TEST_F(MemoryModelTest, ComplainsAboutOneByteBehindTheTarget) {
  memory_.begin(kTarget);
  Range more = kTarget;
  more.length += 1;
  dma(more, Pattern{5});
  EXPECT_THAT(memory_.settle(kTarget, Pattern{5}), Eq(std::nullopt));
  EXPECT_THAT(memory_.check(), Optional(HasSubstr("byte 150 of region shared")));
}

TEST_F(MemoryModelTest, ComplainsAboutTheGuardInFrontOfARegion) {
  dma({.region = Region::kReadable, .offset = 0u - 1u, .length = 1}, Pattern{5});
  EXPECT_THAT(memory_.check(), Optional(HasSubstr("byte -1 of region readable")));
}

TEST_F(MemoryModelTest, ComplainsWhenSomethingIsWrittenOnceMoreAfterItWasSettled) {
  memory_.begin(kTarget);
  dma(kTarget, Pattern{5});
  EXPECT_THAT(memory_.settle(kTarget, Pattern{5}), Eq(std::nullopt));
  memory_.write(kTarget, Pattern{6});  // the application reuses it
  dma(kTarget, Pattern{5});            // a late duplicate
  EXPECT_THAT(memory_.check(), Optional(HasSubstr("byte 100 of region shared")));
}

TEST_F(MemoryModelTest, AllowsAnythingInWhatIsOpen) {
  memory_.begin(kTarget);
  dma({.region = Region::kShared, .offset = 110, .length = 7}, Pattern{5});
  EXPECT_THAT(memory_.check(), Eq(std::nullopt));
  memory_.settle_as_is(kTarget);
  dma({.region = Region::kShared, .offset = 110, .length = 7}, Pattern{6});
  EXPECT_THAT(memory_.check(), Optional(HasSubstr("byte 110")));
}

TEST_F(MemoryModelTest, AcceptsOldAndNewBytesSideBySideButNoOthers) {
  memory_.begin(kTarget);
  for (const std::uint32_t offset : {100u, 120u}) {
    dma({.region = Region::kShared, .offset = offset, .length = 10}, Pattern{5}, offset - 100);
  }
  EXPECT_THAT(memory_.settle_either(kTarget, Pattern{5}), Eq(std::nullopt));
  memory_.begin(kTarget);
  memory_.at(kTarget)[15] ^= std::byte{0x55};
  EXPECT_THAT(memory_.settle_either(kTarget, Pattern{6}), Optional(HasSubstr("byte 15 of shared[100+50]")));
}

TEST(Pattern, ContinuesAcrossPiecesOfAnySize) {
  std::array<std::byte, 64> whole{};
  fill(whole, Pattern{9});
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    const auto bytes = std::span<const std::byte>(whole);
    EXPECT_EQ(first_mismatch(bytes.first(cut), Pattern{9}), cut);
    EXPECT_EQ(first_mismatch(bytes.subspan(cut), Pattern{9}, cut), whole.size() - cut);
  }
}

TEST(Pattern, DiffersFromAnotherAndFromItselfShifted) {
  std::array<std::byte, 64> bytes{};
  fill(bytes, Pattern{9});
  EXPECT_LT(first_mismatch(bytes, Pattern{10}), 8u);
  EXPECT_LT(first_mismatch(bytes, Pattern{9}, 8), 8u);
}

}  // namespace
}  // namespace urnic::sim
