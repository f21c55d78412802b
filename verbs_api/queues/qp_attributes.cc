// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/queues/qp_attributes.h"

#include <fmt/core.h>

#include <cerrno>
#include <optional>

#include "verbs_api/abi/untrusted_enum.h"
#include "verbs_api/device/address.h"
#include "verbs_api/device/mtu.h"
#include "verbs_api/memory/access_flags.h"

namespace urnic::verbs_api {
namespace {

using transport::PathMtu;
using transport::Psn;
using transport::QpNumber;
using transport::QpState;

std::optional<QpState> to_state(const ibv_qp_state& state) {
  switch (number_in(state)) {
    case IBV_QPS_RESET:
      return QpState::kReset;
    case IBV_QPS_INIT:
      return QpState::kInit;
    case IBV_QPS_RTR:
      return QpState::kReadyToReceive;
    case IBV_QPS_RTS:
      return QpState::kReadyToSend;
    case IBV_QPS_SQD:
      return QpState::kSqDrained;
    case IBV_QPS_SQE:
      return QpState::kSqError;
    case IBV_QPS_ERR:
      return QpState::kError;
    default:
      return std::nullopt;
  }
}

ibv_qp_state to_ibv_state(QpState state) {
  switch (state) {
    case QpState::kReset:
      return IBV_QPS_RESET;
    case QpState::kInit:
      return IBV_QPS_INIT;
    case QpState::kReadyToReceive:
      return IBV_QPS_RTR;
    case QpState::kReadyToSend:
      return IBV_QPS_RTS;
    case QpState::kSqDrained:
      return IBV_QPS_SQD;
    case QpState::kSqError:
      return IBV_QPS_SQE;
    case QpState::kError:
      return IBV_QPS_ERR;
  }
  return IBV_QPS_UNKNOWN;
}

/// What can be selected: all that some type of queue pair has, and the migration state, of which there is
/// one.
constexpr int kOffered = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX |
                         IBV_QP_PORT | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                         IBV_QP_RNR_RETRY | IBV_QP_RQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |
                         IBV_QP_SQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PATH_MIG_STATE | IBV_QP_DEST_QPN |
                         IBV_QP_QKEY | IBV_QP_EN_SQD_ASYNC_NOTIFY;
constexpr int kKnownAttributes = kOffered | IBV_QP_ALT_PATH | IBV_QP_CAP | IBV_QP_RATE_LIMIT;

/// Says no to a mask or a value, with the reason.
std::optional<Error> find_fault(const ibv_qp_attr& attributes, int mask) {
  if ((mask & ~kKnownAttributes) != 0) {
    return Error{.code = EINVAL,
                 .message = fmt::format("the mask selects an unknown attribute, bits {:#x}",
                                        static_cast<unsigned>(mask & ~kKnownAttributes))};
  }
  if ((mask & ~kOffered) != 0) {
    return Error{.code = EOPNOTSUPP, .message = "alternate paths, resizing and rate limits are not offered"};
  }
  if ((mask & IBV_QP_PATH_MIG_STATE) != 0 && number_in(attributes.path_mig_state) != IBV_MIG_MIGRATED) {
    return Error{.code = EOPNOTSUPP, .message = "paths cannot migrate"};
  }
  if ((mask & IBV_QP_STATE) != 0 && !to_state(attributes.qp_state)) {
    return Error{.code = EINVAL, .message = "qp_state is not a state"};
  }
  if ((mask & IBV_QP_CUR_STATE) != 0 && !to_state(attributes.cur_qp_state)) {
    return Error{.code = EINVAL, .message = "cur_qp_state is not a state"};
  }
  if ((mask & IBV_QP_PATH_MTU) != 0 && !to_path_mtu(number_in(attributes.path_mtu))) {
    return Error{
        .code = EINVAL,
        .message = fmt::format("path_mtu is {}: it is one of IBV_MTU_256 to IBV_MTU_4096, which are 1 to 5",
                               number_in(attributes.path_mtu))};
  }
  if ((mask & IBV_QP_DEST_QPN) != 0 && attributes.dest_qp_num > transport::kMaxQpNumber) {
    return Error{.code = EINVAL, .message = "dest_qp_num has more than 24 bits"};
  }
  if ((mask & IBV_QP_AV) != 0) {
    if (const auto address = to_address_vector(attributes.ah_attr); !address) {
      return Error{.code = address.error().code, .message = "ah_attr: " + address.error().message};
    }
  }
  return std::nullopt;
}

}  // namespace

Result<nic::QpAttributes, Error> to_qp_attributes(const ibv_qp_attr& attributes, int mask) {
  if (auto fault = find_fault(attributes, mask)) return *std::move(fault);
  nic::QpAttributes result;
  if ((mask & IBV_QP_STATE) != 0) result.state = to_state(attributes.qp_state);
  if ((mask & IBV_QP_CUR_STATE) != 0) result.current_state = to_state(attributes.cur_qp_state);
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) result.access = to_access(attributes.qp_access_flags);
  if ((mask & IBV_QP_PKEY_INDEX) != 0) result.pkey_index = attributes.pkey_index;
  if ((mask & IBV_QP_PORT) != 0) result.port = attributes.port_num;
  if ((mask & IBV_QP_AV) != 0) result.address = to_address_vector(attributes.ah_attr).value();
  if ((mask & IBV_QP_PATH_MTU) != 0) result.path_mtu = to_path_mtu(number_in(attributes.path_mtu));
  if ((mask & IBV_QP_DEST_QPN) != 0) result.destination_qp = QpNumber{attributes.dest_qp_num};
  if ((mask & IBV_QP_RQ_PSN) != 0) result.receive_psn = Psn(attributes.rq_psn);
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) result.max_responder_resources = attributes.max_dest_rd_atomic;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) result.min_rnr_timer = attributes.min_rnr_timer;
  if ((mask & IBV_QP_SQ_PSN) != 0) result.send_psn = Psn(attributes.sq_psn);
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) result.max_reads_in_flight = attributes.max_rd_atomic;
  if ((mask & IBV_QP_TIMEOUT) != 0) result.ack_timeout = attributes.timeout;
  if ((mask & IBV_QP_RETRY_CNT) != 0) result.retry_count = attributes.retry_cnt;
  if ((mask & IBV_QP_RNR_RETRY) != 0) result.rnr_retry = attributes.rnr_retry;
  if ((mask & IBV_QP_QKEY) != 0) result.qkey = attributes.qkey;
  if ((mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) != 0) {
    result.notify_when_drained = attributes.en_sqd_async_notify != 0;
  }
  return result;
}

