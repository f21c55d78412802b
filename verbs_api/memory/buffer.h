// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Buffer: memory that libibverbs allocates for a program, in the way that suits the device. Ours has no
// wishes: it is plain memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs_api/abi/newer_verbs.h"
#include "verbs_api/abi/object_registry.h"

namespace urnic::verbs_api {

struct Buffer {
  ibv_context* context;
  ibv_pd* pd;
  std::byte* memory;
  std::size_t size;

  /// Whether all of it is within.
  bool contains(const void* address, std::size_t length) const;
};

constexpr ObjectKind kind_of(const Buffer*) {
  return ObjectKind::kBuffer;
}

}  // namespace urnic::verbs_api
