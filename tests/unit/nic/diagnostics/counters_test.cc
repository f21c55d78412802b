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
  // The message counts once, however often its packet was sent.
  EXPECT_EQ(pair.a().counter("tx_send_requests"), 1u);
  EXPECT_EQ(pair.b().counter("rx_send_requests"), 1u);
  EXPECT_EQ(pair.a().counter("timeout_repetitions"), 1u);
  EXPECT_EQ(pair.a().counter("roce_adp_retrans"), 0u);
}

transport::SendRequest remote_request(DevicePair& pair, transport::SendOperation operation,
                                      transport::Rkey rkey) {
  return {.wr_id = 1,
          .operation = operation,
          .signaled = true,
          .remote_address = pair.b().region().address,
          .rkey = rkey};
}

TEST(DeviceCounters, CountMessagesByOperationAtBothEnds) {
  DevicePair pair;
  pair.connect();
  pair.settle();
  const transport::Rkey rkey{pair.b().region().key};
  // Of several packets.
  pair.a().post(remote_request(pair, transport::SendOperation::kWrite, rkey), 0, 9000);
  pair.a().post(remote_request(pair, transport::SendOperation::kRead, rkey), 0, 100);
  pair.a().post(remote_request(pair, transport::SendOperation::kFetchAdd, rkey), 0, 8);
  pair.settle();
  EXPECT_EQ(pair.a().poll_text(), "1 ok, 1 ok, 1 ok");
  for (const std::string kind : {"write", "read", "atomic"}) {
    EXPECT_EQ(pair.a().counter("tx_" + kind + "_requests"), 1u) << kind;
    EXPECT_EQ(pair.b().counter("rx_" + kind + "_requests"), 1u) << kind;
    EXPECT_EQ(pair.a().counter("rx_" + kind + "_requests"), 0u) << kind;
  }
}

// Hardware facts F1 and F2: a request that is refused counts at both ends; what is flushed after it, apart.
TEST(DeviceCounters, CountRefusedRequestsAndWhatIsFlushed) {
  DevicePair pair;
  pair.connect();
  pair.settle();
  pair.b().post_receive(9, 0, 100);
  pair.a().post(remote_request(pair, transport::SendOperation::kWrite, transport::Rkey{77}), 0, 10);
  pair.a().post_send(2, 0, 10);
  pair.settle();
  EXPECT_EQ(pair.a().counter("req_cqe_error"), 1u);
  EXPECT_EQ(pair.a().counter("req_remote_access_errors"), 1u);
  EXPECT_EQ(pair.a().counter("req_remote_invalid_request"), 0u);
  EXPECT_EQ(pair.a().counter("req_cqe_flush_error"), 1u);
  EXPECT_EQ(pair.b().counter("rx_write_requests"), 1u);
  EXPECT_EQ(pair.b().counter("resp_remote_access_errors"), 1u);
  EXPECT_EQ(pair.b().counter("resp_cqe_flush_error"), 1u);
  EXPECT_EQ(pair.b().counter("resp_local_length_error"), 0u);
}

TEST(DeviceCounters, CountReceivesThatAreTooShort) {
  DevicePair pair;
  pair.connect();
  pair.settle();
  pair.b().post_receive(9, 0, 5);
  pair.a().post_send(1, 0, 10);
  pair.settle();
  EXPECT_EQ(pair.b().counter("resp_local_length_error"), 1u);
  EXPECT_EQ(pair.a().counter("req_remote_invalid_request"), 1u);
}

TEST(DeviceCounters, CountHowOftenTheLinkWentDown) {
  DevicePair pair;
  EXPECT_EQ(pair.a().counter("link_downed"), 0u);
  ASSERT_TRUE(pair.a().device().set_link(false));
  ASSERT_TRUE(pair.a().device().set_link(false));
  EXPECT_EQ(pair.a().counter("link_downed"), 1u) << "it was down";
  ASSERT_TRUE(pair.a().device().set_link(true));
  ASSERT_TRUE(pair.a().device().set_link(false));
  EXPECT_EQ(pair.a().counter("link_downed"), 2u);
}

TEST(DeviceCounters, CountPacketsOfIpv6Apart) {
  DevicePair pair;
  pair.connect();
  pair.settle();
  const auto send = [&pair](std::size_t qp_index) {
    pair.b().post_receive(1, 0, 100, qp_index);
    pair.a().post_send(1, 0, 10, qp_index);
    pair.settle();
    EXPECT_EQ(pair.a().poll_text(), "1 ok");
  };
  send(0);
  const std::uint64_t of_ipv4 = pair.a().counter("sent_pkts");
  EXPECT_GT(of_ipv4, 0u);
  EXPECT_EQ(pair.a().counter("sent_ipv6_pkts"), 0u);
  EXPECT_EQ(pair.b().counter("rcvd_ipv6_pkts"), 0u);
  QueuePair& first = pair.a().add_queue_pair();
  QueuePair& second = pair.b().add_queue_pair();
  // Between the link-local addresses.
  const auto to = [](Host& host, const QueuePair& qp) {
    return DevicePair::ConnectOptions{
        .address = {.destination = *host.device().gids().at(0), .source_gid_index = 0},
        .peer_qp = qp.number()};
  };
  ASSERT_TRUE(kernel::connect(first, to(pair.b(), second)));
  ASSERT_TRUE(kernel::connect(second, to(pair.a(), first)));
  pair.settle();
  send(1);
  EXPECT_GT(pair.a().counter("sent_ipv6_pkts"), 0u);
  EXPECT_EQ(pair.a().counter("sent_pkts") - pair.a().counter("sent_ipv6_pkts"), of_ipv4);
  EXPECT_EQ(pair.b().counter("rcvd_ipv6_pkts"), pair.a().counter("sent_ipv6_pkts"));
}

}  // namespace
}  // namespace urnic::nic
