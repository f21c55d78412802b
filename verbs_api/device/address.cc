// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/device/address.h"

#include <fmt/core.h>

#include <algorithm>

#include "nic/errors.h"

namespace urnic::verbs_api {
namespace {

constexpr std::uint32_t kFlowLabelMask = 0xfffff;
constexpr std::uint8_t kDefaultHopLimit = 64;

}  // namespace

transport::wire::Gid to_gid(const ibv_gid& gid) {
  transport::wire::Gid result;
  std::copy(std::begin(gid.raw), std::end(gid.raw), result.octets.begin());
  return result;
}

ibv_gid to_ibv_gid(const transport::wire::Gid& gid) {
  ibv_gid result{};
  std::copy(gid.octets.begin(), gid.octets.end(), std::begin(result.raw));
  return result;
}

Result<nic::AddressVector, Error> to_address_vector(const ibv_ah_attr& attributes) {
  if (attributes.is_global == 0) {
    return nic::invalid(
        "is_global is 0, and RoCE has no LIDs: set it to 1, with grh.dgid and grh.sgid_index");
  }
  if (attributes.port_num != kPort) {
    return nic::invalid(
        fmt::format("port_num is {}, and the device has one port, number {}", +attributes.port_num, +kPort));
  }
  const ibv_global_route& route = attributes.grh;
  return nic::AddressVector{
      .destination = to_gid(route.dgid),
      .source_gid_index = route.sgid_index,
      // No packet leaves with a hop limit of 0; programs that leave it out mean "whatever is usual" (fact
      // 13).
      .hop_limit = route.hop_limit != 0 ? route.hop_limit : kDefaultHopLimit,
      .traffic_class = route.traffic_class,
      .service_level = attributes.sl,
      .flow_label = route.flow_label & kFlowLabelMask,
  };
}

ibv_ah_attr to_ah_attributes(const nic::AddressVector& address) {
  ibv_ah_attr attributes{};
  attributes.grh.dgid = to_ibv_gid(address.destination);
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
