// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/wire/own_qp.h"

#include <gtest/gtest.h>

#include <set>

namespace urnic::conform {
namespace {

constexpr nic::NumberShare kAlone{};
constexpr nic::NumberShare kShare{.bits = nic::NumberShare::kHostBits, .value = 7};

TEST(OwnQp, IsAnotherInEachCaseForLong) {
  std::set<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < 4096; ++i) numbers.insert(own_qp(kAlone, i));
  EXPECT_EQ(numbers.size(), 4096u);
  EXPECT_EQ(own_qp(kAlone, 4096), own_qp(kAlone, 0));
}

TEST(OwnQp, IsNoNumberThatHasAMeaning) {
  EXPECT_GT(own_qp(kAlone, 0), 1u);
  EXPECT_LT(as_destination(own_qp(kAlone, 4095), kMostDestinations), 0xffffffu);
}

// The host's sockets go by the highest 8 bits (drivers/host/packet_filter.h).
TEST(OwnQp, IsOfTheShareAsEveryDestination) {
  for (const std::uint32_t place : {0u, 1u, kMostDestinations}) {
    EXPECT_EQ(as_destination(own_qp(kShare, 4095), place) >> 16, 7u) << place;
  }
}

TEST(OwnQp, StandsForADestination) {
  const std::uint32_t number = as_destination(own_qp(kShare, 300), 15);
  EXPECT_EQ(place_in(number), 15u);
  EXPECT_EQ(without_place(number), own_qp(kShare, 300));
  EXPECT_EQ(place_in(own_qp(kShare, 4095)), 0u);
}

}  // namespace
}  // namespace urnic::conform
