#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "nic/device_counters.h"
#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

using transport::wire::kParseErrors;
using transport::wire::ParseError;

TEST(DeviceCounters, NameEachParseErrorAsTheParserDoes) {
  for (std::size_t i = 0; i < kParseErrors; ++i) {
    EXPECT_EQ(kDeviceCounterNames[i], "rx_drop_" + std::string(to_string(static_cast<ParseError>(i))));
  }
}

TEST(DeviceCounters, HaveNamesOfTheirOwnAmongAllCountersOfADevice) {
  DevicePair pair;
  std::set<std::string_view> names;
  for (const auto& [name, value] : pair.a().device().all_counters()) {
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  for (const std::string_view name : {"sent_pkts", "rx_drop_bad_icrc", "neighbor_requests_sent", "port_sent_frames"}) {
    EXPECT_THAT(names, testing::Contains(name));
  }
}

}  // namespace
}  // namespace urnic::nic
