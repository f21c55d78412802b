// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Flow rules: what programs say of them, true or not.
#include <cstring>
#include <memory>

#include "tests/unit/verbs_api/raw_packet_objects.h"

namespace urnic::test {
namespace {

using FlowRule = RawPacket;

TEST_F(FlowRule, KeepsItsQueuePairFromBeingDestroyed) {
  FlowPtr flow = add(udp_rule());
  EXPECT_EQ(ibv_destroy_qp(b_.get()), EBUSY);
  flow.reset();
  b_.reset();
}

TEST_F(FlowRule, TellsBetweenPortsAndKinds) {
  Rule other_port = udp_rule();
  other_port.udp.val.dst_port = htobe16(kUdpPort + 1);
  Rule tcp = udp_rule();
  tcp.udp.type = IBV_FLOW_SPEC_TCP;
  Rule other_address = udp_rule();
  other_address.ipv4.val.src_ip = htobe32(0x01020305);
  other_address.ipv4.mask.src_ip = 0xffffffff;
  Rule tagged = udp_rule();
  tagged.eth.mask.vlan_tag = htobe16(0xfff);
  Rule unicast = udp_rule();
  unicast.eth.mask.dst_mac[0] = 1;
  std::vector<FlowPtr> flows;
  for (const Rule& rule : {other_port, tcp, other_address, tagged, unicast}) {
    flows.push_back(add(rule));
    ASSERT_NE(flows.back(), nullptr);
  }
  Buffer buffer(pd_.get(), 100);
  write_frame(buffer);
  ASSERT_EQ(post_receive(b_.get(), 1, {buffer.sge()}), 0);
  ASSERT_EQ(post_send(a_.get(), request(IBV_WR_SEND), {buffer.sge()}), 0);
  EXPECT_TRUE(stays_empty(cq_b_.get()));
  Rule right = udp_rule();
  right.ipv4.val.src_ip = htobe32(0x01020304);
  right.ipv4.mask.src_ip = 0xffffffff;
  right.eth.val.dst_mac[0] = 1;
  right.eth.mask.dst_mac[0] = 1;
  flows.push_back(add(right));
  ASSERT_EQ(post_send(a_.get(), request(IBV_WR_SEND), {buffer.sge()}), 0);
  EXPECT_EQ(next_completion(cq_b_.get()).status, IBV_WC_SUCCESS);
}

TEST_F(FlowRule, MayBeOfEveryKind) {
  for (const ibv_flow_attr_type type :
       {IBV_FLOW_ATTR_NORMAL, IBV_FLOW_ATTR_ALL_DEFAULT, IBV_FLOW_ATTR_MC_DEFAULT, IBV_FLOW_ATTR_SNIFFER}) {
    EXPECT_EQ(try_to_add(rule_without_specs(type)), 0) << type;
  }
  Rule rule = udp_rule();
  rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
  EXPECT_EQ(try_to_add(rule), 0);
  rule.attr.size = sizeof(rule.attr);  // as pyverbs says it
  EXPECT_EQ(try_to_add(rule), 0);
  rule.attr.size = 0;  // as perftest says it
  EXPECT_EQ(try_to_add(rule), 0);
}

TEST_F(FlowRule, WithAttributesThatNobodyKnowsIsRefused) {
  const auto spoilt = [this](auto spoil) {
    Rule rule = udp_rule();
    spoil(rule);
    return try_to_add(rule);
  };
  EXPECT_EQ(try_to_add(static_cast<ibv_flow_attr*>(nullptr)), EINVAL);
  EXPECT_EQ(spoilt([](Rule& rule) { rule.attr.comp_mask = 1; }), EINVAL);
  EXPECT_EQ(spoilt([](Rule& rule) { rule.attr.type = static_cast<ibv_flow_attr_type>(4); }), EINVAL);
  EXPECT_EQ(spoilt([](Rule& rule) { rule.attr.type = static_cast<ibv_flow_attr_type>(-1); }), EINVAL);
  EXPECT_EQ(spoilt([](Rule& rule) { rule.attr.flags = 1; }), EINVAL);
  EXPECT_EQ(spoilt([](Rule& rule) { rule.attr.flags = 0x80000000; }), EINVAL);
  EXPECT_EQ(spoilt([](Rule& rule) { rule.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS; }), EOPNOTSUPP);
  EXPECT_EQ(spoilt([](Rule& rule) { rule.attr.port = 0; }), EINVAL);
  EXPECT_EQ(spoilt([](Rule& rule) { rule.attr.port = 2; }), EINVAL);
  for (const ibv_flow_attr_type type :
       {IBV_FLOW_ATTR_ALL_DEFAULT, IBV_FLOW_ATTR_MC_DEFAULT, IBV_FLOW_ATTR_SNIFFER}) {
    EXPECT_EQ(spoilt([type](Rule& rule) { rule.attr.type = type; }), EINVAL) << "with specifications";
    Rule rule = rule_without_specs(type);
    rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
    EXPECT_EQ(try_to_add(rule), EINVAL);
  }
}

// The memory ends where the specifications do: a sanitizer sees a read beyond the end.
TEST_F(FlowRule, WhoseSizesLieIsRefused) {
  const auto rule_of = [](auto spoil) {
    auto rule = std::make_unique<Rule>(udp_rule());
    spoil(*rule);
    return rule;
  };
  const auto spoilt = [&](auto spoil) { return try_to_add(&rule_of(spoil)->attr); };
  EXPECT_EQ(spoilt([](Rule&) {}), 0);
  for (const std::uint16_t size : {1u, 19u}) {
    EXPECT_EQ(spoilt([size](Rule& rule) { rule.attr.size = size; }), EINVAL) << size;
  }
  for (const std::size_t size :
       {sizeof(ibv_flow_attr) + 1, sizeof(ibv_flow_attr) + 8, sizeof(Rule) - 16, sizeof(Rule) - 1}) {
    EXPECT_EQ(spoilt([size](Rule& rule) { rule.attr.size = static_cast<std::uint16_t>(size); }), EINVAL)
        << size;
  }
  for (const std::uint8_t count : {4, 10, 11, 255}) {
    EXPECT_EQ(spoilt([count](Rule& rule) { rule.attr.num_of_specs = count; }), EINVAL);
    EXPECT_EQ(spoilt([count](Rule& rule) {
                rule.attr.num_of_specs = count;
                rule.attr.size = sizeof(ibv_flow_attr);
              }),
              EINVAL);
  }
  for (const std::uint16_t size : {0, 1, 8, 39, 41, 0xffff}) {
    EXPECT_EQ(spoilt([size](Rule& rule) { rule.eth.size = size; }), EINVAL) << size;
  }
  EXPECT_EQ(spoilt([](Rule& rule) { rule.udp.size = 40; }), EINVAL);
}

TEST_F(FlowRule, WithSpecificationsThatWeLackIsRefused) {
  const auto with_type = [this](unsigned type) {
    Rule rule = udp_rule();
    rule.eth.type = static_cast<ibv_flow_spec_type>(type);
    return try_to_add(rule);
  };
  for (const unsigned type :
       {IBV_FLOW_SPEC_ESP, IBV_FLOW_SPEC_VXLAN_TUNNEL, IBV_FLOW_SPEC_GRE, IBV_FLOW_SPEC_MPLS,
        IBV_FLOW_SPEC_ACTION_TAG, IBV_FLOW_SPEC_ACTION_DROP, IBV_FLOW_SPEC_ACTION_HANDLE}) {
    EXPECT_EQ(with_type(type), EOPNOTSUPP) << type;
  }
  EXPECT_EQ(with_type(IBV_FLOW_SPEC_ETH | IBV_FLOW_SPEC_INNER), EOPNOTSUPP);
  EXPECT_EQ(with_type(0), EINVAL);
  EXPECT_EQ(with_type(0x21), EINVAL);
  EXPECT_EQ(with_type(0xffffffff), EINVAL);
}

TEST_F(FlowRule, WithTwoSpecificationsOfOneLayerIsRefused) {
  struct {
    ibv_flow_attr attr;
    ibv_flow_spec_tcp_udp first;
    ibv_flow_spec_tcp_udp second;
  } rule{.attr = udp_rule().attr, .first = udp_rule().udp, .second = udp_rule().udp};
  rule.attr.size = sizeof(rule);
  rule.attr.num_of_specs = 1;
  EXPECT_EQ(try_to_add(&rule.attr), 0) << "the second one is not counted";
  rule.attr.num_of_specs = 2;
  EXPECT_EQ(try_to_add(&rule.attr), EINVAL);
  rule.second.type = IBV_FLOW_SPEC_TCP;
  EXPECT_EQ(try_to_add(&rule.attr), EINVAL);
}

TEST_F(FlowRule, ForOtherQueuePairsIsRefused) {
  for (const auto& [type, error] :
       {std::pair{IBV_QPT_RC, EINVAL}, {IBV_QPT_UC, EINVAL}, {IBV_QPT_UD, EOPNOTSUPP}}) {
    ibv_qp_init_attr attributes = qp_attributes(type, cq_a_.get());
    const QpPtr qp(ibv_create_qp(pd_.get(), &attributes));
    Rule rule = udp_rule();
    EXPECT_EQ(try_to_add(&rule.attr, qp.get()), error) << type;
  }
}

TEST(FlowRules, EndWhenTheProgramClosesTheDevice) {
  ibv_context* const context = open_device().release();
  ibv_pd* const pd = ibv_alloc_pd(context);
  ibv_cq* const cq = ibv_create_cq(context, 8, nullptr, nullptr, 0);
  ibv_qp_init_attr attributes = qp_attributes(IBV_QPT_RAW_PACKET, cq);
  ibv_qp* const qp = ibv_create_qp(pd, &attributes);
  ASSERT_NE(qp, nullptr);
  Rule rule = udp_rule();
  ibv_flow* const flow = ibv_create_flow(qp, &rule.attr);
  ASSERT_NE(flow, nullptr);
  EXPECT_EQ(ibv_close_device(context), 0);
  EXPECT_EQ(ibv_destroy_flow(flow), EIO);
  errno = 0;
  EXPECT_EQ(ibv_create_flow(qp, &rule.attr), nullptr);
  EXPECT_EQ(errno, EIO);
}

}  // namespace
}  // namespace urnic::test
