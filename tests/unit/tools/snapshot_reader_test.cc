// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the reader of snapshots takes, and what it makes of everything else.
#include "tools/inspection/stat/snapshot_reader.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "nic/diagnostics/snapshot_json.h"
#include "tools/inspection/stat/table.h"

namespace urnic::tools {
namespace {

using nic::DeviceSnapshot;
using nic::QueuePairSnapshot;
using transport::wire::Gid;
namespace rdma_cm = nic::rdma_cm;

rdma_cm::SocketAddress ipv4(transport::wire::Ipv4Address address, std::uint16_t port) {
  return {.family = rdma_cm::SocketAddress::Family::kIpv4, .address = Gid::from_ipv4(address), .port = port};
}

DeviceSnapshot example() {
  DeviceSnapshot snapshot{.program = "ib_write_bw",
                          .pid = 4711,
                          .device = "urnic0",
                          .port = "vhost:/run/user/1000/urnic/pair.sock,front",
                          .mac = "02:00:0a:4d:00:01",
                          .gids = {*Gid::parse("fe80::1"), Gid::from_ipv4({{10, 77, 0, 1}})},
                          .link_mtu = 4200,
                          .uptime_ns = 12'300'000'000,
                          .is_started = true,
                          .completion_queues = 1,
                          .shared_receive_queues = 2,
                          .memory_regions = 3,
                          .memory_windows = 4,
                          .counters = {{"rcvd_pkts", 0}, {"sent_pkts", 1234567}},
                          .queue_pairs = {},
                          .ids = {}};
  snapshot.queue_pairs.push_back({.number = transport::QpNumber{0x11},
                                  .type = nic::QpType::kRc,
                                  .state = transport::QpState::kReadyToSend,
                                  .peer_qp = transport::QpNumber{0x12},
                                  .peer = Gid::from_ipv4({{10, 77, 0, 2}}),
                                  .send_psn = transport::Psn(0xffffff),
                                  .receive_psn = transport::Psn(7),
                                  .msn = 5,
                                  .sends_posted = 128,
                                  .receives_posted = 6,
                                  .progress = {.packets_in_flight = 32,
                                               .reads_in_flight = 1,
                                               .retries_used = 2,
                                               .rnr_retries_used = 3,
                                               .waits_for_receiver = true,
                                               .retries = 9,
                                               .rnr_waits = 10},
                                  .retry_count = 7,
                                  .rnr_retry = 6,
                                  .ack_timeout = 14,
                                  .path_mtu = 4096});
  QueuePairSnapshot datagrams;
  datagrams.number = transport::QpNumber{0x13};
  datagrams.type = nic::QpType::kUd;
  snapshot.queue_pairs.push_back(datagrams);
  snapshot.ids.push_back({.number = rdma_cm::IdNumber{1},
                          .state = rdma_cm::IdState::kListen,
                          .connection_state = {},
                          .local = ipv4({{0, 0, 0, 0}}, 7174),
                          .peer = {},
                          .backlog = 1023});
  snapshot.ids.push_back({.number = rdma_cm::IdNumber{2},
                          .service = rdma_cm::Service::kXrc,
                          .space = rdma_cm::PortSpace::kIb,
                          .state = rdma_cm::IdState::kConnect,
                          .connection_state = nic::cm::State::kEstablished,
                          .local = ipv4({{10, 77, 0, 1}}, 7175),
                          .peer = ipv4({{10, 77, 0, 2}}, 40001),
                          .qp = transport::QpNumber{0x11},
                          .peer_qp = transport::QpNumber{0x12}});
  snapshot.queue_pairs[0].domain = 7;
  snapshot.queue_pairs[0].srq = 0x21;
  snapshot.objects = {
      .contexts = {1, 3},
      .protection_domains = {{.number = 7, .context = 1, .users = 4}},
      .completion_queues = {{.number = 2, .context = 3, .capacity = 127, .users = 2}},
      .shared_receive_queues = {{.number = 0x21, .domain = 7},
                                {.number = 0x22, .domain = 7, .completion_queue = 2}},
      .memory_regions = {
          {.key = 0xfffffffe, .address = ~std::uint64_t{0}, .length = std::uint64_t{1} << 40, .domain = 7}}};
  return snapshot;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

std::string error_of(const std::string& text) {
  const auto read = read_snapshot(text);
  return read ? "none" : read.error().message;
}

// Against text that was written by hand from the page of --help, and not by our own encoder.
TEST(SnapshotReader, ReadsWhatTheHelpDocuments) {
  const auto read = read_snapshot(R"({"version":1,"program":"p","pid":7,"device":"urnic0","port":"loopback",
    "port_is_open":false,"has_link":false,"mac":"02:00:00:00:00:01","addresses":["fe80::1","10.0.0.1"],"link_mtu":1500,"uptime_ns":5,
    "completion_queues":1,"shared_receive_queues":0,"memory_regions":2,"memory_windows":0,"new_member":[[]],
    "counters":{"sent_pkts":18446744073709551615},
    "queue_pairs":[{"number":17,"type":"XRC_TGT","state":"SQD","peer_qp":18,"peer_address":"fd00::2","send_psn":16777215,
    "receive_psn":0,"msn":1,"path_mtu":256,"sends_posted":2,"receives_posted":3,"packets_in_flight":4,"reads_in_flight":5,
    "waits_for_receiver":true,"retries_used":1,"retry_count":7,"rnr_retries_used":2,"rnr_retry":7,"ack_timeout":14,
    "retries":6,"rnr_waits":8,"protection_domain":3,"shared_receive_queue":null}],
    "objects":{"contexts":[4],"protection_domains":[{"number":3,"context":4,"users":1}],
    "completion_queues":[{"number":5,"context":4,"capacity":15,"users":2}],
    "shared_receive_queues":[{"number":6,"protection_domain":3,"completion_queue":5}],
    "memory_regions":[{"key":4294967295,"address":4096,"length":18446744073709551615,"protection_domain":3}]},
    "rdma_cm_ids":[{"number":65534,"service":"UC","port_space":"IPOIB","state":"DISCONNECT","connection_state":"TIMEWAIT",
    "local_address":"fd00::1","local_port":65535,"peer_address":"fd00::2","peer_port":1,"qp":2,"peer_qp":16777215,
    "backlog_left":null},
    {"number":0,"service":"UD","port_space":"UDP","state":"LISTEN","connection_state":null,"local_address":"0.0.0.0",
    "local_port":7174,"peer_address":null,"peer_port":null,"qp":null,"peer_qp":null,"backlog_left":3}]})");
  ASSERT_TRUE(read) << read.error().message;
  const DeviceSnapshot& snapshot = read.value();
  EXPECT_EQ(snapshot.pid, 7);
  EXPECT_EQ(snapshot.gids[1], Gid::from_ipv4({{10, 0, 0, 1}}));
  EXPECT_EQ(snapshot.counters[0].second, ~std::uint64_t{0});
  const QueuePairSnapshot& qp = snapshot.queue_pairs.at(0);
  EXPECT_EQ(qp.type, nic::QpType::kXrcTarget);
  EXPECT_EQ(qp.domain, 3u);
  EXPECT_FALSE(qp.srq);
  const nic::ProgramObjects& objects = snapshot.objects;
  EXPECT_EQ(objects.contexts, std::vector<std::uint32_t>{4});
  EXPECT_EQ(objects.protection_domains.at(0).users, 1u);
  EXPECT_EQ(objects.completion_queues.at(0).capacity, 15u);
  EXPECT_EQ(objects.shared_receive_queues.at(0).completion_queue, 5u);
  EXPECT_EQ(objects.memory_regions.at(0).key, 0xffffffffu);
  EXPECT_EQ(objects.memory_regions.at(0).length, ~std::uint64_t{0});
  EXPECT_EQ(qp.state, transport::QpState::kSqDrained);
  EXPECT_EQ(qp.peer, *Gid::parse("fd00::2"));
  EXPECT_EQ(qp.send_psn, transport::Psn(0xffffff));
  EXPECT_EQ(qp.progress.reads_in_flight, 5u);
  EXPECT_TRUE(qp.progress.waits_for_receiver);
  EXPECT_EQ(qp.progress.rnr_waits, 8u);

  ASSERT_EQ(snapshot.ids.size(), 2u);
  const rdma_cm::IdSnapshot& connection = snapshot.ids[0];
  EXPECT_EQ(connection.number, rdma_cm::IdNumber{65534});
  EXPECT_EQ(connection.service, rdma_cm::Service::kUc);
  EXPECT_EQ(connection.space, rdma_cm::PortSpace::kIpoib);
  EXPECT_EQ(connection.state, rdma_cm::IdState::kDisconnect);
  EXPECT_EQ(connection.connection_state, nic::cm::State::kTimewait);
  EXPECT_EQ(to_string(connection.local), "[fd00::1]:65535");
  EXPECT_EQ(to_string(connection.peer), "[fd00::2]:1");
  EXPECT_EQ(connection.qp, transport::QpNumber{2});
  EXPECT_EQ(connection.peer_qp, transport::QpNumber{0xffffff});
  const rdma_cm::IdSnapshot& listener = snapshot.ids[1];
  EXPECT_EQ(listener.local, ipv4({}, 7174));
  EXPECT_EQ(listener.peer, rdma_cm::SocketAddress{});
  EXPECT_FALSE(listener.connection_state);
  EXPECT_EQ(listener.backlog, 3u);
}

TEST(SnapshotReader, TakesASnapshotWithoutIdsFromAnOlderUrnic) {
  DeviceSnapshot snapshot = example();
  snapshot.ids.clear();
  const std::string text = replaced(nic::to_json(snapshot), ",\"rdma_cm_ids\":[]", "");
  const auto read = read_snapshot(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read.value().ids.empty());
}

TEST(SnapshotReader, LosesNothingOfWhatIsWritten) {
  const std::string text = nic::to_json(example());
  const auto read = read_snapshot(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(nic::to_json(read.value()), text);
  EXPECT_EQ(read.value().queue_pairs[0].progress.packets_in_flight, 32u);
  EXPECT_TRUE(read.value().queue_pairs[1].peer.is_unspecified());
}

TEST(SnapshotReader, KnowsEveryTypeAndStateByItsName) {
  using enum nic::QpType;
  const std::pair<nic::QpType, std::string> types[] = {{kRc, "RC"},
                                                       {kUc, "UC"},
                                                       {kUd, "UD"},
                                                       {kXrcInitiator, "XRC_INI"},
                                                       {kXrcTarget, "XRC_TGT"},
                                                       {kRawPacket, "RAW_PACKET"},
                                                       {kRss, "RSS"},
                                                       {kWorkQueue, "WORK_QUEUE"}};
  DeviceSnapshot snapshot = example();
  for (const auto& [type, name] : types) {
    for (int state = 0; state <= static_cast<int>(transport::QpState::kError); ++state) {
      QueuePairSnapshot& qp = snapshot.queue_pairs[1];
      qp.type = type;
      qp.state = static_cast<transport::QpState>(state);
      const std::string text = nic::to_json(snapshot);
      EXPECT_NE(text.find(fmt::format("\"type\":\"{}\"", name)), std::string::npos) << text;
      const auto read = read_snapshot(text);
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(read.value().queue_pairs[1].type, type);
      EXPECT_EQ(read.value().queue_pairs[1].state, qp.state);
    }
  }
}

TEST(SnapshotReader, RefusesWhatIsNoSnapshot) {
  EXPECT_EQ(error_of(""), "it says nothing");
  for (const char* garbage : {"x", "[]", "{}", "null", "42", "{\"version\":\"1\"}", "{\"version\":-1}",
                              "\xff\xfe{}", "{\"version\":1"}) {
    EXPECT_EQ(error_of(garbage), "what it says is no snapshot of a NIC") << garbage;
  }
  EXPECT_EQ(error_of(std::string(1 << 20, '[')), "what it says is no snapshot of a NIC");
}

TEST(SnapshotReader, RefusesEveryTruncation) {
  const std::string text = nic::to_json(example());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_NE(error_of(text.substr(0, size)), "none") << size;
  }
}

TEST(SnapshotReader, SaysThatItsVersionIsAnotherOne) {
  EXPECT_EQ(error_of(replaced(nic::to_json(example()), "\"version\":1", "\"version\":2")),
            "its snapshots are of version 2, and this urnic reads version 1");
}

TEST(SnapshotReader, NamesTheMemberThatIsNotAsItShouldBe) {
  const std::string text = nic::to_json(example());
  const auto expect = [&](const char* what, const char* by, const char* member) {
    EXPECT_EQ(error_of(replaced(text, what, by)), "its snapshot has no good '" + std::string(member) + "'")
        << by;
  };
  expect("\"pid\":4711", "\"pid\":-4711", "pid");
  expect("\"pid\":4711", "\"pid\":1e300", "pid");
  expect("\"state\":\"RTS\"", "\"state\":\"BUSY\"", "state");
  expect("\"type\":\"UD\"", "\"type\":null", "type");
  expect("\"send_psn\":16777215", "\"send_psn\":16777216", "send_psn");
  expect("\"retries_used\":2", "\"retries_used\":256", "retries_used");
  expect("\"peer_address\":\"10.77.0.2\"", "\"peer_address\":\"nowhere\"", "peer_address");
  expect("\"fe80::1\"", "12", "addresses");
  expect("\"sent_pkts\":1234567", "\"sent_pkts\":{}", "counters");
  expect("\"queue_pairs\":[", "\"queue_pairs\":[[],", "queue_pairs");
  expect("\"rdma_cm_ids\":[", "\"rdma_cm_ids\":[7,", "rdma_cm_ids");
  expect("\"rdma_cm_ids\":[", "\"rdma_cm_ids\":7,\"x\":[", "rdma_cm_ids");
  expect("\"service\":\"XRC\"", "\"service\":\"RD\"", "service");
  expect("\"port_space\":\"IB\"", "\"port_space\":\"\"", "port_space");
  expect("\"state\":\"LISTEN\"", "\"state\":\"HEAR\"", "state");
  expect("\"connection_state\":\"ESTABLISHED\"", "\"connection_state\":7", "connection_state");
  expect("\"local_port\":7174", "\"local_port\":65536", "local_port");
  expect("\"peer_address\":\"10.77.0.2\",\"peer_port\"", "\"peer_address\":{},\"peer_port\"", "peer_address");
  expect("\"peer_qp\":18,\"backlog", "\"peer_qp\":16777216,\"backlog", "peer_qp");
  expect("\"protection_domain\":7,\"shared", "\"protection_domain\":-7,\"shared", "protection_domain");
  expect("\"contexts\":[1", "\"contexts\":[4294967296", "contexts");
  expect("\"contexts\":[1", "\"contexts\":[\"one\"", "contexts");
  expect("\"users\":4", "\"users\":4294967296", "users");
  expect("\"capacity\":127", "\"capacity\":\"many\"", "capacity");
  expect("\"completion_queues\":[", "\"completion_queues\":[[],", "completion_queues");
  expect("\"key\":4294967294", "\"key\":4294967296", "key");
  expect("\"objects\":{", "\"objects\":[],\"x\":{", "objects");
  expect("\"backlog_left\":1023", "\"backlog_left\":-1", "backlog_left");
}

TEST(SnapshotJson, SurvivesAProgramWhoseNameIsNoText) {
  DeviceSnapshot snapshot = example();
  snapshot.program = "\xff\xfe\033[2J";
  const auto read = read_snapshot(nic::to_json(snapshot));
  ASSERT_TRUE(read) << read.error().message;
  const NicProcess process{.socket = "s", .pid = 1, .snapshot = read.value()};
  const std::string table = table_of(std::span(&process, 1), {}, std::nullopt);
  EXPECT_EQ(table.find('\033'), std::string::npos);
}

// --- The table ---

TEST(StatTable, ShowsQueuePairsAndCountersThatAreNotZero) {
  const NicProcess process{.socket = "s", .pid = 4711, .snapshot = example()};
  const std::string table = table_of(std::span(&process, 1), {}, std::nullopt);
  for (const char* word :
       {"ib_write_bw (process 4711)", "10.77.0.1", "up 12.3 s", "2 QPs", "0x000011", "RTS", "0x000012",
        "10.77.0.2", "16777215", "2/7", "3/6", "10*", "4096", "sent_pkts", "1234567"}) {
    EXPECT_NE(table.find(word), std::string::npos) << word << "\n" << table;
  }
  EXPECT_EQ(table.find("rcvd_pkts"), std::string::npos);
  EXPECT_EQ(table.find("/s"), std::string::npos);
}

TEST(StatTable, ShowsListenersAndConnections) {
  const NicProcess process{.socket = "s", .pid = 4711, .snapshot = example()};
  const std::string table = table_of(std::span(&process, 1), {}, std::nullopt);
  for (const char* word : {"2 CM ids", "LISTEN", "0.0.0.0:7174", "1023", "XRC", "CONNECT", "ESTABLISHED",
                           "10.77.0.1:7175", "10.77.0.2:40001"}) {
    EXPECT_NE(table.find(word), std::string::npos) << word << "\n" << table;
  }
}

TEST(StatTable, GivesRatesBetweenTwoLooksAtTheSameProcess) {
  const NicProcess before{.socket = "s", .pid = 4711, .snapshot = example()};
  NicProcess now = before;
  now.snapshot->uptime_ns += 2'000'000'000;
  now.snapshot->counters[1].second += 3'000'000;
  EXPECT_NE(table_of(std::span(&now, 1), std::span(&before, 1), std::nullopt).find("1.5 M/s"),
            std::string::npos);
  now.socket = "another";
  EXPECT_EQ(table_of(std::span(&now, 1), std::span(&before, 1), std::nullopt).find("/s"), std::string::npos);
}

TEST(StatTable, LeavesQueuePairsOutToFitAndSaysHowMany) {
  NicProcess process{.socket = "s", .pid = 1, .snapshot = example()};
  for (int i = 0; i < 98; ++i) process.snapshot->queue_pairs.push_back(process.snapshot->queue_pairs[0]);
  const std::string table = table_of(std::span(&process, 1), {}, 24);
  EXPECT_LE(std::count(table.begin(), table.end(), '\n'), 24);
  EXPECT_NE(table.find("more queue pairs; --json shows them all"), std::string::npos) << table;
  EXPECT_NE(table.find("0.0.0.0:7174"), std::string::npos) << table;
}

TEST(StatTable, LeavesIdsOutToFitAndSaysHowMany) {
  NicProcess process{.socket = "s", .pid = 1, .snapshot = example()};
  for (int i = 0; i < 98; ++i) process.snapshot->ids.push_back(process.snapshot->ids[1]);
  const auto lines = [&process] {
    const std::string table = table_of(std::span(&process, 1), {}, 24);
    EXPECT_LE(std::count(table.begin(), table.end(), '\n'), 24) << table;
    return table;
  };
  EXPECT_NE(lines().find("more CM ids; --json shows them all"), std::string::npos);
  EXPECT_EQ(lines().find("more queue pairs"), std::string::npos);
  for (int i = 0; i < 98; ++i) process.snapshot->queue_pairs.push_back(process.snapshot->queue_pairs[0]);
  EXPECT_NE(lines().find("more CM ids; --json shows them all"), std::string::npos);
  EXPECT_NE(lines().find("more queue pairs; --json shows them all"), std::string::npos);
  EXPECT_NE(lines().find("ESTABLISHED"), std::string::npos);
  EXPECT_NE(lines().find("RTS"), std::string::npos);
}

TEST(StatTable, SaysWhyAProcessDoesNotAnswer) {
  const NicProcess process{.socket = "status.5.1", .pid = 5, .error = "it does not answer; is it stopped?"};
  EXPECT_EQ(table_of(std::span(&process, 1), {}, std::nullopt),
            "process 5: it does not answer; is it stopped?\n");
}

}  // namespace
}  // namespace urnic::tools
