// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/adversary/act_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace urnic::nic {
namespace {

using testing::ElementsAre;

TEST(ActLog, KeepsTheLastOnes) {
  ActLog log;
  EXPECT_TRUE(log.last(3).empty());
  for (int i = 1; i <= 1000; ++i) log.add("act " + std::to_string(i));
  EXPECT_EQ(log.count(), 1000u);
  EXPECT_THAT(log.last(2), ElementsAre("act 999", "act 1000"));
  EXPECT_EQ(log.last(5000).size(), ActLog::kLines);
}

TEST(ActLog, CutsALongLine) {
  ActLog log;
  log.add(std::string(1000, 'x'));
  log.add("next");
  EXPECT_EQ(log.last(2).front().find_first_not_of('x'), std::string::npos);
  EXPECT_EQ(log.last(1).front(), "next");
}

// Another process reads it, even if this one has crashed.
TEST(ActLog, CanBeReadFromItsFile) {
  const std::string file = testing::TempDir() + "/urnic_act_log";
  EXPECT_TRUE(ActLog::last_in_file(file, 3).empty());
  {
    ActLog log;
    ASSERT_TRUE(log.use_file(file));
    for (int i = 1; i <= 300; ++i) log.add("act " + std::to_string(i));
    EXPECT_THAT(log.last(2), ElementsAre("act 299", "act 300"));
    EXPECT_THAT(ActLog::last_in_file(file, 3), ElementsAre("act 298", "act 299", "act 300"));
  }
  std::filesystem::remove(file);
}

TEST(ActLog, SaysWhyAFileCannotBeWritten) {
  ActLog log;
  const auto used = log.use_file("/nonexistent/file");
  ASSERT_FALSE(used);
  EXPECT_THAT(used.error().message, testing::HasSubstr("/nonexistent/file"));
  log.add("in memory still");
  EXPECT_EQ(log.count(), 1u);
}

}  // namespace
}  // namespace urnic::nic
