// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/stress/actions.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

namespace urnic::stress {
namespace {

constexpr std::uint32_t kQkey = 0x1234;

ibv_gid own_gid(ibv_context* context) {
  ibv_gid gid{};
  ibv_query_gid(context, 1, kGidIndex, &gid);
  return gid;
}

ibv_ah_attr own_address(Objects& objects, Chance& chance) {
  ibv_ah_attr address{};
  address.is_global = chance.one_in(20) ? 0 : 1;
  address.port_num = chance.mostly<std::uint8_t>({1});
  address.grh.dgid = own_gid(objects.context);
  if (chance.one_in(20)) address.grh.dgid.raw[15] ^= 0x55;  // a host that is not there
  address.grh.sgid_index = chance.mostly<std::uint8_t>({kGidIndex});
  address.grh.hop_limit = 64;
  return address;
}

ibv_sge element(Objects& objects, Chance& chance) {
  const auto mr = objects.mrs.borrow(chance);
  const std::size_t offset = chance.below(objects.memory.size());
  ibv_sge sge{.addr = reinterpret_cast<std::uintptr_t>(objects.memory.data()) + offset,
              .length = chance.mostly<std::uint32_t>({0, 1, 8, 64, 1000, 5000}),
              .lkey = mr ? mr->lkey : static_cast<std::uint32_t>(chance.number())};
  if (mr && !chance.one_in(8)) {
    sge.addr = reinterpret_cast<std::uintptr_t>(mr->addr);
    sge.length = static_cast<std::uint32_t>(std::min<std::size_t>(sge.length, mr->length));
  }
  return sge;
}

// --- Making ---

void make_pd(Objects& objects, Chance&) {
  if (!objects.pds.is_full()) objects.pds.add(ibv_alloc_pd(objects.context));
}

void make_channel(Objects& objects, Chance&) {
  if (objects.channels.is_full()) return;
  ibv_comp_channel* const channel = ibv_create_comp_channel(objects.context);
  if (channel != nullptr) fcntl(channel->fd, F_SETFL, O_NONBLOCK);
  objects.channels.add(channel);
}

void make_cq(Objects& objects, Chance& chance) {
  if (objects.cqs.is_full()) return;
  const auto channel = objects.channels.borrow(chance);
  const int entries = chance.mostly<int>({1, 16, 200, 2000});
  if (chance.one_in(2)) {
    objects.cqs.add(ibv_create_cq(objects.context, entries, nullptr, channel.get(), 0));
    return;
  }
  ibv_cq_init_attr_ex wanted{};
  wanted.cqe = static_cast<std::uint32_t>(entries);
  wanted.channel = channel.get();
  wanted.wc_flags =
      chance.mostly<std::uint64_t>({0, IBV_WC_STANDARD_FLAGS, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP});
  // Never said to be used by one thread only: it is not.
  ibv_cq_ex* const cq = ibv_create_cq_ex(objects.context, &wanted);
  objects.cqs.add(cq == nullptr ? nullptr : ibv_cq_ex_to_cq(cq));
}

void make_mr(Objects& objects, Chance& chance) {
  if (objects.mrs.is_full()) return;
  const auto pd = objects.pds.borrow(chance);
  if (!pd) return;
  constexpr int kAll = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                       IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
  const int access = chance.mostly<int>({kAll, kAll, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ,
                                         kAll | IBV_ACCESS_ON_DEMAND, kAll | IBV_ACCESS_ZERO_BASED});
  const std::size_t offset = chance.below(objects.memory.size() / 2) & ~std::size_t{7};
  const std::size_t length = chance.below(objects.memory.size() / 2);
  if (!chance.one_in(8)) {
    objects.mrs.add(ibv_reg_mr_iova2(pd.get(), objects.memory.data() + offset, length,
                                     reinterpret_cast<std::uintptr_t>(objects.memory.data()) + offset,
                                     static_cast<unsigned int>(access)));
  } else if (const auto dm = objects.dms.borrow(chance)) {
    objects.mrs.add(ibv_reg_dm_mr(pd.get(), dm.get(), 0, chance.mostly<std::size_t>({0, 64, 1024}),
                                  static_cast<unsigned int>(access) | IBV_ACCESS_ZERO_BASED));
  } else {
    objects.mrs.add(ibv_alloc_null_mr(pd.get()));
  }
}

void make_dm(Objects& objects, Chance& chance) {
  if (objects.dms.is_full()) return;
  ibv_alloc_dm_attr wanted{.length = chance.mostly<std::size_t>({64, 4096}),
                           .log_align_req = chance.mostly<std::uint32_t>({0, 3, 12}),
                           .comp_mask = chance.mostly<std::uint32_t>({0})};
  objects.dms.add(ibv_alloc_dm(objects.context, &wanted));
}

void make_mw(Objects& objects, Chance& chance) {
  if (objects.mws.is_full()) return;
  if (const auto pd = objects.pds.borrow(chance)) {
    objects.mws.add(ibv_alloc_mw(pd.get(), chance.pick({IBV_MW_TYPE_1, IBV_MW_TYPE_2})));
  }
}

void make_ah(Objects& objects, Chance& chance) {
  if (objects.ahs.is_full()) return;
  const auto pd = objects.pds.borrow(chance);
  if (!pd) return;
  ibv_ah_attr address = own_address(objects, chance);
  objects.ahs.add(ibv_create_ah(pd.get(), &address));
}

void make_srq(Objects& objects, Chance& chance) {
  if (objects.srqs.is_full()) return;
  const auto pd = objects.pds.borrow(chance);
  if (!pd) return;
  ibv_srq_init_attr wanted{};
  wanted.attr.max_wr = chance.mostly<std::uint32_t>({1, 16, 100});
  wanted.attr.max_sge = chance.mostly<std::uint32_t>({1, 4});
  objects.srqs.add(ibv_create_srq(pd.get(), &wanted));
}

void make_qp(Objects& objects, Chance& chance) {
  if (objects.qps.is_full()) return;
  const auto pd = objects.pds.borrow(chance);
  const auto sends = objects.cqs.borrow(chance);
  const auto receives = objects.cqs.borrow(chance);
  if (!pd || !sends || !receives) return;
  const auto srq = chance.one_in(3) ? objects.srqs.borrow(chance) : Pool<ibv_srq>::Loan();
  ibv_qp_init_attr wanted{};
  wanted.qp_type = chance.pick({IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD});
  wanted.send_cq = sends.get();
  wanted.recv_cq = receives.get();
  wanted.srq = srq.get();
  wanted.sq_sig_all = static_cast<int>(chance.below(2));
  wanted.cap = {.max_send_wr = chance.mostly<std::uint32_t>({1, 16, 64}),
                .max_recv_wr = chance.mostly<std::uint32_t>({0, 16, 64}),
                .max_send_sge = chance.mostly<std::uint32_t>({0, 1, 4}),
                .max_recv_sge = chance.mostly<std::uint32_t>({1, 4}),
                .max_inline_data = chance.mostly<std::uint32_t>({0, 64, 256})};
  objects.qps.add(ibv_create_qp(pd.get(), &wanted));
}

// --- Ending ---

void end_qp(Objects& objects, Chance& chance) {
  objects.qps.destroy_one(chance, ibv_destroy_qp);
}
void end_cq(Objects& objects, Chance& chance) {
  objects.cqs.destroy_one(chance, ibv_destroy_cq);
}
void end_mr(Objects& objects, Chance& chance) {
  objects.mrs.destroy_one(chance, ibv_dereg_mr);
}
void end_others(Objects& objects, Chance& chance) {
  switch (chance.below(6)) {
    case 0:
      return objects.pds.destroy_one(chance, ibv_dealloc_pd);
    case 1:
      return objects.channels.destroy_one(chance, ibv_destroy_comp_channel);
    case 2:
      return objects.srqs.destroy_one(chance, ibv_destroy_srq);
    case 3:
      return objects.ahs.destroy_one(chance, ibv_destroy_ah);
    case 4:
      return objects.mws.destroy_one(chance, [](ibv_mw* mw) { return ibv_dealloc_mw(mw); });
    default:
      return objects.dms.destroy_one(chance, [](ibv_dm* dm) { return ibv_free_dm(dm); });
  }
}

// --- Changing ---

void bring_up(Objects& objects, Chance& chance, ibv_qp* qp, std::uint32_t remote) {
  const bool is_datagram = qp->qp_type == IBV_QPT_UD;
  ibv_qp_attr attributes{};
  attributes.port_num = 1;
  attributes.qkey = kQkey;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  attributes.path_mtu = chance.pick({IBV_MTU_256, IBV_MTU_1024, IBV_MTU_4096});
  attributes.dest_qp_num = remote;
  attributes.ah_attr = own_address(objects, chance);
  attributes.max_dest_rd_atomic = 4;
  attributes.max_rd_atomic = 4;
  attributes.min_rnr_timer = 1;
  attributes.timeout = 1;
  attributes.retry_cnt = 1;
  attributes.rnr_retry = chance.pick<std::uint8_t>({0, 1, 7});
  attributes.qp_state = IBV_QPS_INIT;
  ibv_modify_qp(
      qp, &attributes,
      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (is_datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
  attributes.qp_state = IBV_QPS_RTR;
  const bool is_reliable = qp->qp_type == IBV_QPT_RC;
  const int connected = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        (is_reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
  ibv_modify_qp(qp, &attributes, IBV_QP_STATE | (is_datagram ? 0 : connected));
  attributes.qp_state = IBV_QPS_RTS;
  const int timers = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN | (is_reliable ? timers : 0));
}

void connect(Objects& objects, Chance& chance) {
  const auto one = objects.qps.borrow(chance);
  const auto other = objects.qps.borrow(chance);
  if (!one || !other) return;
  bring_up(objects, chance, one.get(), other->qp_num);
  if (one.get() != other.get()) bring_up(objects, chance, other.get(), one->qp_num);
}

void change_state(Objects& objects, Chance& chance) {
  const auto qp = objects.qps.borrow(chance);
  if (!qp) return;
  ibv_qp_attr attributes{};
  attributes.qp_state = chance.pick({IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR});
  attributes.en_sqd_async_notify = 1;
  const int more = chance.one_in(5) ? static_cast<int>(chance.number() & 0x1fffff) : 0;
  ibv_modify_qp(qp.get(), &attributes, IBV_QP_STATE | more);
}

void change_srq(Objects& objects, Chance& chance) {
  const auto srq = objects.srqs.borrow(chance);
  if (!srq) return;
  ibv_srq_attr attributes{};
  attributes.max_wr = chance.mostly<std::uint32_t>({1, 16, 300});
  attributes.srq_limit = chance.mostly<std::uint32_t>({0, 1, 5});
  ibv_modify_srq(srq.get(), &attributes, chance.mostly<int>({IBV_SRQ_LIMIT, IBV_SRQ_MAX_WR, IBV_SRQ_MAX_WR}));
}

void join_or_leave(Objects& objects, Chance& chance) {
  const auto qp = objects.qps.borrow(chance);
  if (!qp) return;
  ibv_gid group{};
  std::memcpy(group.raw, kGroup.data(), kGroup.size());
  if (chance.one_in(2)) {
    ibv_attach_mcast(qp.get(), &group, 0);
  } else {
    ibv_detach_mcast(qp.get(), &group, 0);
  }
}

// --- Working ---

void post_send(Objects& objects, Chance& chance) {
  const auto qp = objects.qps.borrow(chance);
  const auto target = objects.mrs.borrow(chance);
  const auto ah = objects.ahs.borrow(chance);
  const auto mw = objects.mws.borrow(chance);
  const auto peer = objects.qps.borrow(chance);
  if (!qp) return;
  ibv_sge sges[3] = {element(objects, chance), element(objects, chance), element(objects, chance)};
  ibv_send_wr wr{};
  wr.wr_id = chance.number();
  wr.sg_list = sges;
  wr.num_sge = chance.mostly<int>({0, 1, 1, 2, 3});
  if (wr.num_sge < 0 || wr.num_sge > 3) wr.num_sge = 3;  // we have no more
  wr.opcode =
      chance.pick({IBV_WR_SEND, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE,
                   IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
                   IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_LOCAL_INV, IBV_WR_SEND_WITH_INV});
  wr.send_flags = chance.mostly<unsigned int>(
      {0, IBV_SEND_SIGNALED, IBV_SEND_SIGNALED | IBV_SEND_FENCE, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED});
  if (chance.one_in(4)) wr.send_flags |= IBV_SEND_INLINE;
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
    for (ibv_sge& sge : sges) {
      sge.addr = reinterpret_cast<std::uintptr_t>(objects.constants.data());
      sge.length = std::min(sge.length, static_cast<std::uint32_t>(objects.constants.size()));
    }
  }
  const std::uint64_t address = target ? reinterpret_cast<std::uintptr_t>(target->addr) : chance.number();
  const std::uint32_t key = target ? target->rkey : static_cast<std::uint32_t>(chance.number());
  if (qp->qp_type == IBV_QPT_UD) {
    if (!ah) return;
    wr.opcode = chance.pick({IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE});
    wr.wr.ud = {.ah = ah.get(), .remote_qpn = peer ? peer->qp_num : 77, .remote_qkey = kQkey};
  } else if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    wr.wr.atomic = {.remote_addr = address, .compare_add = 1, .swap = 2, .rkey = key};
  } else {
    wr.wr.rdma = {.remote_addr = address, .rkey = key};
  }
  if (wr.opcode == IBV_WR_LOCAL_INV || wr.opcode == IBV_WR_SEND_WITH_INV) {
    wr.invalidate_rkey =
        mw ? std::atomic_ref(mw->rkey).load(std::memory_order_relaxed) : key;  // others bind it
  }
  ibv_send_wr second = wr;
  if (chance.one_in(4)) wr.next = &second;
  ibv_send_wr* bad = nullptr;
  ibv_post_send(qp.get(), &wr, &bad);
}

void bind_window(Objects& objects, Chance& chance) {
  const auto qp = objects.qps.borrow(chance);
  const auto mw = objects.mws.borrow(chance);
  const auto mr = objects.mrs.borrow(chance);
  if (!qp || !mw || !mr || mw->type != IBV_MW_TYPE_1) return;
  ibv_mw_bind bind{};
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = {.mr = mr.get(),
                    .addr = reinterpret_cast<std::uintptr_t>(mr->addr),
                    .length = chance.mostly<std::uint64_t>({0, 8, 64}),
                    .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  ibv_bind_mw(qp.get(), mw.get(), &bind);
}

void post_receive(Objects& objects, Chance& chance) {
  ibv_sge sge = element(objects, chance);
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = static_cast<int>(chance.below(2));
  ibv_recv_wr* bad = nullptr;
  if (chance.one_in(3)) {
    if (const auto srq = objects.srqs.borrow(chance)) ibv_post_srq_recv(srq.get(), &wr, &bad);
  } else if (const auto qp = objects.qps.borrow(chance)) {
    ibv_post_recv(qp.get(), &wr, &bad);
  }
}

void poll(Objects& objects, Chance& chance) {
  const auto cq = objects.cqs.borrow(chance);
  if (!cq) return;
  ibv_wc completions[8];
  for (int i = 0; i < 4; ++i) {
    const int count = ibv_poll_cq(cq.get(), static_cast<int>(chance.below(9)), completions);
    if (count <= 0) return;
    const auto good = std::count_if(completions, completions + count, [](const ibv_wc& completion) {
      return completion.status == IBV_WC_SUCCESS;
    });
    objects.succeeded.fetch_add(static_cast<std::uint64_t>(good), std::memory_order_relaxed);
    objects.failed.fetch_add(static_cast<std::uint64_t>(count - good), std::memory_order_relaxed);
  }
}

void arm(Objects& objects, Chance& chance) {
  if (const auto cq = objects.cqs.borrow(chance)) {
    ibv_req_notify_cq(cq.get(), static_cast<int>(chance.below(2)));
  }
}

void take_events(Objects& objects, Chance& chance) {
  if (const auto channel = objects.channels.borrow(chance)) {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(channel.get(), &cq, &context) == 0) ibv_ack_cq_events(cq, 1);
  }
  ibv_async_event event{};
  if (ibv_get_async_event(objects.context, &event) == 0) ibv_ack_async_event(&event);
}

void resize(Objects& objects, Chance& chance) {
  if (const auto cq = objects.cqs.borrow(chance)) ibv_resize_cq(cq.get(), chance.mostly<int>({1, 16, 500}));
}

void ask(Objects& objects, Chance& chance) {
  ibv_device_attr_ex device{};
  ibv_port_attr port{};
  ibv_gid gid{};
  ibv_query_device_ex(objects.context, nullptr, &device);
  ibv_query_port(objects.context, chance.mostly<std::uint8_t>({1}), &port);
  ibv_query_gid(objects.context, 1, chance.mostly<int>({0, 1, 2, 5}), &gid);
  if (const auto qp = objects.qps.borrow(chance)) {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr created{};
    ibv_query_qp(qp.get(), &attributes, chance.mostly<int>({IBV_QP_STATE, 0x1fffff}), &created);
  }
  if (const auto srq = objects.srqs.borrow(chance)) {
    ibv_srq_attr attributes{};
    ibv_query_srq(srq.get(), &attributes);
  }
}

constexpr Action kVerbsActions[] = {
    {"make pd", 2, make_pd},
    {"make channel", 2, make_channel},
    {"make cq", 6, make_cq},
    {"make mr", 8, make_mr},
    {"make dm", 2, make_dm},
    {"make mw", 2, make_mw},
    {"make ah", 3, make_ah},
    {"make srq", 3, make_srq},
    {"make qp", 12, make_qp},
    {"end qp", 4, end_qp},
    {"end cq", 4, end_cq},
    {"end mr", 4, end_mr},
    {"end others", 4, end_others},
    {"connect", 16, connect},
    {"change state", 4, change_state},
    {"change srq", 3, change_srq},
    {"join or leave", 3, join_or_leave},
    {"post send", 90, post_send},
    {"bind window", 4, bind_window},
    {"post receive", 60, post_receive},
    {"poll", 60, poll},
    {"arm", 8, arm},
    {"take events", 12, take_events},
    {"resize", 4, resize},
    {"ask", 6, ask},
};

}  // namespace

std::span<const Action> all_actions() {
  static const std::vector<Action> all = [] {
    std::vector<Action> joined;
    for (const std::span<const Action> some :
         {std::span<const Action>(kVerbsActions), frame_actions(), sharing_actions()}) {
      joined.insert(joined.end(), some.begin(), some.end());
    }
    return joined;
  }();
  return all;
}

}  // namespace urnic::stress
