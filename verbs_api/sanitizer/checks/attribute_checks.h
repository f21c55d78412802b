// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What is wrong with values that a program gives to ibv_modify_qp() and ibv_create_ah().
#pragma once

#include <optional>
#include <string>

#include "transport/wire/address.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/sanitizer/complaints.h"

namespace urnic::verbs_api {

/// What the values are compared with.
struct PortFacts {
  ibv_mtu active_mtu = IBV_MTU_1024;
  std::optional<transport::wire::Gid> source{};  ///< at the index that the address names
};

/// Before the device looks at them, so that values are found that it refuses. `name` is the object's, for
/// people. Looks at what `mask` selects.
void check_attributes(Complaints& complaints, const std::string& name, const ibv_qp_attr& attributes,
                      int mask, const PortFacts& port);
void check_address(Complaints& complaints, const std::string& name, const ibv_ah_attr& address,
                   const PortFacts& port);

}  // namespace urnic::verbs_api
