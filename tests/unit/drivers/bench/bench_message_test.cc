// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/bench/bench_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/drivers/bench/played_bench.h"

namespace urnic::drivers::test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kMostBytes = 100;

std::string refusal_of_hello(const Bytes& message) {
  const auto hello = parse_bench_hello(std::as_bytes(std::span(message)));
  return hello ? "" : hello.error().message;
}

std::string refusal(const Bytes& message) {
  const auto parsed = parse_bench_message(std::as_bytes(std::span(message)), kMostBytes);
  return parsed ? "" : parsed.error().message;
}

TEST(BenchMessage, ReadsAHello) {
  const Bytes message = Written::hello(1'500'000, 1500);
  const auto hello = parse_bench_hello(std::as_bytes(std::span(message)));
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello.value().latency_ps, 1'500'000u);
  EXPECT_EQ(hello.value().link_mtu, 1500);
  EXPECT_EQ(to_string(hello.value().mac), "02:00:0a:00:00:09");
  EXPECT_EQ(to_string(hello.value().ipv4), "10.0.0.9");
}

TEST(BenchMessage, WritesAHelloAsOthersDo) {
  const BenchHello hello{
      .latency_ps = 1'500'000, .mac = {{2, 0, 10, 0, 0, 9}}, .link_mtu = 1500, .ipv4 = {{10, 0, 0, 9}}};
  const Bytes expected = Written::hello(1'500'000, 1500);
  const auto written = to_bytes(hello);
  ASSERT_EQ(written.size(), expected.size());
  EXPECT_EQ(std::memcmp(written.data(), expected.data(), expected.size()), 0);
}

TEST(BenchMessage, RefusesAnotherVersionWhateverItsLength) {
  EXPECT_THAT(refusal_of_hello(Written::hello(5000, 1500, 2)), HasSubstr("version 2"));
  Bytes longer = Written::hello(5000, 1500, 7);
  longer.resize(50);
  EXPECT_THAT(refusal_of_hello(longer), HasSubstr("version 7"));
}

TEST(BenchMessage, RefusesWhatIsNoHello) {
  EXPECT_THAT(refusal_of_hello(Bytes(7)), HasSubstr("7 bytes"));
  EXPECT_THAT(refusal_of_hello(Written::grant(1)), HasSubstr("kind 2"));
  Bytes shorter = Written::hello(5000);
  shorter.resize(31);
  EXPECT_THAT(refusal_of_hello(shorter), HasSubstr("31 bytes instead of 32"));
}

TEST(BenchMessage, RefusesALatencyThatLeavesNothingToGrant) {
  EXPECT_THAT(refusal_of_hello(Written::hello(1999)), HasSubstr("1999 ps"));
  EXPECT_EQ(refusal_of_hello(Written::hello(2000)), "");
  EXPECT_EQ(refusal_of_hello(Written::hello(1'000'000'000'000)), "");
  EXPECT_THAT(refusal_of_hello(Written::hello(1'000'000'000'001)), HasSubstr("ps"));
}

TEST(BenchMessage, ReadsAFrameOfEachPossibleLength) {
  for (const std::size_t length : {std::size_t{14}, kMostBytes}) {
    const Bytes message = Written::frame(77, Bytes(length, 0xab));
    const auto parsed = parse_bench_message(std::as_bytes(std::span(message)), kMostBytes);
    ASSERT_TRUE(parsed) << length;
    EXPECT_EQ(parsed.value().kind, BenchKind::kFrame);
    EXPECT_EQ(parsed.value().time_ps, 77u);
    EXPECT_EQ(parsed.value().frame.size(), length);
  }
  EXPECT_THAT(refusal(Written::frame(77, Bytes(13))), HasSubstr("13 bytes"));
  EXPECT_THAT(refusal(Written::frame(77, Bytes(kMostBytes + 1))), HasSubstr("101 bytes"));
}

TEST(BenchMessage, RefusesWhatIsNeitherGrantNorFrame) {
  EXPECT_EQ(refusal(Written::grant(5)), "");
  EXPECT_THAT(refusal(Bytes(15)), HasSubstr("15 bytes, and no header"));
  EXPECT_THAT(refusal(Written::hello(5000)), HasSubstr("kind 1"));
  Bytes grant = Written::grant(5);
  grant[0] = 4;
  EXPECT_THAT(refusal(grant), HasSubstr("kind 4"));
}

TEST(BenchMessage, RefusesALengthThatIsNotTheMessages) {
  Bytes shorter = Written::frame(5, Bytes(60));
  shorter.pop_back();
  EXPECT_THAT(refusal(shorter), HasSubstr("says that 60 follow"));
  Bytes grant = Written::grant(5);
  grant.push_back(0);
  EXPECT_THAT(refusal(grant), HasSubstr("says that 0 follow"));
  grant[4] = 1;
  EXPECT_THAT(refusal(grant), HasSubstr("a grant has 1 bytes"));
}

TEST(BenchMessage, RefusesATimeAfterAllTimes) {
  EXPECT_EQ(refusal(Written::grant(kLastBenchTimePs)), "");
  EXPECT_THAT(refusal(Written::grant(kLastBenchTimePs + 1)), HasSubstr("a time of"));
  EXPECT_THAT(refusal(Written::frame(UINT64_MAX, Bytes(60))), HasSubstr("a time of"));
}

}  // namespace
}  // namespace urnic::drivers::test
