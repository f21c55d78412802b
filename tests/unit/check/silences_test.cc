// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/silences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/check/capture_edit.h"
#include "tools/conformance/check/checker.h"

namespace urnic::check::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Silence silence(std::int64_t ns, std::uint64_t from, std::uint64_t to,
                SilenceKind kind = SilenceKind::kPause) {
  return {.kind = kind, .begin = {.frame = from}, .end = Landmark{.frame = to}, .ns = ns};
}

std::vector<std::int64_t> lengths(const Silences& silences) {
  std::vector<std::int64_t> list;
  for (const Silence& one : silences.longest()) list.push_back(one.ns);
  return list;
}

TEST(Silences, KeepTheLongestInOrder) {
  Silences silences(3);
  std::uint64_t frame = 0;
  for (const std::int64_t ns : {5, 9, 1, 7, 7, 8}) {
    silences.add(silence(ns, frame, frame + 1));
    ++frame;
  }
  EXPECT_THAT(lengths(silences), ElementsAre(9, 8, 7));
  EXPECT_EQ(silences.longest()[2].begin.frame, 3u) << "of two that are equally long, the earlier one";
  EXPECT_FALSE(silences.would_keep(7));
  EXPECT_TRUE(silences.would_keep(8));
}

TEST(Silences, CountTheSameFramesOnce) {
  Silences silences(3);
  silences.add(silence(5, 1, 2, SilenceKind::kAnswer));
  silences.add(silence(5, 1, 2));
  ASSERT_EQ(silences.longest().size(), 1u);
  EXPECT_EQ(silences.longest()[0].kind, SilenceKind::kAnswer);
}

TEST(Silences, KeepNothingWhereNothingIsWanted) {
  Silences silences(0);
  silences.add(silence(5, 1, 2));
  EXPECT_FALSE(silences.would_keep(5));
  EXPECT_THAT(silences.longest(), IsEmpty());
}

/// Frames 1 and 2 of vs_tos are a request and its answer, and so are 3 and 4.
TEST(Silences, TellAPauseBetweenMessagesFromAWait) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  for (const std::size_t delayed : {3u, 4u}) {
    Capture capture = Capture::fixture("vs_tos");
    capture.delay(delayed, kSecond);
    check_capture(capture, {.keeping = {.silences = 1}}, [&](const Checker& checker) {
      ASSERT_EQ(checker.connections().silences().longest().size(), 1u);
      const Silence& longest = checker.connections().silences().longest()[0];
      EXPECT_GT(longest.ns, kSecond);
      EXPECT_EQ(longest.begin.frame, delayed - 1);
      EXPECT_EQ(longest.end->frame, delayed);
      EXPECT_EQ(longest.kind, delayed == 3 ? SilenceKind::kPause : SilenceKind::kAnswer);
      EXPECT_EQ(longest.is_idle, delayed == 3);
    });
  }
}

}  // namespace
}  // namespace urnic::check::test
