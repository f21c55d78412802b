// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace urnic::check::test {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(Choice, ReadsOneQueuePairOrTwo) {
  EXPECT_THAT(read_queue_pairs("0x11"), Optional(ElementsAre(0x11u)));
  EXPECT_THAT(read_queue_pairs("17"), Optional(ElementsAre(17u)));
  EXPECT_THAT(read_queue_pairs("0xffffff:0"), Optional(ElementsAre(0xffffffu, 0u)));
  for (const char* const text : {"", ":", "1:", ":1", "1:2:3", "-1", "0x", "0x1000000", "x", "1 ", "+1"}) {
    EXPECT_EQ(read_queue_pairs(text), std::nullopt) << text;
  }
}

TEST(Choice, ReadsOneAddressOrTwo) {
  const auto text_of = [](const char* text) {
    std::vector<std::string> texts;
    const auto addresses = read_addresses(text);
    if (!addresses) return texts;
    for (const Address& address : *addresses) texts.push_back(to_string(address));
    return texts;
  };
  EXPECT_THAT(text_of("10.0.0.1"), ElementsAre("10.0.0.1"));
  EXPECT_THAT(text_of("::ffff:10.0.0.1"), ElementsAre("10.0.0.1"));
  EXPECT_THAT(text_of("fd00::1,10.0.0.2"), ElementsAre("fd00::1", "10.0.0.2"));
  for (const char* const text : {"", ",", "10.0.0", "10.0.0.1,", "fd00::1,fd00::2,fd00::3", "host"}) {
    EXPECT_EQ(read_addresses(text), std::nullopt) << text;
  }
}

TEST(Choice, SaysWhatItIs) {
  const Choice choice{.queue_pairs = {0x11}, .addresses = *read_addresses("10.0.0.1")};
  EXPECT_EQ(to_string(choice), "queue pair 0x000011 and address 10.0.0.1");
  EXPECT_FALSE(choice.takes_all());
  EXPECT_TRUE(Choice{}.takes_all());
}

}  // namespace
}  // namespace urnic::check::test
