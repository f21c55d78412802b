// Queue pairs of raw packets and flow rules, over the port's own loop.
#include <cstring>
#include <memory>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

int modify(ibv_qp* qp, ibv_qp_state state, int mask = 0) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  attributes.port_num = 1;
  return ibv_modify_qp(qp, &attributes, mask | IBV_QP_STATE);
}

int start_raw_packets(ibv_qp* qp) {
  for (const int error :
       {modify(qp, IBV_QPS_INIT, IBV_QP_PORT), modify(qp, IBV_QPS_RTR), modify(qp, IBV_QPS_RTS)}) {
    if (error != 0) {
      return error;
    }
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

constexpr std::uint16_t kUdpPort = 7777;

/// Of UDP over IPv4 to kUdpPort.
Rule udp_rule() {
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

Rule rule_without_specs(ibv_flow_attr_type type) {
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

TEST_F(RawPacket, GoesWhereARuleSays) {
  const FlowPtr flow = add(udp_rule());
  ASSERT_NE(flow, nullptr);
  EXPECT_EQ(flow->context, context_.get());
  Buffer from(pd_.get(), 100);
  Buffer to(pd_.get(), 200);
  write_frame(from);
  ASSERT_EQ(post_receive(b_.get(), 7, {to.sge()}), 0);
  ASSERT_EQ(post_send(a_.get(), request(IBV_WR_SEND), {from.sge(0, 30), from.sge(30, 70)}), 0);
  const ibv_wc sent = next_completion(cq_a_.get());
  EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
  EXPECT_EQ(sent.opcode, IBV_WC_SEND);
  const ibv_wc received = next_completion(cq_b_.get());
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.opcode, IBV_WC_RECV);
  EXPECT_EQ(received.wr_id, 7u);
  EXPECT_EQ(received.qp_num, b_->qp_num);
  EXPECT_EQ(received.byte_len, 100u);
  EXPECT_EQ(received.wc_flags, 0u);
  EXPECT_EQ(std::memcmp(to.data(), from.data(), 100), 0);
}

TEST_F(RawPacket, GoesNowhereWithoutARule) {
  Buffer buffer(pd_.get(), 100);
  write_frame(buffer);
  ASSERT_EQ(post_receive(b_.get(), 1, {buffer.sge()}), 0);
  ASSERT_EQ(post_send(a_.get(), request(IBV_WR_SEND), {buffer.sge()}), 0);
  EXPECT_EQ(next_completion(cq_a_.get()).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(stays_empty(cq_b_.get()));
}

TEST_F(RawPacket, MayBeBuiltInline) {
  const FlowPtr flow = add(rule_without_specs(IBV_FLOW_ATTR_SNIFFER));
  ASSERT_NE(flow, nullptr);
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_type = IBV_QPT_RAW_PACKET;
  wanted.pd = pd_.get();
  wanted.send_cq = wanted.recv_cq = cq_a_.get();
  wanted.cap = qp_attributes(IBV_QPT_RAW_PACKET, cq_a_.get()).cap;
  wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  wanted.send_ops_flags = IBV_QP_EX_WITH_SEND_WITH_IMM;
  EXPECT_EQ(ibv_create_qp_ex(context_.get(), &wanted), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  wanted.send_ops_flags = IBV_QP_EX_WITH_SEND;
  const QpPtr qp(ibv_create_qp_ex(context_.get(), &wanted));
  ASSERT_NE(qp, nullptr);
  ASSERT_EQ(start_raw_packets(qp.get()), 0);
  Buffer frame(pd_.get(), 64);
  Buffer to(pd_.get(), 64);
  write_frame(frame);
  ASSERT_EQ(post_receive(b_.get(), 1, {to.sge()}), 0);
  ibv_qp_ex* const builder = ibv_qp_to_qp_ex(qp.get());
  ibv_wr_start(builder);
  builder->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(builder);
  ibv_wr_set_inline_data(builder, frame.data(), 64);
  ASSERT_EQ(ibv_wr_complete(builder), 0);
  EXPECT_EQ(next_completion(cq_b_.get()).byte_len, 64u);
  EXPECT_EQ(to.bytes(), frame.bytes());
  EXPECT_EQ(next_completion(cq_a_.get()).status, IBV_WC_SUCCESS);
}

TEST_F(RawPacket, IsTooLongBeyondTheLinkMtu) {
  Buffer buffer(pd_.get(), 16384);
  ASSERT_EQ(post_send(a_.get(), request(IBV_WR_SEND), {buffer.sge()}), 0);
  EXPECT_EQ(next_completion(cq_a_.get()).status, IBV_WC_LOC_LEN_ERR);
}

TEST_F(RawPacket, IsTooLongForASmallReceive) {
  const FlowPtr flow = add(udp_rule());
  Buffer buffer(pd_.get(), 100);
  write_frame(buffer);
  ASSERT_EQ(post_receive(b_.get(), 1, {buffer.sge(0, 99)}), 0);
  ASSERT_EQ(post_send(a_.get(), request(IBV_WR_SEND), {buffer.sge()}), 0);
  EXPECT_EQ(next_completion(cq_b_.get()).status, IBV_WC_LOC_LEN_ERR);
}

TEST_F(RawPacket, IsSentWithNothingElse) {
  Buffer buffer(pd_.get(), 64);
  for (const ibv_wr_opcode opcode :
       {IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND_WITH_INV}) {
    EXPECT_EQ(post_send(a_.get(), request(opcode), {buffer.sge()}), EINVAL) << opcode;
  }
  EXPECT_EQ(post_send(a_.get(), request(IBV_WR_TSO), {buffer.sge()}), EOPNOTSUPP);
  ibv_send_wr wr = request(IBV_WR_SEND);
  wr.send_flags |= IBV_SEND_IP_CSUM;
  EXPECT_EQ(post_send(a_.get(), wr, {buffer.sge()}), EINVAL);
}

TEST_F(RawPacket, QueuePairNeedsItsPortAndNothingElse) {
  const QpPtr qp = create(cq_a_.get());
  EXPECT_EQ(modify(qp.get(), IBV_QPS_INIT), EINVAL);
  EXPECT_EQ(modify(qp.get(), IBV_QPS_INIT, IBV_QP_PORT | IBV_QP_PKEY_INDEX), EINVAL);
  EXPECT_EQ(modify(qp.get(), IBV_QPS_INIT, IBV_QP_PORT), 0);
  EXPECT_EQ(modify(qp.get(), IBV_QPS_RTS), EINVAL);
  EXPECT_EQ(modify(qp.get(), IBV_QPS_RTR), 0);
  EXPECT_EQ(modify(qp.get(), IBV_QPS_RTS, IBV_QP_SQ_PSN), EINVAL);
  EXPECT_EQ(modify(qp.get(), IBV_QPS_RTS), 0);
  ibv_qp_attr attributes{};
  ibv_qp_init_attr created{};
  ASSERT_EQ(ibv_query_qp(qp.get(), &attributes, IBV_QP_STATE, &created), 0);
  EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(created.qp_type, IBV_QPT_RAW_PACKET);
}

TEST_F(RawPacket, QueuePairHasNoOffloads) {
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_type = IBV_QPT_RAW_PACKET;
  wanted.pd = pd_.get();
  wanted.send_cq = wanted.recv_cq = cq_a_.get();
  wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
  for (const std::uint32_t flag : {IBV_QP_CREATE_SCATTER_FCS, IBV_QP_CREATE_CVLAN_STRIPPING}) {
    wanted.create_flags = flag;
    errno = 0;
    EXPECT_EQ(ibv_create_qp_ex(context_.get(), &wanted), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
  }
  wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
  wanted.max_tso_header = 64;
  EXPECT_EQ(ibv_create_qp_ex(context_.get(), &wanted), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

// --- Flow rules ---

TEST_F(RawPacket, RuleKeepsItsQueuePairFromBeingDestroyed) {
  FlowPtr flow = add(udp_rule());
  EXPECT_EQ(ibv_destroy_qp(b_.get()), EBUSY);
  flow.reset();
  b_.reset();
}

TEST_F(RawPacket, RuleTellsBetweenPortsAndKinds) {
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

TEST_F(RawPacket, RuleMayBeOfEveryKind) {
  for (const ibv_flow_attr_type type :
       {IBV_FLOW_ATTR_NORMAL, IBV_FLOW_ATTR_ALL_DEFAULT, IBV_FLOW_ATTR_MC_DEFAULT, IBV_FLOW_ATTR_SNIFFER}) {
    EXPECT_EQ(try_to_add(rule_without_specs(type)), 0) << type;
  }
  Rule rule = udp_rule();
  rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
  EXPECT_EQ(try_to_add(rule), 0);
  rule.attr.size = sizeof(rule.attr);  // as pyverbs says it
  EXPECT_EQ(try_to_add(rule), 0);
}

TEST_F(RawPacket, RuleWithAttributesThatNobodyKnowsIsRefused) {
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

// The memory ends where the specifications do: a sanitizer sees whoever reads on.
TEST_F(RawPacket, RuleWhoseSizesLieIsRefused) {
  const auto rule_of = [](auto spoil) {
    auto rule = std::make_unique<Rule>(udp_rule());
    spoil(*rule);
    return rule;
  };
  const auto spoilt = [&](auto spoil) { return try_to_add(&rule_of(spoil)->attr); };
  EXPECT_EQ(spoilt([](Rule&) {}), 0);
  for (const std::uint16_t size : {0u, 1u, 19u}) {
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

TEST_F(RawPacket, RuleWithSpecificationsThatWeLackIsRefused) {
  const auto with_type = [this](unsigned type) {
    Rule rule = udp_rule();
    rule.eth.type = static_cast<ibv_flow_spec_type>(type);
    return try_to_add(rule);
  };
  for (const unsigned type : {IBV_FLOW_SPEC_ESP, IBV_FLOW_SPEC_VXLAN_TUNNEL, IBV_FLOW_SPEC_GRE,
                              IBV_FLOW_SPEC_MPLS, IBV_FLOW_SPEC_ACTION_TAG, IBV_FLOW_SPEC_ACTION_DROP,
                              IBV_FLOW_SPEC_ACTION_HANDLE, IBV_FLOW_SPEC_ACTION_COUNT}) {
    EXPECT_EQ(with_type(type), EOPNOTSUPP) << type;
  }
  EXPECT_EQ(with_type(IBV_FLOW_SPEC_ETH | IBV_FLOW_SPEC_INNER), EOPNOTSUPP);
  EXPECT_EQ(with_type(0), EINVAL);
  EXPECT_EQ(with_type(0x21), EINVAL);
  EXPECT_EQ(with_type(0xffffffff), EINVAL);
  Rule twice = udp_rule();
  twice.eth = {};
  std::memcpy(&twice.eth, &twice.ipv4, sizeof(twice.ipv4));
  twice.attr.num_of_specs = 2;
  std::memcpy(reinterpret_cast<char*>(&twice.eth) + sizeof(twice.ipv4), &twice.udp, sizeof(twice.udp));
  EXPECT_EQ(try_to_add(twice), 0);
  std::memcpy(reinterpret_cast<char*>(&twice.eth) + sizeof(twice.ipv4), &twice.ipv4, sizeof(twice.ipv4));
  EXPECT_EQ(try_to_add(twice), EINVAL) << "two of one layer";
}

TEST_F(RawPacket, RuleForOtherQueuePairsIsRefused) {
  for (const auto& [type, error] :
       {std::pair{IBV_QPT_RC, EINVAL}, {IBV_QPT_UC, EINVAL}, {IBV_QPT_UD, EOPNOTSUPP}}) {
    ibv_qp_init_attr attributes = qp_attributes(type, cq_a_.get());
    const QpPtr qp(ibv_create_qp(pd_.get(), &attributes));
    Rule rule = udp_rule();
    EXPECT_EQ(try_to_add(&rule.attr, qp.get()), error) << type;
  }
}

TEST(RawPacketContext, EndsRulesThatTheProgramForgotWhenItCloses) {
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
