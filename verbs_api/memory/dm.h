// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Dm: a piece of device memory as programs hold it.
#pragma once

#include <cstdint>
#include <memory>

#include "nic/memory/device_memory.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

struct Dm : ibv_dm {
  Dm(ibv_context& opened, std::uint32_t number, std::shared_ptr<nic::DeviceMemory> made);
  static Dm& of(ibv_dm* dm) { return *static_cast<Dm*>(dm); }

  /// Shared with the handles by which others have imported it, and with regions over it.
  std::shared_ptr<nic::DeviceMemory> inner;
};

}  // namespace urnic::verbs_api
