// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/fault_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "tests/support/value_of.h"

namespace urnic::drivers {
namespace {

using testing::HasSubstr;

FaultSpec parsed(std::string_view text) {
  return urnic::test::value_of(FaultSpec::parse(text));
}

std::string refusal(std::string_view text) {
  const auto spec = FaultSpec::parse(text);
  EXPECT_FALSE(spec) << text;
  EXPECT_TRUE(spec || spec.error().code == EINVAL);
  return spec ? "" : spec.error().message;
}

TEST(FaultSpec, ReadsEveryKey) {
  const FaultSpec spec = parsed(
      "loss=0.01,dup=0.005,reorder=0.25,corrupt=1e-3,truncate=1,gap=5,seed=18446744073709551615,direction="
      "tx");
  EXPECT_DOUBLE_EQ(spec.loss, 0.01);
  EXPECT_DOUBLE_EQ(spec.duplicate, 0.005);
  EXPECT_DOUBLE_EQ(spec.reorder, 0.25);
  EXPECT_DOUBLE_EQ(spec.corrupt, 0.001);
  EXPECT_DOUBLE_EQ(spec.truncate, 1);
  EXPECT_EQ(spec.gap, 5u);
  EXPECT_EQ(spec.seed, 18446744073709551615u);
  EXPECT_EQ(spec.direction, FaultSpec::Direction::kTransmit);
  EXPECT_EQ(parsed("direction=rx").direction, FaultSpec::Direction::kReceive);
}

TEST(FaultSpec, DoesNothingInBothDirectionsUnlessTold) {
  const FaultSpec spec = parsed("seed=7");
  EXPECT_EQ(spec.loss + spec.duplicate + spec.reorder + spec.corrupt + spec.truncate, 0);
  EXPECT_TRUE(spec.afflicts_transmit());
  EXPECT_TRUE(spec.afflicts_receive());
}

TEST(FaultSpec, WritesWhatItReads) {
  for (const std::string_view text :
       {"seed=1", "loss=0.01,seed=7",
        "loss=1,dup=0.5,reorder=0.125,corrupt=0.001,truncate=0.1,gap=9,direction=rx,seed=3"}) {
    EXPECT_EQ(parsed(text).to_string(), text);
  }
}

TEST(FaultSpec, RefusesWhatIsNoProbability) {
  for (const std::string_view value : {"", "x", "1.1", "-0.1", "nan", "inf", "0.1x", "5%", " 0.1"}) {
    EXPECT_THAT(refusal("loss=" + std::string(value)),
                HasSubstr("from 0 to 1, not '" + std::string(value) + "'"));
  }
}

TEST(FaultSpec, RefusesNumbersOutOfRange) {
  EXPECT_THAT(refusal("gap=0"), HasSubstr("from 1 to 64"));
  EXPECT_THAT(refusal("gap=65"), HasSubstr("from 1 to 64"));
  EXPECT_THAT(refusal("seed=-1"), HasSubstr("not '-1'"));
  EXPECT_THAT(refusal("seed=18446744073709551616"), HasSubstr("seed"));
  EXPECT_THAT(refusal("direction=up"), HasSubstr("tx, rx or both, not 'up'"));
}

TEST(FaultSpec, NamesTheKeysWhenAnItemIsNone) {
  for (const std::string_view text : {"", "loss", "loss=0.1,", ",", "speed=1", "Loss=0.1", "=1"}) {
    EXPECT_THAT(refusal(text), HasSubstr("loss=P, dup=P")) << text;
  }
}

TEST(FaultSpec, RefusesAKeyGivenTwice) {
  EXPECT_THAT(refusal("loss=0.1,loss=0.1"), HasSubstr("'loss' is given twice"));
}

}  // namespace
}  // namespace urnic::drivers
