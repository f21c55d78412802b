// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/verbs_api/verbs_objects.h"

#include <arpa/inet.h>

#include <chrono>
#include <thread>

namespace urnic::test {

using namespace std::chrono_literals;

ContextPtr open_device() {
  ibv_device** const list = ibv_get_device_list(nullptr);
  EXPECT_NE(list, nullptr);
  ContextPtr context(ibv_open_device(list[0]));
  EXPECT_NE(context, nullptr);
  ibv_free_device_list(list);
  return context;
}

ibv_qp_init_attr rc_attributes(ibv_cq* cq) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = cq;
  attributes.recv_cq = cq;
  attributes.cap = {
      .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 4, .max_recv_sge = 4, .max_inline_data = 64};
  attributes.qp_type = IBV_QPT_RC;
  return attributes;
}

ibv_qp_init_attr qp_attributes(ibv_qp_type type, ibv_cq* cq) {
  ibv_qp_init_attr attributes = rc_attributes(cq);
  attributes.qp_type = type;
  return attributes;
}

int to_init(ibv_qp* qp) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  attributes.qp_access_flags = kAllAccess;
  return ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int to_ready_to_receive(ibv_qp* qp, std::uint32_t remote_qpn) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_1024;
  attributes.dest_qp_num = remote_qpn;
  attributes.rq_psn = 0xfffffe;  // so that it wraps around
  attributes.max_dest_rd_atomic = 4;
  attributes.min_rnr_timer = 1;
  attributes.ah_attr = own_address(qp->context);
  const bool answers = qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_RECV;
  return ibv_modify_qp(qp, &attributes,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           (answers ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
}

int to_ready_to_send(ibv_qp* qp) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = 0xfffffe;
  attributes.timeout = 14;
  attributes.retry_cnt = 7;
  attributes.rnr_retry = 7;
  attributes.max_rd_atomic = 4;
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (qp->qp_type != IBV_QPT_UC) mask |= IBV_QP_TIMEOUT;
  if (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_XRC_SEND) {
    mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  return ibv_modify_qp(qp, &attributes, mask);
}

int start_datagrams(ibv_qp* qp, std::uint32_t qkey) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  attributes.qkey = qkey;
  const int error =
      ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  if (error != 0) return error;
  attributes.qp_state = IBV_QPS_RTR;
  if (const int failed = ibv_modify_qp(qp, &attributes, IBV_QP_STATE); failed != 0) return failed;
  attributes.qp_state = IBV_QPS_RTS;
  return ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

ibv_ah_attr own_address(ibv_context* context, std::uint8_t gid_index) {
  ibv_ah_attr address{};
  address.is_global = 1;
  address.port_num = 1;
  address.grh.sgid_index = gid_index;
  address.grh.hop_limit = 64;
  EXPECT_EQ(ibv_query_gid(context, 1, gid_index, &address.grh.dgid), 0);
  return address;
}

int connect(ibv_qp* qp, std::uint32_t remote_qpn) {
  if (const int error = to_init(qp); error != 0) return error;
  if (const int error = to_ready_to_receive(qp, remote_qpn); error != 0) return error;
  return to_ready_to_send(qp);
}

ibv_wc next_completion(ibv_cq* cq) {
  ibv_wc completion{};
  const auto end = std::chrono::steady_clock::now() + 5s;
  while (std::chrono::steady_clock::now() < end) {
    const int count = ibv_poll_cq(cq, 1, &completion);
    EXPECT_GE(count, 0);
    if (count == 1) return completion;
  }
  ADD_FAILURE() << "no completion within 5 seconds";
  return completion;
}

bool stays_empty(ibv_cq* cq) {
  ibv_wc completion{};
  const auto end = std::chrono::steady_clock::now() + 20ms;
  while (std::chrono::steady_clock::now() < end) {
    if (ibv_poll_cq(cq, 1, &completion) != 0) return false;
  }
  return true;
}

Buffer::Buffer(ibv_pd* pd, std::size_t size, int access) : bytes_(size) {
  mr_.reset(ibv_reg_mr(pd, bytes_.data(), size, access));
  EXPECT_NE(mr_, nullptr);
}

ibv_sge Buffer::sge(std::size_t offset, std::size_t length) const {
  return {.addr = address() + offset, .length = static_cast<std::uint32_t>(length), .lkey = mr_->lkey};
}

void Buffer::fill(std::uint8_t seed) {
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    bytes_[i] = static_cast<std::uint8_t>(i * 7 + i / 251 + seed);
  }
}

Pair::Pair(bool all_signaled, ibv_qp_type type) : context_(open_device()), pd_(ibv_alloc_pd(context_.get())) {
  cq_a_.reset(ibv_create_cq(context(), 64, nullptr, nullptr, 0));
  cq_b_.reset(ibv_create_cq(context(), 64, nullptr, nullptr, 0));
  ibv_qp_init_attr of_a = qp_attributes(type, cq_a());
  ibv_qp_init_attr of_b = qp_attributes(type, cq_b());
  of_a.sq_sig_all = all_signaled ? 1 : 0;
  a_.reset(ibv_create_qp(pd(), &of_a));
  b_.reset(ibv_create_qp(pd(), &of_b));
  EXPECT_EQ(connect(a(), b()->qp_num), 0);
  EXPECT_EQ(connect(b(), a()->qp_num), 0);
}

int post_receive(ibv_qp* qp, std::uint64_t wr_id, const std::vector<ibv_sge>& sges) {
  std::vector<ibv_sge> elements = sges;
  ibv_recv_wr wr{.wr_id = wr_id,
                 .next = nullptr,
                 .sg_list = elements.data(),
                 .num_sge = static_cast<int>(elements.size())};
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp, &wr, &bad);
}

int post_srq_receive(ibv_srq* srq, std::uint64_t wr_id, const std::vector<ibv_sge>& sges) {
  std::vector<ibv_sge> elements = sges;
  ibv_recv_wr wr{.wr_id = wr_id,
                 .next = nullptr,
                 .sg_list = elements.data(),
                 .num_sge = static_cast<int>(elements.size())};
  ibv_recv_wr* bad = nullptr;
  const int error = ibv_post_srq_recv(srq, &wr, &bad);
  EXPECT_EQ(bad, error != 0 ? &wr : nullptr);
  return error;
}

int post_send(ibv_qp* qp, ibv_send_wr wr, const std::vector<ibv_sge>& sges) {
  std::vector<ibv_sge> elements = sges;
  wr.sg_list = elements.data();
  wr.num_sge = static_cast<int>(elements.size());
  ibv_send_wr* bad = nullptr;
  const int error = ibv_post_send(qp, &wr, &bad);
  EXPECT_EQ(bad, error != 0 ? &wr : nullptr);
  return error;
}

ibv_send_wr request(ibv_wr_opcode opcode, std::uint64_t wr_id) {
  ibv_send_wr wr{};
  wr.wr_id = wr_id;
  wr.opcode = opcode;
  wr.send_flags = IBV_SEND_SIGNALED;
  return wr;
}

ibv_send_wr request(ibv_wr_opcode opcode, const Buffer& remote, std::uint64_t wr_id) {
  ibv_send_wr wr = request(opcode, wr_id);
  wr.wr.rdma.remote_addr = remote.address();
  wr.wr.rdma.rkey = remote.rkey();
  return wr;
}

}  // namespace urnic::test
