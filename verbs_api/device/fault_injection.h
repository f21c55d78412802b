// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How the calls fail that programs make through tables of functions. The files of injection/, which know
// those functions, define it.
#pragma once

#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// Puts a function in front of each function of a filled table of which the user has named a fault. Other
/// functions stay as they are, so that a call costs nothing where there is no fault of it.
void inject_faults(verbs_context& context);
void inject_faults(ibv_cq_ex& cq);
void inject_faults(ibv_qp_ex& qp);

}  // namespace urnic::verbs_api
