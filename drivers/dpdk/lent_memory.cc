// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/dpdk/lent_memory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "nic/process/memory_file.h"

namespace urnic::drivers {

namespace {

// A flag of a zone that DPDK does not use (rte_memzone.h).
constexpr std::uint32_t kLent = 1u << 31;

std::size_t round_up(std::size_t value, std::size_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace

thread_local LentMemory* LentMemory::in_use_ = nullptr;

Result<std::unique_ptr<LentMemory>, Error> LentMemory::create(std::size_t bytes) {
  bytes = round_up(bytes, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  Descriptor file(nic::make_memory_file("urnic-wire"));
  void* mapped = MAP_FAILED;
  if (file && ftruncate(file.get(), static_cast<off_t>(bytes)) == 0 &&
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  }
  if (mapped == MAP_FAILED) {
    return Error{errno, fmt::format("cannot make memory to lend: {}", std::strerror(errno))};
  }
  return std::unique_ptr<LentMemory>(
      new LentMemory(std::move(file), {static_cast<std::byte*>(mapped), bytes}));
}

LentMemory::~LentMemory() {
  munmap(bytes_.data(), bytes_.size());
}

std::byte* LentMemory::allocate(std::size_t bytes, std::size_t alignment) {
  const std::size_t start = round_up(used_, alignment);
  if (start > bytes_.size() || bytes > bytes_.size() - start) return nullptr;
  used_ = start + bytes;
  return bytes_.data() + start;
}

const rte_memzone* LentMemory::zone(const char* name, std::size_t bytes, std::size_t alignment) {
  for (const rte_memzone& zone : zones_) {
    if (std::string_view(zone.name) == name) return zone.len >= bytes ? &zone : nullptr;
  }
  std::byte* const start = allocate(bytes, alignment);
  if (start == nullptr) return nullptr;
  rte_memzone& zone = zones_.emplace_back();
  std::string_view(name).copy(zone.name, sizeof(zone.name) - 1);
  zone.addr = start;
  zone.iova = reinterpret_cast<std::uintptr_t>(start);
  zone.len = bytes;
  zone.flags = kLent;
  return &zone;
}

bool LentMemory::is_lent(const rte_memzone& zone) {
  return (zone.flags & kLent) != 0;
}

}  // namespace urnic::drivers