int without_useless(nic::QpType type, int mask) {
  switch (type) {
    case nic::QpType::kXrcInitiator:
      return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    case nic::QpType::kXrcTarget:
      return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
    default:
      return mask;
  }
}

ibv_qp_attr to_ibv_attributes(const nic::QpAttributes& attributes, const nic::QpCapabilities& capabilities) {
  ibv_qp_attr result{};
  result.qp_state = to_ibv_state(attributes.state.value_or(QpState::kReset));
  result.cur_qp_state = result.qp_state;
  result.path_mtu = to_ibv_mtu(attributes.path_mtu.value_or(PathMtu::k1024));
  result.path_mig_state = IBV_MIG_MIGRATED;
  result.qkey = attributes.qkey.value_or(0);
  result.rq_psn = attributes.receive_psn.value_or(Psn{}).value();
  result.sq_psn = attributes.send_psn.value_or(Psn{}).value();
  result.dest_qp_num = to_integer(attributes.destination_qp.value_or(QpNumber{}));
  result.qp_access_flags = to_access_flags(attributes.access.value_or(transport::Access::kNone));
  result.cap = to_ibv_cap(capabilities);
  if (attributes.address) result.ah_attr = to_ah_attributes(*attributes.address);
  result.pkey_index = attributes.pkey_index.value_or(0);
  result.sq_draining = attributes.is_draining ? 1 : 0;
  result.max_rd_atomic = attributes.max_reads_in_flight.value_or(0);
  result.max_dest_rd_atomic = attributes.max_responder_resources.value_or(0);
  result.min_rnr_timer = attributes.min_rnr_timer.value_or(0);
  result.port_num = attributes.port.value_or(kPort);
  result.timeout = attributes.ack_timeout.value_or(0);
  result.retry_cnt = attributes.retry_count.value_or(0);
  result.rnr_retry = attributes.rnr_retry.value_or(0);
  return result;
}

ibv_qp_cap to_ibv_cap(const nic::QpCapabilities& capabilities) {
  return ibv_qp_cap{.max_send_wr = capabilities.max_send_wr,
                    .max_recv_wr = capabilities.max_receive_wr,
                    .max_send_sge = capabilities.max_send_sge,
                    .max_recv_sge = capabilities.max_receive_sge,
                    .max_inline_data = capabilities.max_inline_data};
}

nic::QpCapabilities to_capabilities(const ibv_qp_cap& cap) {
  return nic::QpCapabilities{.max_send_wr = cap.max_send_wr,
                             .max_receive_wr = cap.max_recv_wr,
                             .max_send_sge = cap.max_send_sge,
                             .max_receive_sge = cap.max_recv_sge,
                             .max_inline_data = cap.max_inline_data};
}

}  // namespace urnic::verbs_api
