// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Why a work request was not posted, for the person in front of the program.
#pragma once

#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// A verb has refused `wr` with `error`. With URNIC_VERBOSE or URNIC_EXPLAIN a line says why, once for each
/// reason and queue: a program may try again in a loop. Not under the queue's lock.
void explain_post(ibv_qp& qp, const ibv_send_wr& wr, int error);
void explain_post(ibv_qp& qp, const ibv_recv_wr& wr, int error);
void explain_post(ibv_srq& srq, const ibv_recv_wr& wr, int error);
void explain_post(ibv_wq& wq, const ibv_recv_wr& wr, int error);
/// The same of ibv_wr_complete(), which has no work request to show.
void explain_built(ibv_qp& qp, int error);

}  // namespace urnic::verbs_api
