// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/simulation/kernel/connect.h"

namespace urnic::kernel {

using nic::QpType;
using transport::QpState;

nic::QpAttributes attributes_for(QpType type, QpState state, const ConnectionSettings& settings) {
  const bool responds = type == QpType::kRc || type == QpType::kXrcTarget;
  const bool requests = type == QpType::kRc || type == QpType::kXrcInitiator;
  nic::QpAttributes attributes{.state = state};
  if (state == QpState::kInit) {
    attributes.pkey_index = std::uint16_t{0};
    attributes.port = std::uint8_t{1};
    if (is_connected(type)) attributes.access = settings.access;
    if (!is_connected(type)) attributes.qkey = settings.qkey;
  }
  if (state == QpState::kReadyToReceive && is_connected(type)) {
    attributes.address = settings.address;
    attributes.path_mtu = settings.path_mtu;
    attributes.destination_qp = settings.peer_qp;
    attributes.receive_psn = settings.receive_psn;
    if (responds) attributes.max_responder_resources = settings.max_reads_in_flight;
    if (responds) attributes.min_rnr_timer = settings.min_rnr_timer;
  }
  if (state == QpState::kReadyToSend) {
    attributes.send_psn = settings.send_psn;
    if (responds || requests) attributes.ack_timeout = settings.ack_timeout;
    if (requests) attributes.max_reads_in_flight = settings.max_reads_in_flight;
    if (requests) attributes.retry_count = settings.retry_count;
    if (requests) attributes.rnr_retry = settings.rnr_retry;
  }
  return attributes;
}

Result<void, Error> connect(nic::QueuePair& qp, const ConnectionSettings& settings) {
  for (const QpState state : {QpState::kInit, QpState::kReadyToReceive, QpState::kReadyToSend}) {
    if (state == QpState::kReadyToReceive && settings.peer_options) {
      if (auto agreed = qp.agree_on(*settings.peer_options); !agreed) return agreed;
    }
    auto modified = qp.modify(attributes_for(qp.attributes().type, state, settings));
    if (!modified) return modified;
  }
  return success();
}

}  // namespace urnic::kernel
