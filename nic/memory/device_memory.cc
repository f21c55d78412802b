// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/memory/device_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "nic/errors.h"

namespace urnic::nic {
namespace {

/// As much as any atomic operation or cache line wants.
constexpr std::size_t kLeastAlignment = 64;

}  // namespace

DeviceMemory::~DeviceMemory() {
  pool_.used_.fetch_sub(bytes_.size());
  std::free(bytes_.data());
}

Result<std::unique_ptr<DeviceMemory>, Error> DeviceMemoryPool::allocate(std::size_t length,
                                                                        std::uint32_t log_alignment) {
  if (length == 0 || length > kCapacity) {
    return Error{.code = EINVAL,
                 .message = fmt::format("device memory is allocated in 1 to {} bytes", kCapacity)};
  }
  if (log_alignment > kMaxLogAlignment) {
    return Error{.code = EINVAL,
                 .message = fmt::format("device memory is aligned to 2^{} bytes at most", kMaxLogAlignment)};
  }
  if (used_.fetch_add(length) + length > kCapacity) {
    used_.fetch_sub(length);
    return out_of("not so much device memory is left");
  }
  const std::size_t alignment = std::max(kLeastAlignment, std::size_t{1} << log_alignment);
  void* const memory = std::aligned_alloc(alignment, (length + alignment - 1) / alignment * alignment);
  if (memory == nullptr) {
    used_.fetch_sub(length);
    return out_of("the process has no memory left");
  }
  std::memset(memory, 0, length);
  return std::unique_ptr<DeviceMemory>(new DeviceMemory(*this, {static_cast<std::byte*>(memory), length}));
}

}  // namespace urnic::nic
