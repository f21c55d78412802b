// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// RawPacket: two queue pairs of raw packets, over the port's own loop, and attributes of flow rules for them.
#pragma once

#include <cstring>
#include <memory>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {

inline int modify(ibv_qp* qp, ibv_qp_state state, int mask = 0) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  attributes.port_num = 1;
  return ibv_modify_qp(qp, &attributes, mask | IBV_QP_STATE);
}

inline int start_raw_packets(ibv_qp* qp) {
  for (const int error :
       {modify(qp, IBV_QPS_INIT, IBV_QP_PORT), modify(qp, IBV_QPS_RTR), modify(qp, IBV_QPS_RTS)}) {
    if (error != 0) return error;
  }
  return 0;
}

using FlowPtr = std::unique_ptr<ibv_flow, Destroy<ibv_destroy_flow>>;

/// Attributes with all specifications that a rule can have, of which a test uses the first ones.
struct Rule {
  ibv_flow_attr attr{};
  ibv_flow_spec_eth eth{};
  ibv_flow_spec_ipv4 ipv4{};
  ibv_flow_spec_tcp_udp udp{};
};
static_assert(sizeof(Rule) == sizeof(ibv_flow_attr) + sizeof(ibv_flow_spec_eth) + sizeof(ibv_flow_spec_ipv4) +
                                  sizeof(ibv_flow_spec_tcp_udp));

inline constexpr std::uint16_t kUdpPort = 7777;

/// Of UDP over IPv4 to kUdpPort.
inline Rule udp_rule() {
  Rule rule;
  rule.attr.type = IBV_FLOW_ATTR_NORMAL;
  rule.attr.size = sizeof(rule);
  rule.attr.num_of_specs = 3;
  rule.attr.port = 1;
  rule.eth.type = IBV_FLOW_SPEC_ETH;
  rule.eth.size = sizeof(rule.eth);
  rule.ipv4.type = IBV_FLOW_SPEC_IPV4;
  rule.ipv4.size = sizeof(rule.ipv4);
  rule.udp.type = IBV_FLOW_SPEC_UDP;
  rule.udp.size = sizeof(rule.udp);
  rule.udp.val.dst_port = htobe16(kUdpPort);
  rule.udp.mask.dst_port = 0xffff;
  return rule;
}

inline Rule rule_without_specs(ibv_flow_attr_type type) {
  Rule rule = udp_rule();
  rule.attr.type = type;
  rule.attr.size = sizeof(rule.attr);
  rule.attr.num_of_specs = 0;
  return rule;
}

class RawPacket : public testing::Test {
 protected:
  RawPacket() {
    a_ = create(cq_a_.get());
    b_ = create(cq_b_.get());
    EXPECT_EQ(start_raw_packets(a_.get()), 0);
    EXPECT_EQ(start_raw_packets(b_.get()), 0);
  }

  QpPtr create(ibv_cq* cq) {
    ibv_qp_init_attr attributes = qp_attributes(IBV_QPT_RAW_PACKET, cq);
    QpPtr qp(ibv_create_qp(pd_.get(), &attributes));
    EXPECT_NE(qp, nullptr);
    return qp;
  }

  /// Makes of `buffer` a UDP datagram to kUdpPort and to a group, which therefore comes back.
  static void write_frame(Buffer& buffer) {
    buffer.fill(1);
    constexpr std::uint8_t kHeader[] = {0x01,
                                        0x50,
                                        0x56,
                                        0,
                                        0,
                                        1,
                                        2,
                                        0,
                                        0,
                                        0,
                                        0,
                                        9,
                                        8,
                                        0,
                                        0x45,
                                        0,
                                        0,
                                        86,
                                        0,
                                        1,
                                        0,
                                        0,
                                        9,
                                        0x11,
                                        0,
                                        0,
                                        1,
                                        2,
                                        3,
                                        4,
                                        5,
                                        6,
                                        7,
                                        8,
                                        0x10,
                                        0,
                                        kUdpPort >> 8,
                                        kUdpPort & 0xff,
                                        0,
                                        66,
                                        0,
                                        0};
    std::memcpy(buffer.data(), kHeader, sizeof(kHeader));
  }
  FlowPtr add(Rule rule) { return FlowPtr(ibv_create_flow(b_.get(), &rule.attr)); }

  /// 0 when a rule with these attributes can be made, otherwise errno.
  int try_to_add(ibv_flow_attr* attributes, ibv_qp* qp = nullptr) {
    errno = 0;
    const FlowPtr flow(ibv_create_flow(qp != nullptr ? qp : b_.get(), attributes));
    return flow != nullptr ? 0 : errno;
  }
  int try_to_add(Rule rule) { return try_to_add(&rule.attr); }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
  const CqPtr cq_a_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  const CqPtr cq_b_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  QpPtr a_;
  QpPtr b_;
};

}  // namespace urnic::test
