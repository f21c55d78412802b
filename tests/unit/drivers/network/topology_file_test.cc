// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/network/topology_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace urnic::network {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::string shipped(const std::string& name) {
  std::ifstream file(std::string(URNIC_TOPOLOGIES) + "/" + name + ".json");
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr std::string_view kValid = R"({
  "profiles": [{"name": "p", "buffer": "1MiB", "priorities": {
    "3": {"ecn": {"kmin": "5kB", "kmax": "200kB", "pmax": 0.01}, "lossless": {"xoff": "64KiB", "headroom": "32KiB"}}}}],
  "switches": [{"name": "s", "profile": "p"}],
  "hosts": ["a", {"name": "b", "queue": "128KiB"}],
  "links": [{"ends": ["a", "s"], "rate": "100Gb/s", "delay": "1us"},
            {"ends": ["s", "b"], "rate": "25Gb/s", "delay": "500ns", "down": [{"from": "1ms", "until": "2ms"}, {"from": "3ms"}]}]
})";

/// What is said of kValid with `to` in place of `from`.
std::string complaint(std::string_view from, std::string_view to) {
  std::string text(kValid);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto topology = parse_topology(text);
  EXPECT_FALSE(topology) << text;
  if (topology) return "";
  EXPECT_EQ(topology.error().code, EINVAL);
  return topology.error().message;
}

