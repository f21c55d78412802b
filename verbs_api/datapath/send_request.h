// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What ibv_send_wr asks for, as the transport's request.
#pragma once

#include <cstdint>
#include <span>

#include "nic/queues/qp_type.h"
#include "transport/result.h"
#include "transport/work_request.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// Reads the request of a work request for `qp`, without its elements, into `request`, which has its default
/// values. 0, or an errno value. EOPNOTSUPP: operations that libibverbs knows and we do not do; EINVAL: what
/// libibverbs does not know, and what is missing. Whether such a queue pair can do it is for the device to
/// say.
int read_request(const ibv_qp& qp, nic::QpType type, const ibv_send_wr& wr, transport::SendRequest& request);

/// The destination of a datagram; EINVAL without an address handle. One of another protection domain than the
/// queue pair's gives a destination without an address, with which the work request completes in error
/// (C10-10 as cited by rdma-unit-test).
Result<transport::Destination, int> to_destination(const ibv_qp& qp, ibv_ah* ah, std::uint32_t remote_qpn,
                                                   std::uint32_t remote_qkey);

}  // namespace urnic::verbs_api
