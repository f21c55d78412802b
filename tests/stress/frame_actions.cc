// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Actions with Ethernet frames: raw packet queue pairs, flow rules, work queues, indirection tables.
#include <array>
#include <cstring>

#include "tests/stress/actions.h"

namespace urnic::stress {
namespace {

constexpr std::size_t kFrameBytes = 60;

/// UDP over IPv4 to a group, which therefore comes back; from one of 256 addresses.
std::array<std::uint8_t, kFrameBytes> frame_from(std::uint8_t address) {
  std::array<std::uint8_t, kFrameBytes> frame{1, 0, 0x5e, 0, 0, 1, 2, 0, 0, 0, 0, 9, 8, 0};
  constexpr std::array<std::uint8_t, 28> kIpAndUdp{0x45, 0, 0,   46, 0, 1, 0, 0,    9, 17,   0, 0,  10, 0,
                                                   0,    0, 224, 0,  0, 1, 3, 0xe8, 7, 0xd0, 0, 26, 0,  0};
  std::memcpy(frame.data() + 14, kIpAndUdp.data(), kIpAndUdp.size());
  frame[14 + 15] = address;
  return frame;
}

void make_wq(Objects& objects, Chance& chance) {
  if (objects.wqs.is_full()) return;
  const auto pd = objects.pds.borrow(chance);
  const auto cq = objects.cqs.borrow(chance);
  ibv_wq_init_attr wanted{};
  wanted.wq_type = IBV_WQT_RQ;
  wanted.max_wr = chance.mostly<std::uint32_t>({1, 16, 64});
  wanted.max_sge = chance.mostly<std::uint32_t>({1, 4});
  wanted.pd = pd.get();
  wanted.cq = cq.get();
  wanted.comp_mask = chance.one_in(20) ? 1 : 0;
  wanted.create_flags = chance.one_in(20) ? 1 : 0;
  ibv_wq* const wq = ibv_create_wq(objects.context, &wanted);
  if (wq == nullptr) return;
  ibv_wq_attr ready{};
  ready.attr_mask = IBV_WQ_ATTR_STATE;
  ready.wq_state = IBV_WQS_RDY;
  ibv_modify_wq(wq, &ready);
  objects.wqs.add(wq);
}

void change_wq(Objects& objects, Chance& chance) {
  const auto wq = objects.wqs.borrow(chance);
  if (!wq) return;
  ibv_wq_attr wanted{};
  wanted.attr_mask =
      chance.mostly<std::uint32_t>({IBV_WQ_ATTR_STATE, IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE});
  wanted.wq_state = chance.pick({IBV_WQS_RESET, IBV_WQS_RDY, IBV_WQS_RDY, IBV_WQS_ERR, IBV_WQS_UNKNOWN});
  wanted.curr_wq_state = chance.pick({IBV_WQS_RESET, IBV_WQS_RDY, IBV_WQS_ERR});
  ibv_modify_wq(wq.get(), &wanted);
}

void make_table(Objects& objects, Chance& chance) {
  if (objects.tables.is_full()) return;
  const Pool<ibv_wq>::Loan loans[] = {objects.wqs.borrow(chance), objects.wqs.borrow(chance),
                                      objects.wqs.borrow(chance), objects.wqs.borrow(chance)};
  ibv_wq* listed[] = {loans[0].get(), loans[1].get(), loans[2].get(), loans[3].get()};
  ibv_rwq_ind_table_init_attr wanted{};
  wanted.log_ind_tbl_size = static_cast<std::uint32_t>(chance.below(3));
  wanted.ind_tbl = listed;
  objects.tables.add(ibv_create_rwq_ind_table(objects.context, &wanted));
}

void make_rss(Objects& objects, Chance& chance) {
  if (objects.frame_qps.is_full()) return;
  const auto pd = objects.pds.borrow(chance);
  const auto table = objects.tables.borrow(chance);
  std::array<std::uint8_t, 40> key;
  for (auto& octet : key) octet = static_cast<std::uint8_t>(chance.number());
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_type = IBV_QPT_RAW_PACKET;
  wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
  wanted.pd = pd.get();
  wanted.rwq_ind_tbl = table.get();
  wanted.rx_hash_conf = {
      .rx_hash_function = chance.mostly<std::uint8_t>({IBV_RX_HASH_FUNC_TOEPLITZ}),
      .rx_hash_key_len = static_cast<std::uint8_t>(chance.one_in(20) ? 39 : 40),
      .rx_hash_key = key.data(),
      .rx_hash_fields_mask = chance.mostly<std::uint64_t>({0, IBV_RX_HASH_SRC_IPV4, 0xff})};
  objects.frame_qps.add(ibv_create_qp_ex(objects.context, &wanted));
}

void make_raw(Objects& objects, Chance& chance) {
  if (objects.frame_qps.is_full()) return;
  const auto pd = objects.pds.borrow(chance);
  const auto cq = objects.cqs.borrow(chance);
  if (!pd || !cq) return;
  ibv_qp_init_attr wanted{};
  wanted.qp_type = IBV_QPT_RAW_PACKET;
  wanted.send_cq = cq.get();
  wanted.recv_cq = cq.get();
  wanted.cap = {
      .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 64};
  ibv_qp* const qp = ibv_create_qp(pd.get(), &wanted);
  if (qp == nullptr) return;
  ibv_qp_attr attributes{};
  attributes.port_num = 1;
  attributes.qp_state = IBV_QPS_INIT;
  ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PORT);
  for (const ibv_qp_state state : {IBV_QPS_RTR, IBV_QPS_RTS}) {
    attributes.qp_state = state;
    ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
  }
  objects.frame_qps.add(qp);
}

void change_frame_qp(Objects& objects, Chance& chance) {
  const auto qp = objects.frame_qps.borrow(chance);
  if (!qp) return;
  ibv_qp_attr attributes{};
  attributes.qp_state = chance.pick({IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR});
  attributes.port_num = 1;
  ibv_modify_qp(qp.get(), &attributes,
                IBV_QP_STATE | (attributes.qp_state == IBV_QPS_INIT ? IBV_QP_PORT : 0));
  ibv_qp_attr asked{};
  ibv_qp_init_attr created{};
  ibv_query_qp(qp.get(), &asked, IBV_QP_STATE, &created);
}

void make_flow(Objects& objects, Chance& chance) {
  if (objects.flows.is_full()) return;
  const auto qp = objects.frame_qps.borrow(chance);
  if (!qp) return;
  struct {
    ibv_flow_attr attr;
    ibv_flow_spec_ipv4 ipv4;
  } rule{};
  rule.attr.type = chance.pick({IBV_FLOW_ATTR_NORMAL, IBV_FLOW_ATTR_NORMAL, IBV_FLOW_ATTR_SNIFFER,
                                IBV_FLOW_ATTR_ALL_DEFAULT, IBV_FLOW_ATTR_MC_DEFAULT});
  rule.attr.size = sizeof(rule);
  rule.attr.priority = static_cast<std::uint16_t>(chance.below(3));
  rule.attr.num_of_specs = rule.attr.type == IBV_FLOW_ATTR_NORMAL ? 1 : 0;
  rule.attr.port = chance.mostly<std::uint8_t>({1});
  rule.ipv4.type = IBV_FLOW_SPEC_IPV4;
  rule.ipv4.size = sizeof(rule.ipv4);
  // Most of all let pass what others need.
  if (!chance.one_in(3) && rule.attr.num_of_specs > 0) rule.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
  rule.ipv4.val.src_ip = 0x0000000a;  // 10.0.0.x in the order of the wire: no peer's
  rule.ipv4.mask.src_ip = 0x00ffffff;
  objects.flows.add(ibv_create_flow(qp.get(), &rule.attr));
}

void send_frame(Objects& objects, Chance& chance) {
  const auto qp = objects.frame_qps.borrow(chance);
  if (!qp) return;
  auto frame = frame_from(static_cast<std::uint8_t>(chance.number()));
  ibv_sge sge{.addr = reinterpret_cast<std::uintptr_t>(frame.data()),
              .length = chance.one_in(20) ? 10u : static_cast<std::uint32_t>(kFrameBytes),
              .lkey = 0};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_INLINE;
  if (chance.one_in(2)) wr.send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  ibv_post_send(qp.get(), &wr, &bad);
}

void post_frame_receive(Objects& objects, Chance& chance) {
  const auto mr = objects.mrs.borrow(chance);
  if (!mr || mr->length < 2 * kFrameBytes) return;
  ibv_sge sge{.addr = reinterpret_cast<std::uintptr_t>(mr->addr),
              .length = chance.one_in(20) ? 20u : static_cast<std::uint32_t>(2 * kFrameBytes),
              .lkey = mr->lkey};
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  if (chance.one_in(3)) {
    if (const auto qp = objects.frame_qps.borrow(chance)) ibv_post_recv(qp.get(), &wr, &bad);
  } else if (const auto wq = objects.wqs.borrow(chance)) {
    ibv_post_wq_recv(wq.get(), &wr, &bad);
  }
}

void end_some(Objects& objects, Chance& chance) {
  switch (chance.below(4)) {
    case 0:
      return objects.flows.destroy_one(chance, [](ibv_flow* flow) { return ibv_destroy_flow(flow); });
    case 1:
      return objects.frame_qps.destroy_one(chance, ibv_destroy_qp);
    case 2:
      return objects.tables.destroy_one(
          chance, [](ibv_rwq_ind_table* table) { return ibv_destroy_rwq_ind_table(table); });
    default:
      return objects.wqs.destroy_one(chance, [](ibv_wq* wq) { return ibv_destroy_wq(wq); });
  }
}

constexpr Action kFrameActions[] = {
    {"make wq", 6, make_wq},
    {"change wq", 4, change_wq},
    {"make table", 4, make_table},
    {"make rss qp", 4, make_rss},
    {"make raw qp", 4, make_raw},
    {"change frame qp", 2, change_frame_qp},
    {"make flow", 6, make_flow},
    {"send frame", 40, send_frame},
    {"post frame receive", 40, post_frame_receive},
    {"end frame objects", 6, end_some},
};

}  // namespace

std::span<const Action> frame_actions() {
  return kFrameActions;
}

}  // namespace urnic::stress
