// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Connections: listening, connecting, and what follows from it.
#include <infiniband/verbs.h>
#include <rdma/rdma_user_cm.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/cm/types.h"
#include "verbs_api/rdma_cm/command.h"
#include "verbs_api/rdma_cm/parameters.h"

namespace urnic::verbs_api::ucm {
namespace {

using nic::rdma_cm::IdNumber;
using nic::rdma_cm::RdmaCm;

/// Of REJ: the peer's queue pair has options that the program's has not (rdma_reject_ece).
constexpr std::uint8_t kVendorOptionNotSupported = 35;

bool may_be_reason(std::uint8_t reason) {
  return reason == 0 || reason == static_cast<std::uint8_t>(nic::cm::RejectReason::kConsumerDefined) ||
         reason == kVendorOptionNotSupported;
}

}  // namespace

int connect(const Command& command) {
  const auto wish = command.as<rdma_ucm_connect>();
  if (wish.conn_param.valid == 0) return EINVAL;
  const auto parameters = to_parameters(wish.conn_param, wish.ece);
  if (!parameters) return parameters.error();
  return errno_of(with_id(command, IdNumber{wish.id}, [&](RdmaCm& cm, ChannelPart& part) {
    return cm.connect(part.events(), IdNumber{wish.id}, parameters.value(), part.nic().now());
  }));
}

// Without parameters it is the active side's, which the passive one has accepted already: rdma_establish.
int accept(const Command& command) {
  const auto wish = command.as<rdma_ucm_accept>();
  const IdNumber id{wish.id};
  if (wish.conn_param.valid == 0) {
    return errno_of(with_id(command, IdNumber{wish.id},
                            [&](RdmaCm& cm, ChannelPart& part) { return cm.establish(part.events(), id); }));
  }
  const auto parameters = to_parameters(wish.conn_param, wish.ece);
  if (!parameters) return parameters.error();
  return errno_of(with_id(command, IdNumber{wish.id}, [&](RdmaCm& cm, ChannelPart& part) {
    return cm.accept(part.events(), id, wish.uid, parameters.value(), part.nic().now());
  }));
}

int reject(const Command& command) {
  const auto wish = command.as<rdma_ucm_reject>();
  if (!may_be_reason(wish.reason)) return EINVAL;
  const auto private_data = std::as_bytes(std::span(wish.private_data)).first(wish.private_data_len);
  return errno_of(with_id(command, IdNumber{wish.id}, [&](RdmaCm& cm, ChannelPart& part) {
    return cm.reject(part.events(), IdNumber{wish.id}, wish.reason, private_data, part.nic().now());
  }));
}

int disconnect(const Command& command) {
  const auto wish = command.as<rdma_ucm_disconnect>();
  return errno_of(with_id(command, IdNumber{wish.id}, [&](RdmaCm& cm, ChannelPart& part) {
    return cm.disconnect(part.events(), IdNumber{wish.id}, part.nic().now());
  }));
}

int notify(const Command& command) {
  const auto wish = command.as<rdma_ucm_notify>();
  const auto notice = wish.event == std::uint32_t{IBV_EVENT_COMM_EST}
                          ? RdmaCm::QpNotice::kCommunicationEstablished
                          : RdmaCm::QpNotice::kOther;
  return errno_of(with_id(command, IdNumber{wish.id}, [&](RdmaCm& cm, ChannelPart& part) {
    return cm.notify(part.events(), IdNumber{wish.id}, notice);
  }));
}

}  // namespace urnic::verbs_api::ucm
