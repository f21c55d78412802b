// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/rdma_cm/qp_settings.h"

#include <cerrno>

#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/device/address.h"
#include "verbs_api/device/mtu.h"
#include "verbs_api/rdma_cm/kernel_address.h"

namespace urnic::verbs_api {
namespace {

using nic::rdma_cm::QpSettings;
using nic::rdma_cm::Service;
using transport::QpState;

/// Before the connection is known, and always of datagrams, for which no state needs more.
void set_basics(ib_uverbs_qp_attr& to, const QpSettings& from) {
  to.port_num = kPort;
  to.pkey_index = 0;
  to.qp_attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (from.service == Service::kUd) {
    to.qkey = from.qkey;
    to.qp_attr_mask |= IBV_QP_QKEY;
  } else {
    to.qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
  }
}

void set_access(ib_uverbs_qp_attr& to, const QpSettings& from) {
  to.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  if (from.allows_reads) to.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
}

// Which sides of XRC have what follows from what they do: the initiator sends requests, the target answers
// them.

void set_receiving(ib_uverbs_qp_attr& to, const QpSettings& from) {
  to.ah_attr = to_kernel_address(from.address);
  to.path_mtu = to_ibv_mtu(from.path_mtu);
  to.dest_qp_num = static_cast<std::uint32_t>(from.peer);
  to.rq_psn = from.receive_psn.value();
  to.qp_attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (from.service == Service::kRc || (from.service == Service::kXrc && from.is_xrc_target)) {
    to.max_dest_rd_atomic = from.responder_resources;
    to.min_rnr_timer = from.min_rnr_timer;
    to.qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
}

void set_sending(ib_uverbs_qp_attr& to, const QpSettings& from) {
  to.sq_psn = from.send_psn.value();
  to.qp_attr_mask |= IBV_QP_SQ_PSN;
  if (from.service == Service::kUc) return;
  to.timeout = from.ack_timeout;
  to.qp_attr_mask |= IBV_QP_TIMEOUT;
  if (from.service == Service::kRc || !from.is_xrc_target) {
    to.retry_cnt = from.retry_count;
    to.rnr_retry = from.rnr_retry_count;
    to.max_rd_atomic = from.initiator_depth;
    to.qp_attr_mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
}

}  // namespace

std::optional<QpState> to_qp_state(std::uint32_t state) {
  if (state > std::uint32_t{IBV_QPS_ERR}) return std::nullopt;
  return static_cast<QpState>(state);
}

Result<ib_uverbs_qp_attr, int> to_kernel_attributes(const QpSettings& settings) {
  ib_uverbs_qp_attr attributes{};
  attributes.qp_state = static_cast<std::uint32_t>(settings.state);
  attributes.qp_attr_mask = IBV_QP_STATE;
  if (settings.service == Service::kUd || !settings.is_connection_known) {
    set_basics(attributes, settings);
    return attributes;
  }
  switch (settings.state) {
    case QpState::kInit:
      set_basics(attributes, settings);
      set_access(attributes, settings);
      return attributes;
    case QpState::kReadyToReceive:
      set_receiving(attributes, settings);
      return attributes;
    case QpState::kReadyToSend:
      set_sending(attributes, settings);
      return attributes;
    default:
      return EINVAL;
  }
}

}  // namespace urnic::verbs_api
