// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a test shows to programs in the place of the processes and files of a user.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/runtime/netlink/state.h"

namespace urnic::netlink {

class ShownDevices final : public State {
 public:
  std::vector<Device> devices() override { return shown; }
  std::vector<tools::NicProcess> processes() override {
    ++questions;
    return running;
  }

  std::vector<Device> shown;
  std::vector<tools::NicProcess> running;
  int questions = 0;
};

inline Device device_named(const std::string& name) {
  return {.name = name,
          .firmware = "0.1.0",
          .node_guid = 0x0200c0fffe000202,
          .system_guid = 0x0200c0fffe000203,
          .port_state = 4,
          .port_physical_state = 5,
          .interface = "eth7",
          .interface_index = 12,
          .verbs_node = Node{.name = "uverbs3", .device = 0xe703, .abi = 1}};
}

/// A program with two queue pairs, one of each other kind of objects, and a listener.
inline tools::NicProcess program(std::int64_t pid, const std::string& device) {
  nic::DeviceSnapshot snapshot;
  snapshot.device = device;
  snapshot.counters = {{"sent_pkts", 1000}, {"rnr_nak_retry_err", 3}};
  snapshot.queue_pairs.push_back({.number = transport::QpNumber{0x11},
                                  .type = nic::QpType::kRc,
                                  .state = transport::QpState::kReadyToSend,
                                  .peer_qp = transport::QpNumber{0x12},
                                  .send_psn = transport::Psn(0xffffff),
                                  .receive_psn = transport::Psn(7),
                                  .domain = 5,
                                  .srq = 0x31});
  snapshot.queue_pairs.push_back({.number = transport::QpNumber{0x13}, .type = nic::QpType::kUd});
  snapshot.queue_pairs.push_back({.number = transport::QpNumber{0x14}, .type = nic::QpType::kWorkQueue});
  using transport::wire::Gid;
  using Family = nic::rdma_cm::SocketAddress::Family;
  snapshot.ids.push_back(
      {.number = nic::rdma_cm::IdNumber{2},
       .state = nic::rdma_cm::IdState::kConnect,
       .connection_state = {},
       .local = {.family = Family::kIpv4, .address = Gid::from_ipv4({{10, 0, 0, 1}}), .port = 7174},
       .peer = {.family = Family::kIpv6, .address = *Gid::parse("fd00::2"), .port = 9},
       .qp = transport::QpNumber{0x11}});
  snapshot.objects = {
      .contexts = {1},
      .protection_domains = {{.number = 5, .context = 1, .users = 4}},
      .completion_queues = {{.number = 6, .context = 1, .capacity = 127, .users = 2}},
      .shared_receive_queues = {{.number = 0x31, .domain = 5, .completion_queue = 6}},
      .memory_regions = {{.key = 0x12345678, .address = 0x7f00, .length = 65536, .domain = 5}}};
  return {.socket = "status", .pid = pid, .snapshot = std::move(snapshot)};
}

}  // namespace urnic::netlink
