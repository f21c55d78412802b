// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/models/atomic_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace urnic::sim {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

class AtomicModelTest : public ::testing::Test {
 protected:
  void add(std::uint64_t queue, std::uint64_t id, std::uint64_t operand) {
    model_.on_posted(queue, id, {.operand = operand});
  }
  void swap(std::uint64_t queue, std::uint64_t id, std::uint64_t compare, std::uint64_t operand) {
    model_.on_posted(queue, id, {.is_swap = true, .compare = compare, .operand = operand});
  }

  AtomicModel model_{1000};
};

TEST_F(AtomicModelTest, AcceptsWhatTwoQueuePairsDidInEitherOrder) {
  add(1, 11, 5);
  add(2, 21, 70);
  EXPECT_TRUE(model_.on_succeeded(11, 1070));
  EXPECT_TRUE(model_.on_succeeded(21, 1000));
  EXPECT_THAT(model_.judge(1075), Eq(std::nullopt));
}

TEST_F(AtomicModelTest, ComplainsAboutOneThatWasExecutedTwice) {
  add(1, 11, 5);
  model_.on_succeeded(11, 1000);
  EXPECT_THAT(model_.judge(1010), Optional(HasSubstr("each executed once")));
}

TEST_F(AtomicModelTest, ComplainsAboutOneThatWasNotExecuted) {
  add(1, 11, 5);
  model_.on_succeeded(11, 1000);
  EXPECT_THAT(model_.judge(1000), Optional(HasSubstr("1 atomics that succeeded")));
}

TEST_F(AtomicModelTest, ComplainsWhenTwoFoundTheSame) {
  add(1, 11, 5);
  add(2, 21, 70);
  model_.on_succeeded(11, 1000);
  model_.on_succeeded(21, 1000);
  EXPECT_THAT(model_.judge(1075), Optional(HasSubstr("cannot have made")));
}

TEST_F(AtomicModelTest, ComplainsAboutTheOrderOnOneQueuePair) {
  add(1, 11, 5);
  add(1, 12, 70);
  model_.on_succeeded(11, 1070);
  model_.on_succeeded(12, 1000);
  EXPECT_TRUE(model_.judge(1075));
}

TEST_F(AtomicModelTest, ComplainsWhenOneActedBeforeItWasPosted) {
  add(1, 11, 5);
  model_.on_succeeded(11, 1070);
  add(2, 21, 70);
  model_.on_succeeded(21, 1000);
  EXPECT_TRUE(model_.judge(1075));
}

TEST_F(AtomicModelTest, OneThatFailedMayHaveBeenExecutedOrNot) {
  add(1, 11, 5);
  model_.on_failed(11);
  EXPECT_THAT(model_.judge(1000), Eq(std::nullopt));
  EXPECT_THAT(model_.judge(1005), Eq(std::nullopt));
  EXPECT_TRUE(model_.judge(1010));
}

TEST_F(AtomicModelTest, OneThatFailedIsNotExecutedAfterwards) {
  add(1, 11, 5);
  model_.on_failed(11);
  add(2, 21, 70);
  model_.on_succeeded(21, 1000);
  EXPECT_TRUE(model_.judge(1075));
}

TEST_F(AtomicModelTest, ASwapInVainMayHaveComeBeforeWhatChangedTheNumber) {
  add(1, 11, 5);
  swap(2, 21, 7, 5000);
  EXPECT_TRUE(model_.on_succeeded(11, 1000));
  EXPECT_FALSE(model_.on_succeeded(21, 1000));
  EXPECT_THAT(model_.judge(1005), Eq(std::nullopt));
}

// It was executed while the number was 1000, before the addition; the next one of its queue pair came after
// that.
TEST_F(AtomicModelTest, ASwapThatFailedMayHaveComeInVainBeforeItsNumberWasThere) {
  swap(1, 11, 1070, 5000);
  add(1, 12, 5);
  add(2, 21, 70);
  model_.on_succeeded(21, 1000);
  model_.on_failed(11);
  model_.on_failed(12);
  EXPECT_THAT(model_.judge(1075), Eq(std::nullopt));
  EXPECT_THAT(model_.judge(5005), Eq(std::nullopt));
  EXPECT_TRUE(model_.judge(1080));
}

TEST_F(AtomicModelTest, SwapsThatFailedMayHaveComeInVainOneAfterTheOther) {
  swap(1, 11, 1000, 2000);
  swap(1, 12, 7, 8);
  swap(1, 13, 3000, 4000);
  add(1, 14, 5);
  swap(2, 21, 2000, 3000);
  model_.on_succeeded(21, 2000);
  for (const std::uint64_t id : {11, 12, 13, 14}) model_.on_failed(id);
  EXPECT_THAT(model_.judge(3005), Eq(std::nullopt)) << "12 and 13 came before 21, and 14 after it";
  EXPECT_TRUE(model_.judge(3010));
}

TEST_F(AtomicModelTest, ASwapThatWasPostedWhenItsNumberWasThereHasNotComeInVain) {
  add(2, 21, 70);
  model_.on_succeeded(21, 1000);
  swap(1, 11, 1070, 5000);
  add(1, 12, 5);
  model_.on_failed(11);
  model_.on_failed(12);
  EXPECT_TRUE(model_.judge(1075));
  EXPECT_THAT(model_.judge(5005), Eq(std::nullopt));
}

TEST_F(AtomicModelTest, ASwapBehindTheOneThatMadeItsNumberHasNotComeInVain) {
  add(1, 11, 70);
  swap(1, 12, 1070, 5000);
  add(1, 13, 5);
  model_.on_succeeded(11, 1000);
  model_.on_failed(12);
  model_.on_failed(13);
  EXPECT_TRUE(model_.judge(1075));
  EXPECT_THAT(model_.judge(5005), Eq(std::nullopt));
}

TEST_F(AtomicModelTest, ASwapHappensOnlyWhereItsNumberIs) {
  swap(1, 11, 7, 5000);
  EXPECT_FALSE(model_.on_succeeded(11, 1000));
  swap(1, 12, 1000, 6000);
  EXPECT_TRUE(model_.on_succeeded(12, 1000));
  EXPECT_THAT(model_.judge(6000), Eq(std::nullopt));
  EXPECT_TRUE(model_.judge(1000));
  EXPECT_TRUE(model_.judge(5000));
}

}  // namespace
}  // namespace urnic::sim
