// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Address vectors in the kernel's struct.
#pragma once

#include <rdma/ib_user_verbs.h>

#include <cstring>

#include "nic/path/path.h"
#include "verbs_api/device/address.h"

namespace urnic::verbs_api {

inline ib_uverbs_ah_attr to_kernel_address(const nic::AddressVector& address) {
  ib_uverbs_ah_attr attributes{};
  std::memcpy(attributes.grh.dgid, address.destination.octets.data(), sizeof(attributes.grh.dgid));
  attributes.grh.flow_label = address.flow_label;
  attributes.grh.sgid_index = address.source_gid_index;
  attributes.grh.hop_limit = address.hop_limit;
  attributes.grh.traffic_class = address.traffic_class;
  attributes.sl = address.service_level;
  attributes.is_global = 1;
  attributes.port_num = kPort;
  return attributes;
}

}  // namespace urnic::verbs_api
