// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// libibverbs' precautions for fork. The engine reads and writes memory as any thread does, so that no page
// has to be kept from a child. What a child may not do is use what its parent opened: see ProcessDevices.
#include <cstddef>

#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/sanitizer/sanitizer.h"

using urnic::verbs_api::sanitizer;

extern "C" {

int ibv_fork_init() {
  sanitizer().note_fork_is_thought_of();
  return 0;
}
ibv_fork_status ibv_is_fork_initialized() {
  sanitizer().note_fork_is_thought_of();
  return IBV_FORK_UNNEEDED;
}

// Exported, not declared in the installed header: drivers keep their own rings from children by these.
[[gnu::visibility("default")]] int ibv_dontfork_range(void* base, std::size_t size);
[[gnu::visibility("default")]] int ibv_dofork_range(void* base, std::size_t size);
int ibv_dontfork_range(void*, std::size_t) {
  return 0;
}
int ibv_dofork_range(void*, std::size_t) {
  return 0;
}

}  // extern "C"
