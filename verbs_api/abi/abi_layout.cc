// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The layouts that clients are compiled against, with rdma-core 44 on x86-64 and arm64, which differ by the
// size of a mutex. Programs built with other versions agree: structs grow at their ends only (verbs_context
// at its front). Sizes are held only where nothing grows.
#include <pthread.h>

#include <cstddef>

#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/abi/newer_operations.h"

namespace {

// 40 bytes on x86-64, 48 on arm64.
constexpr std::size_t kMutex = sizeof(pthread_mutex_t);

static_assert(sizeof(ibv_device) == 664);
static_assert(offsetof(ibv_device, node_type) == 16);
static_assert(offsetof(ibv_device, transport_type) == 20);
static_assert(offsetof(ibv_device, name) == 24);
static_assert(offsetof(ibv_device, dev_name) == 88);
static_assert(offsetof(ibv_device, dev_path) == 152);
static_assert(offsetof(ibv_device, ibdev_path) == 408);

static_assert(sizeof(ibv_context) == 288 + kMutex);
static_assert(offsetof(ibv_context, device) == 0);
static_assert(offsetof(ibv_context, ops) == 8);
static_assert(offsetof(ibv_context, ops.alloc_mw) == 64);
static_assert(offsetof(ibv_context, ops.bind_mw) == 72);
static_assert(offsetof(ibv_context, ops.dealloc_mw) == 80);
static_assert(offsetof(ibv_context, ops.poll_cq) == 96);
static_assert(offsetof(ibv_context, ops.req_notify_cq) == 104);
static_assert(offsetof(ibv_context, ops.post_srq_recv) == 168);
static_assert(offsetof(ibv_context, ops.post_send) == 208);
static_assert(offsetof(ibv_context, ops.post_recv) == 216);
static_assert(offsetof(ibv_context, cmd_fd) == 264);
static_assert(offsetof(ibv_context, async_fd) == 268);
static_assert(offsetof(ibv_context, num_comp_vectors) == 272);
static_assert(offsetof(ibv_context, mutex) == 280);
static_assert(offsetof(ibv_context, abi_compat) == 280 + kMutex);

// Operations are found by their distance from the end.
constexpr std::size_t from_the_end(std::size_t offset) {
  return sizeof(verbs_context) - offset;
}
static_assert(from_the_end(offsetof(verbs_context, context)) == 288 + kMutex);
static_assert(from_the_end(offsetof(verbs_context, sz)) == 296 + kMutex);
static_assert(from_the_end(offsetof(verbs_context, priv)) == 400 + kMutex);
static_assert(from_the_end(offsetof(verbs_context, query_port)) == 608 + kMutex);

static_assert(sizeof(ibv_pd) == 16);
static_assert(sizeof(ibv_mr) == 48);
static_assert(sizeof(ibv_mw) == 32);
static_assert(sizeof(ibv_ah) == 24);
static_assert(sizeof(ibv_srq) == 88 + kMutex);
static_assert(sizeof(ibv_xrcd) == 8);
static_assert(sizeof(ibv_wq) == 112 + kMutex);
static_assert(sizeof(ibv_comp_channel) == 16);
static_assert(offsetof(ibv_comp_channel, fd) == 8);
static_assert(offsetof(ibv_comp_channel, refcnt) == 12);

static_assert(sizeof(ibv_cq) == 88 + kMutex);
static_assert(offsetof(ibv_cq_ex, cqe) == offsetof(ibv_cq, cqe));
static_assert(offsetof(ibv_cq_ex, mutex) == offsetof(ibv_cq, mutex));
static_assert(offsetof(ibv_cq_ex, cond) == offsetof(ibv_cq, cond));
static_assert(offsetof(ibv_cq_ex, async_events_completed) == offsetof(ibv_cq, async_events_completed));
static_assert(offsetof(ibv_cq_ex, read_completion_wallclock_ns) == 240 + kMutex);

static_assert(sizeof(ibv_qp) == 120 + kMutex);
static_assert(offsetof(ibv_qp_ex, qp_base) == 0);
static_assert(offsetof(ibv_qp_ex, comp_mask) == 120 + kMutex);
static_assert(offsetof(ibv_qp_ex, wr_id) == 128 + kMutex);
static_assert(offsetof(ibv_qp_ex, wr_flags) == 136 + kMutex);
static_assert(offsetof(ibv_qp_ex, wr_start) == 280 + kMutex);
static_assert(offsetof(ibv_qp_ex, wr_atomic_write) == 304 + kMutex);
static_assert(sizeof(urnic::verbs_api::QpExWithFlush) == 320 + kMutex);  // wr_flush is the last

static_assert(sizeof(ibv_wc) == 48);
static_assert(sizeof(ibv_send_wr) == 128);
static_assert(sizeof(ibv_recv_wr) == 32);
static_assert(sizeof(ibv_sge) == 16);
static_assert(sizeof(ibv_grh) == 40);
static_assert(sizeof(ibv_qp_attr) == 144);
static_assert(sizeof(ibv_qp_init_attr) == 64);
static_assert(sizeof(ibv_ah_attr) == 32);
static_assert(offsetof(ibv_port_attr, port_cap_flags2) == 48);
static_assert(sizeof(ibv_device_attr) == 232);
static_assert(offsetof(ibv_device_attr_ex, phys_port_cnt_ex) == 396);
static_assert(sizeof(ibv_gid_entry) == 32);
static_assert(sizeof(ibv_async_event) == 16);

static_assert(offsetof(ibv_flow, handle) == 16);
static_assert(sizeof(ibv_flow_attr) == 20);
static_assert(offsetof(ibv_flow_attr, flags) == 16);
static_assert(sizeof(ibv_flow_spec_eth) == 40);
static_assert(sizeof(ibv_flow_spec_ipv4) == 24);
static_assert(sizeof(ibv_flow_spec_ipv4_ext) == 32);
static_assert(sizeof(ibv_flow_spec_ipv6) == 88);
static_assert(sizeof(ibv_flow_spec_tcp_udp) == 16);

}  // namespace
