// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "nic/diagnostics/device_counters.h"
#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

using transport::wire::kParseErrors;
using transport::wire::ParseError;

TEST(DeviceCounters, NameEachParseErrorAsTheParserDoes) {
  for (std::size_t i = 0; i < kParseErrors; ++i) {
    EXPECT_EQ(name_of(static_cast<DeviceCounter>(i)),
              "rx_drop_" + std::string(to_string(static_cast<ParseError>(i))));
  }
}

TEST(DeviceCounters, HaveNamesOfTheirOwnAmongAllCountersOfADevice) {
  DevicePair pair;
  std::set<std::string_view> names;
  for (const auto& [name, value] : pair.a().device().all_counters()) {
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  for (const std::string_view name :
       {"sent_pkts", "rx_drop_bad_icrc", "neighbor_requests_sent", "multicast_reports_sent",
        "cm_rx_duplicates_sidr_req", "port_sent_frames"}) {
    EXPECT_THAT(names, testing::Contains(name));
  }
}

// Fact 54: what rdma_rxe and mlx5 call it.
TEST(DeviceCounters, CountUnderTheNamesOfOthersToo) {
  DevicePair pair;
  pair.connect();
  pair.settle();
  pair.b().post_receive(1, 0, 100);
  pair.wire.is_lost = [](std::size_t end, const FakeWire::Bytes&) { return end == 0; };
  pair.a().post_send(1, 0, 10);
  pair.settle();
  pair.wire.is_lost = [](std::size_t, const FakeWire::Bytes&) { return false; };
  pair.pass(std::chrono::milliseconds(70));
  EXPECT_EQ(pair.a().poll_text(), "1 ok");
  EXPECT_EQ(pair.a().counter("local_ack_timeout_err"), 1u);
  EXPECT_EQ(pair.a().counter("completer_retry_err"), 1u);
  EXPECT_EQ(pair.a().counter("rdma_sends"), 1u);
  EXPECT_EQ(pair.b().counter("rdma_recvs"), 1u);
}

}  // namespace
}  // namespace urnic::nic
