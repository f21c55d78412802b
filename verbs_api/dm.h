// Dm: a piece of device memory as programs hold it.
#pragma once

#include <memory>
#include <utility>

#include "nic/device_memory.h"
#include "verbs_api/libibverbs.h"

namespace urnic::verbs_api {

struct Dm : ibv_dm {
  Dm(ibv_context& opened, std::unique_ptr<nic::DeviceMemory> made) : ibv_dm{}, inner(std::move(made)) {
    context = &opened;
  }
  static Dm& of(ibv_dm* dm) { return *static_cast<Dm*>(dm); }

  std::unique_ptr<nic::DeviceMemory> inner;
};

}  // namespace urnic::verbs_api
