// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The operations that libibverbs.h's inline functions call through a context, and where each is defined.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

// poll.cc
int poll_cq(ibv_cq* cq, int capacity, ibv_wc* completions) noexcept;
int request_notification(ibv_cq* cq, int solicited_only) noexcept;
// post.cc
int post_send(ibv_qp* qp, ibv_send_wr* first, ibv_send_wr** bad) noexcept;
int post_receive(ibv_qp* qp, ibv_recv_wr* first, ibv_recv_wr** bad) noexcept;
int post_srq_receive(ibv_srq* srq, ibv_recv_wr* first, ibv_recv_wr** bad) noexcept;
int post_wq_receive(ibv_wq* wq, ibv_recv_wr* first, ibv_recv_wr** bad) noexcept;
// device_query.cc, port_query.cc
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t size) noexcept;
int query_rt_values(ibv_context* context, ibv_values_ex* values) noexcept;
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes, std::size_t size) noexcept;
// cq.cc, qp.cc
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* init_attr) noexcept;
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attr) noexcept;
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* init_attr) noexcept;
// wq.cc, rwq_ind_table.cc
ibv_wq* create_wq(ibv_context* context, ibv_wq_init_attr* init_attr) noexcept;
int modify_wq(ibv_wq* wq, ibv_wq_attr* attr) noexcept;
int destroy_wq(ibv_wq* wq) noexcept;
ibv_rwq_ind_table* create_rwq_ind_table(ibv_context* context,
                                        ibv_rwq_ind_table_init_attr* init_attr) noexcept;
int destroy_rwq_ind_table(ibv_rwq_ind_table* table) noexcept;
// open_qp.cc
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attr) noexcept;
// srq.cc, xrcd.cc
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* init_attr) noexcept;
int get_srq_number(ibv_srq* srq, std::uint32_t* number) noexcept;
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* init_attr) noexcept;
int close_xrcd(ibv_xrcd* xrcd) noexcept;
// mr.cc, advise_mr.cc, dm.cc
ibv_mr* alloc_null_mr(ibv_pd* pd) noexcept;
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* elements,
              std::uint32_t count) noexcept;
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attr) noexcept;
int free_dm(ibv_dm* dm) noexcept;
ibv_mr* register_dm(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length,
                    unsigned int flags) noexcept;
// parent_domain.cc
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* init_attr) noexcept;
int dealloc_td(ibv_td* td) noexcept;
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* init_attr) noexcept;
// mw.cc
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) noexcept;
int dealloc_mw(ibv_mw* mw) noexcept;
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* mw_bind) noexcept;

// flow.cc
ibv_flow* create_flow(ibv_qp* qp, ibv_flow_attr* attr) noexcept;
int destroy_flow(ibv_flow* flow) noexcept;
ibv_counters* create_counters(ibv_context* context, ibv_counters_init_attr* init_attr) noexcept;
int attach_counters(ibv_counters* counters, ibv_counter_attach_attr* attr, ibv_flow* flow) noexcept;
int read_counters(ibv_counters* counters, std::uint64_t* values, std::uint32_t count,
                  std::uint32_t flags) noexcept;
int destroy_counters(ibv_counters* counters) noexcept;

/// Fills a zeroed block. What stays null is not offered: programs find out by exactly that.
void fill_operations(verbs_context& context);

}  // namespace urnic::verbs_api
