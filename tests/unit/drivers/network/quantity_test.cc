// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/network/quantity.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string_view>

namespace urnic::network {
namespace {

using namespace std::chrono_literals;

TEST(Quantity, ReadsRates) {
  EXPECT_EQ(parse_rate("1b/s"), 1u);
  EXPECT_EQ(parse_rate("100Gb/s"), 100'000'000'000u);
  EXPECT_EQ(parse_rate("2.5Gb/s"), 2'500'000'000u);
  EXPECT_EQ(parse_rate("1.6Tb/s"), 1'600'000'000'000u);
  EXPECT_EQ(parse_rate("64kb/s"), 64'000u);
}

TEST(Quantity, ReadsTimes) {
  EXPECT_EQ(parse_duration("0ns"), 0ns);
  EXPECT_EQ(parse_duration("1us"), 1us);
  EXPECT_EQ(parse_duration("1.5ms"), 1500us);
  EXPECT_EQ(parse_duration("0.000000001s"), 1ns);
}

TEST(Quantity, ReadsSizes) {
  EXPECT_EQ(parse_size("9216B"), 9216u);
  EXPECT_EQ(parse_size("64KiB"), 65536u);
  EXPECT_EQ(parse_size("100kB"), 100'000u);
  EXPECT_EQ(parse_size("1.5MiB"), 1572864u);
  EXPECT_EQ(parse_size("1GiB"), 1073741824u);
}

TEST(Quantity, RefusesWhatIsNotExactlyOne) {
  for (const std::string_view text : {"",
                                      "1",
                                      "us",
                                      "1 us",
                                      " 1us",
                                      "1us ",
                                      "-1us",
                                      "+1us",
                                      "1e3us",
                                      "0x1us",
                                      "1.us",
                                      ".5us",
                                      "1.2.3us",
                                      "1US",
                                      "1sec",
                                      "0.5ns",
                                      "1,5us",
                                      "1.0000000001s",
                                      "9223372036855s",
                                      "99999999999999999999ns"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
  for (const std::string_view text : {"100", "100Gbps", "100gb/s", "100GB/s", "0.5b/s", "1000000000Tb/s"}) {
    EXPECT_FALSE(parse_rate(text)) << text;
  }
  for (const std::string_view text : {"64", "64K", "64KB", "64kib", "0.3B", "0.3KiB", "99999999999GiB"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

}  // namespace
}  // namespace urnic::network
