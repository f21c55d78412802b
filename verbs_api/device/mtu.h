// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Path MTUs, as libibverbs numbers them and in bytes.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/types.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// `mtu` is an ibv_mtu; nothing when it is not one of the five.
constexpr std::optional<transport::PathMtu> to_path_mtu(std::uint32_t mtu) {
  if (mtu < std::uint32_t{IBV_MTU_256} || mtu > std::uint32_t{IBV_MTU_4096}) return std::nullopt;
  return static_cast<transport::PathMtu>(128u << mtu);
}

constexpr ibv_mtu to_ibv_mtu(transport::PathMtu mtu) {
  int code = IBV_MTU_256;
  while (code < IBV_MTU_4096 && (128u << code) < bytes(mtu)) ++code;
  return static_cast<ibv_mtu>(code);
}

static_assert(to_path_mtu(IBV_MTU_256) == transport::PathMtu::k256);
static_assert(to_path_mtu(IBV_MTU_4096) == transport::PathMtu::k4096);
static_assert(to_ibv_mtu(transport::PathMtu::k1024) == IBV_MTU_1024);

}  // namespace urnic::verbs_api
