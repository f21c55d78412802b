// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a program wants of a queue pair and some NICs do not have.
#pragma once

#include <string>

#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/sanitizer/complaints.h"

namespace urnic::verbs_api {

/// `wanted` as the program has requested it, `name` is the object's, for people.
void check_capabilities(Complaints& complaints, const std::string& name, const ibv_qp_cap& wanted);

}  // namespace urnic::verbs_api
