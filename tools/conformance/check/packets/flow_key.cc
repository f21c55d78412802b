// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/check/packets/flow_key.h"

#include <cstring>

namespace urnic::check {

std::size_t FlowKeyHash::operator()(const FlowKey& key) const {
  const auto load = [](const Address& address, std::size_t at) {
    std::uint64_t value = 0;
    std::memcpy(&value, address.octets.data() + at, sizeof value);
    return value;
  };
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
  std::uint64_t hash = key.destination_qp;
  for (const std::uint64_t part :
       {load(key.source, 0), load(key.source, 8), load(key.destination, 0), load(key.destination, 8)}) {
    hash = (hash ^ part) * kFactor;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace urnic::check
