#include "verbs_api/operations.h"

#include <cerrno>

namespace urnic::verbs_api {
namespace {

// The header calls these without asking whether they are there, so they must be.
int bind_mw(ibv_qp*, ibv_mw*, ibv_mw_bind*) noexcept {
  return EOPNOTSUPP;
}
int dealloc_mw(ibv_mw*) noexcept {
  return EOPNOTSUPP;
}
int close_xrcd(ibv_xrcd*) noexcept {
  return EOPNOTSUPP;
}
int post_srq_receive(ibv_srq*, ibv_recv_wr* first, ibv_recv_wr** bad) noexcept {
  if (bad != nullptr) {
    *bad = first;
  }
  return EOPNOTSUPP;
}

}  // namespace

void fill_operations(verbs_context& context) {
  context.query_port = query_port;
  context.query_device_ex = query_device_ex;
  context.create_cq_ex = create_cq_ex;
  context.create_qp_ex = create_qp_ex;
  context.close_xrcd = close_xrcd;
  context.sz = sizeof(verbs_context);

  ibv_context_ops& ops = context.context.ops;
  // Programs from before 2013 look here.
  ops._compat_query_device = ibv_query_device;
  ops._compat_query_port = ibv_query_port;
  ops.bind_mw = bind_mw;
  ops.dealloc_mw = dealloc_mw;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = request_notification;
  ops.post_srq_recv = post_srq_receive;
  ops.post_send = post_send;
  ops.post_recv = post_receive;
}

}  // namespace urnic::verbs_api
