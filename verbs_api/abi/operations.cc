// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/abi/operations.h"

namespace urnic::verbs_api {
void fill_operations(verbs_context& context) {
  context.query_port = query_port;
  context.query_device_ex = query_device_ex;
  context.query_rt_values = query_rt_values;
  context.create_cq_ex = create_cq_ex;
  context.modify_cq = modify_cq;
  context.create_qp_ex = create_qp_ex;
  context.open_qp = open_qp;
  context.alloc_td = alloc_td;
  context.dealloc_td = dealloc_td;
  context.alloc_parent_domain = alloc_parent_domain;
  context.get_srq_num = get_srq_number;
  context.create_srq_ex = create_srq_ex;
  context.open_xrcd = open_xrcd;
  context.close_xrcd = close_xrcd;
  context.alloc_null_mr = alloc_null_mr;
  context.advise_mr = advise_mr;
  context.alloc_dm = alloc_dm;
  context.free_dm = free_dm;
  context.reg_dm_mr = register_dm;
  context.create_wq = create_wq;
  context.modify_wq = modify_wq;
  context.destroy_wq = destroy_wq;
  context.create_rwq_ind_table = create_rwq_ind_table;
  context.destroy_rwq_ind_table = destroy_rwq_ind_table;
  context.ibv_create_flow = create_flow;
  context.ibv_destroy_flow = destroy_flow;
  context.create_counters = create_counters;
  context.attach_counters_point_flow = attach_counters;
  context.read_counters = read_counters;
  context.destroy_counters = destroy_counters;
  context.sz = sizeof(verbs_context);

  ibv_context_ops& ops = context.context.ops;
  // Programs from before 2013 look here.
  ops._compat_query_device = ibv_query_device;
  ops._compat_query_port = ibv_query_port;
  ops.alloc_mw = alloc_mw;
  ops.bind_mw = bind_mw;
  ops.dealloc_mw = dealloc_mw;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = request_notification;
  ops.post_srq_recv = post_srq_receive;
  ops.post_send = post_send;
  ops.post_recv = post_receive;
}

}  // namespace urnic::verbs_api
