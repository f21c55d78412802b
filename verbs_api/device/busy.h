// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// How a verb says that an object is still in use. opening/busy.cc, which knows all objects, defines it.
#pragma once

#include <string_view>

#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// Sets errno to EBUSY and returns it. With URNIC_VERBOSE or URNIC_EXPLAIN a line says what uses the object:
/// kinds, numbers and keys.
int refuse_busy(std::string_view verb, const ibv_pd& pd);
int refuse_busy(std::string_view verb, const ibv_td& td);
int refuse_busy(std::string_view verb, const ibv_comp_channel& channel);
int refuse_busy(std::string_view verb, const ibv_cq& cq);
int refuse_busy(std::string_view verb, const ibv_srq& srq);
int refuse_busy(std::string_view verb, const ibv_xrcd& xrcd);

}  // namespace urnic::verbs_api
