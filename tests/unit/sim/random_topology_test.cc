// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/seeds/scenario/random_topology.h"

#include <gtest/gtest.h>

#include "tools/simulation/seeds/scenario/options.h"

namespace urnic::sim {
namespace {

TEST(RandomTopology, IsAlwaysOneThatANetworkCanBeMadeOf) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    const Options options = Options::draw(seed, {.path = PathKind::kSwitched});
    ASSERT_TRUE(options.topology);
    const auto checked = network::check(*options.topology);
    ASSERT_TRUE(checked) << "seed " << seed << ": " << checked.error().message;
    EXPECT_EQ(options.topology->hosts.size(), options.hosts);
  }
}

TEST(RandomTopology, LeavesWhatElseASeedDrawsAlone) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Options switched = Options::draw(seed, {.path = PathKind::kSwitched});
    const std::string text = switched.to_string();
    switched.topology.reset();
    EXPECT_EQ(switched.to_string(), Options::draw(seed, {.path = PathKind::kDirect}).to_string());
    EXPECT_NE(switched.to_string(), text);
  }
}

TEST(RandomTopology, OneSeedInThreeHasOne) {
  int count = 0;
  for (std::uint64_t seed = 1; seed <= 900; ++seed) count += Options::draw(seed).topology ? 1 : 0;
  EXPECT_NEAR(count, 300, 60);
}

TEST(RandomTopology, SomeHaveMoreThanOneWayAndLinksThatAreCut) {
  int with_more_ways = 0;
  int with_outages = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed, Stream::kTopology);
    const network::Topology topology = draw_random_topology(4, random);
    // A tree has one link less than nodes.
    with_more_ways += topology.links.size() > topology.switches.size() + 4 - 1 ? 1 : 0;
    for (const network::Link& link : topology.links) with_outages += link.outages.empty() ? 0 : 1;
  }
  EXPECT_GT(with_more_ways, 100);
  EXPECT_GT(with_outages, 100);
}

}  // namespace
}  // namespace urnic::sim
