// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What may stand in a file of congestion control.
#include "nic/congestion/parameter_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <variant>

namespace urnic::nic {
namespace {

using transport::congestion::Choice;
using transport::congestion::DcqcnParameters;
using transport::congestion::FixedParameters;
using transport::congestion::NotificationParameters;

constexpr const char* kStep = "ecn/roce_rp/rpg_ai_rate";

class ParameterFileTest : public testing::Test {
 protected:
  Result<void, Error> set(const std::string& name, const std::string& text) {
    return set_parameter_file(name, text, choice_, notifications_);
  }
  const DcqcnParameters& dcqcn() const { return std::get<DcqcnParameters>(choice_.parameters); }

  Choice choice_{.parameters = DcqcnParameters{}};
  NotificationParameters notifications_;
};

TEST_F(ParameterFileTest, TakesANumberWithOrWithoutALineFeed) {
  EXPECT_TRUE(set(kStep, "50\n"));
  EXPECT_EQ(dcqcn().rpg_ai_rate, 50u);
  EXPECT_TRUE(set(kStep, "1000000"));
  EXPECT_EQ(dcqcn().rpg_ai_rate, 1'000'000u);
  EXPECT_TRUE(set("ecn/roce_np/cnp_dscp", "63\n"));
  EXPECT_EQ(notifications_.cnp_dscp, 63u);
}

TEST_F(ParameterFileTest, TakesBackWhatItShows) {
  for (const ParameterFile& file : parameter_files(choice_, notifications_)) {
    EXPECT_TRUE(set(file.name, std::to_string(file.value) + '\n')) << file.name;
  }
}

TEST_F(ParameterFileTest, TakesNothingElse) {
  using namespace std::string_literals;
  for (const std::string& text :
       {""s, "\n"s, "-1"s, "+5"s, "1000001"s, "4294967297"s, "99999999999999999999999"s, "5 6"s, "5\n6\n"s,
        "5\n\n"s, " 5"s, "5 "s, "0x5"s, "5.0"s, "5\0"s, "\xff\xfe"s, std::string(64, '1')}) {
    const auto taken = set(kStep, text);
    ASSERT_FALSE(taken) << text;
    EXPECT_EQ(taken.error().code, EINVAL);
    EXPECT_THAT(taken.error().message, testing::HasSubstr("it is a whole number from 0 to 1000000"));
    EXPECT_EQ(dcqcn().rpg_ai_rate, DcqcnParameters{}.rpg_ai_rate) << text;
  }
}

TEST_F(ParameterFileTest, QuotesOnlyWhatATerminalCanShow) {
  EXPECT_THAT(set(kStep, "fast\n").error().message, testing::StartsWith("rpg_ai_rate cannot be 'fast':"));
  EXPECT_THAT(set(kStep, "\x1b[2J").error().message,
              testing::StartsWith("rpg_ai_rate cannot be what was written:"));
}

TEST_F(ParameterFileTest, KnowsTheNamesThatItShowsOnly) {
  for (const char* const name : {"ecn/roce_np/enable", "ecn/roce_np/per_address", "ecn/roce_rp/line_rate",
                                 "ecn/roce_np/rpg_ai_rate", "node_guid", ""}) {
    EXPECT_EQ(set(name, "1").error().code, ENOENT) << name;
  }
  choice_.parameters = FixedParameters{};
  EXPECT_EQ(set(kStep, "1").error().code, ENOENT);
  EXPECT_EQ(std::get<FixedParameters>(choice_.parameters).rate, FixedParameters{}.rate);
}

}  // namespace
}  // namespace urnic::nic