TEST(TopologyFile, ReadsEveryMember) {
  const auto parsed = parse_topology(kValid);
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Topology& topology = parsed.value();
  ASSERT_EQ(topology.hosts.size(), 2u);
  EXPECT_EQ(topology.hosts[0].name, "a");
  EXPECT_EQ(topology.hosts[0].queue_bytes, 65536u);
  EXPECT_EQ(topology.hosts[1].queue_bytes, 131072u);
  ASSERT_EQ(topology.links.size(), 2u);
  EXPECT_EQ(topology.links[1].rate_bps, 25'000'000'000u);
  EXPECT_EQ(topology.links[1].delay, 500ns);
  EXPECT_THAT(topology.links[1].ends, ElementsAre(Node{Node::Kind::kSwitch, 0}, Node{Node::Kind::kHost, 1}));
  ASSERT_EQ(topology.links[1].outages.size(), 2u);
  EXPECT_EQ(topology.links[1].outages[0].up, 2ms);
  EXPECT_FALSE(topology.links[1].outages[1].up);

  const PriorityProfile& lossless = topology.profiles[0].priorities[3];
  ASSERT_TRUE(lossless.lossless && lossless.marking);
  EXPECT_EQ(lossless.lossless->xoff_bytes, 65536u);
  EXPECT_EQ(lossless.lossless->headroom_bytes, 32768u);
  EXPECT_EQ(lossless.marking->kmin_bytes, 5000u);
  EXPECT_EQ(lossless.marking->kmax_bytes, 200'000u);
  EXPECT_DOUBLE_EQ(lossless.marking->pmax, 0.01);
  EXPECT_FALSE(topology.profiles[0].priorities[0].lossless);
}

TEST(TopologyFile, MapsDscpsAsSonicAndLabsDoUnlessTold) {
  const auto map = default_dscp_map();
  for (std::size_t dscp = 0; dscp < kDscps; ++dscp) {
    const unsigned expected = dscp == 3 || dscp == 26 ? 3 : dscp == 4 ? 4 : dscp == 48 ? 6 : 0;
    EXPECT_EQ(map[dscp], expected) << dscp;
  }
  std::string text(kValid);
  text.replace(text.find("\"buffer\""), 0, R"("dscp": {"26": 5, "0": 1}, )");
  const auto parsed = parse_topology(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed.value().profiles[0].dscp_to_priority[26], 5);
  EXPECT_EQ(parsed.value().profiles[0].dscp_to_priority[0], 1);
  EXPECT_EQ(parsed.value().profiles[0].dscp_to_priority[48], 6);
}

TEST(TopologyFile, LetsAPriorityAddToTheDefault) {
  std::string text(kValid);
  text.replace(text.find("\"3\": {"), 0,
               R"("default": {"limit": "9kB", "weight": 2}, "6": {"weight": "strict"}, )");
  const auto parsed = parse_topology(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto& priorities = parsed.value().profiles[0].priorities;
  EXPECT_EQ(priorities[0].limit_bytes, 9000u);
  EXPECT_EQ(priorities[0].weight, 2u);
  EXPECT_EQ(priorities[3].weight, 2u);
  EXPECT_TRUE(priorities[3].lossless);
  EXPECT_EQ(priorities[6].weight, 0u);
  EXPECT_EQ(priorities[6].limit_bytes, 9000u);
}

TEST(TopologyFile, LoadsWhatIsShipped) {
  for (const char* const name : {"dumbbell", "incast", "leaf_spine", "pfc_ring"}) {
    const auto topology = parse_topology(shipped(name));
    ASSERT_TRUE(topology) << name << ": " << topology.error().message;
    EXPECT_EQ(topology.value().name, name);
  }
}

TEST(TopologyFile, AllowsComments) {
  EXPECT_TRUE(parse_topology("// one\n/* two */" + std::string(kValid)));
}

struct Spoilt {
  std::string_view from, to, complaint;
};

constexpr Spoilt kSpoilt[] = {
    {"{", "", "topology: no JSON: line 2, column"},
    {"\"1MiB\"", "\"1MiB", "topology: no JSON: line 2, column 48"},
    {"{\"name\": \"s\"", "{\"name\": \"s\", \"name\": \"t\"",
     "the member \"name\" is given twice in one object"},
    {"\"hosts\"", "\"routers\"",
     "there is no member \"routers\"; there are name, profiles, switches, hosts, links"},
    {"\"xoff\"", "\"xof\"", "profiles[0].priorities.3.lossless: there is no member \"xof\""},
    {"\"kmin\"", "\"Kmin\"", "profiles[0].priorities.3.ecn: there is no member \"Kmin\""},
    {"\"from\": \"3ms\"", "\"at\": \"3ms\"", "links[1].down[1]: there is no member \"at\""},
    {"\"rate\": \"25Gb/s\", ", "", "links[1]: the member 'rate' is missing"},
    {"\"delay\": \"1us\"", "\"down\": []", "links[0]: the member 'delay' is missing"},
    {", \"headroom\": \"32KiB\"", "", "profiles[0].priorities.3.lossless: the member 'headroom' is missing"},
    {"\"name\": \"b\", ", "", "hosts[1]: the member 'name' is missing"},
    {", \"profile\": \"p\"", "", "switches[0]: the member 'profile' is missing"},
    {"\"profile\": \"p\"", "\"profile\": \"q\"", "switches[0].profile: there is no profile \"q\""},
    {"\"25Gb/s\"", "\"25Gbps\"", "links[1].rate: \"25Gbps\" is no rate; write a number with b/s"},
    {"\"25Gb/s\"", "25", "links[1].rate: 25 is no rate"},
    {"\"25Gb/s\"", "\"1kb/s\"", "links[1].rate: 1Mb/s to 10Tb/s, not 1000 bit/s"},
    {"\"500ns\"", "\"half a second\"", "links[1].delay: \"half a second\" is no time"},
    {"\"500ns\"", "\"2s\"", "links[1].delay: 0ns to 1s"},
    {"\"1MiB\"", "\"1Mib\"", "profiles[0].buffer: \"1Mib\" is no size"},
    {"\"1MiB\"", "\"0B\"", "profiles[0].buffer: 1B to 64GiB"},
    {"\"1MiB\"", "\"64KiB\"", "switches[0]: the headrooms of its 2 ports leave nothing"},
    {"\"5kB\"", "\"500kB\"", "profiles[0].priorities.3.ecn: kmin (500000) is more than kmax (200000)"},
    {"0.01", "1.5", "profiles[0].priorities.3.ecn.pmax: a probability is 0 to 1, not 1.5"},
    {"0.01", "\"1%\"", "profiles[0].priorities.3.ecn.pmax: a number such as 0.125 belongs here"},
    {"\"pmax\": 0.01", "\"pmax\": 0.01, \"not_ect\": \"keep\"",
     "ecn.not_ect: \"pass\" or \"drop\", not \"keep\""},
    {"\"pmax\": 0.01", "\"pmax\": 0.01, \"not_ect\": \"drop\"",
     "ecn.not_ect: a lossless priority drops nothing"},
    {"\"xoff\": \"64KiB\"", "\"xoff\": \"64KiB\", \"xoff_alpha\": 1",
     "lossless: 'xoff' is a fixed threshold"},
    {"\"xoff\": \"64KiB\"", "\"xoff_alpha\": 0", "lossless.xoff_alpha: more than 0 and at most 64"},
    {"\"xoff\": \"64KiB\"", "\"xoff\": \"2MiB\"",
     "lossless.xoff: 2097152 bytes are more than the buffer has"},
    {"\"xoff\": \"64KiB\"", "\"xoff\": \"1KiB\"",
     "lossless.xon_offset: 3072 bytes are more than xoff (1024)"},
    {"\"xoff\": \"64KiB\"", "\"watchdog\": \"2\"", "lossless.watchdog: \"2\" is no time"},
    {"\"xoff\": \"64KiB\"", "\"watchdog\": \"61s\"", "lossless.watchdog: 0s to 60s"},
    {"\"3\": {", "\"3\": {\"limit\": \"1MiB\", ",
     "priorities.3.limit: a lossless priority has no drop-tail limit"},
    {"\"3\": {", "\"3\": {\"weight\": 0, ",
     "priorities.3.weight: a whole number from 1 to 255, or \"strict\""},
    {"\"3\": {", "\"8\": {", "profiles[0].priorities: there is no member \"8\""},
    {"\"buffer\"", "\"dscp\": {\"64\": 1}, \"buffer\"", "profiles[0].dscp: a DSCP from \"0\" to \"63\""},
    {"\"buffer\"", "\"dscp\": {\"26\": 8}, \"buffer\"", "a priority from 0 to 7 belong here, not \"26\": 8"},
    {"\"buffer\"", "\"pause_quanta\": 0, \"buffer\"",
     "profiles[0].pause_quanta: a whole number from 1 to 65535"},
    {"[\"a\", \"s\"]", "[\"a\"]", "links[0].ends: two names such as [\"a\", \"left\"] belong here"},
    {"[\"a\", \"s\"]", "[\"a\", \"t\"]", "links[0].ends: there is no host or switch \"t\""},
    {"[\"a\", \"s\"]", "[\"s\", \"s\"]", "links[0].ends: both are 's'; a link joins two"},
    {"[\"s\", \"b\"]", "[\"a\", \"b\"]", "hosts[0]: 'a' has 2 links; a host has one"},
    {"[\"a\", {", "[\"a\", \"c\", {", "hosts[1]: 'c' has 0 links; a host has one"},
    {"\"switches\": [", "\"switches\": [{\"name\": \"far\", \"profile\": \"p\"}, ",
     "no way leads from 'a' to 'far'"},
    {"\"name\": \"b\"", "\"name\": \"a\"", "hosts[1].name: 'a' is taken"},
    {"\"name\": \"b\"", "\"name\": \"b b\"", "hosts[1].name: a name has 1 to 63 letters"},
    {"\"hosts\": [", "\"hosts\": {\"list\": [", "topology: no JSON"},
    {"[\"a\", {\"name\": \"b\", \"queue\": \"128KiB\"}]", "7", "hosts: a list [...] belongs here, not 7"},
    {"\"queue\": \"128KiB\"", "\"queue\": \"0B\"", "hosts[1].queue: 1B to 64GiB"},
    {"\"until\": \"2ms\"", "\"until\": \"1ms\"", "links[1].down[0].until: it must be later than 'from'"},
    {", \"until\": \"2ms\"", "", "links[1].down[0]: without 'until' it never ends"},
    {"\"from\": \"3ms\"", "\"from\": \"1ms\"",
     "links[1].down[1]: it begins before the one before it has ended"},
    {"\"from\": \"3ms\"", "\"from\": \"48000s\", \"until\": \"96000s\"",
     "links[1].down[1]: times are at most 86400"},
};

TEST(TopologyFile, SaysWhatIsWrongWhere) {
  for (const Spoilt& spoilt : kSpoilt) {
    EXPECT_THAT(complaint(spoilt.from, spoilt.to), HasSubstr(spoilt.complaint)) << spoilt.to;
  }
}

TEST(TopologyFile, RefusesAnythingThatIsNoObject) {
  for (const std::string_view text : {"", "7", "[]", "\"x\"", "null", "{}", "{\"hosts\": []}"}) {
    EXPECT_FALSE(parse_topology(text)) << text;
  }
  EXPECT_FALSE(parse_topology(std::string(5 << 20, ' ')));
  EXPECT_FALSE(parse_topology(std::string(100'000, '[')));
}

TEST(TopologyFile, RefusesMoreHostsThanThereMayBe) {
  std::string hosts;
  for (int i = 0; i < 1025; ++i) hosts += (i > 0 ? ",\"h" : "\"h") + std::to_string(i) + "\"";
  EXPECT_THAT(complaint("[\"a\", {\"name\": \"b\", \"queue\": \"128KiB\"}]", "[" + hosts + "]"),
              HasSubstr("hosts: it has 1025 entries; 1024 are possible"));
}

}  // namespace
}  // namespace urnic::network
