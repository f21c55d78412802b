// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/rdma_cm/program_memory.h"

#include <cstring>

#include "nic/memory/guarded_copy.h"

namespace urnic::verbs_api {
namespace {

std::byte* at(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

}  // namespace

bool copy_from_program(std::span<std::byte> to, std::uint64_t address) {
  if (to.empty()) return true;
  if (nic::can_copy_guarded()) return nic::copy_from_guarded(to, at(address));
  if (address == 0) return false;
  std::memcpy(to.data(), at(address), to.size());
  return true;
}

bool copy_to_program(std::uint64_t address, std::span<const std::byte> from) {
  if (from.empty()) return true;
  if (nic::can_copy_guarded()) return nic::copy_to_guarded(at(address), from);
  if (address == 0) return false;
  std::memcpy(at(address), from.data(), from.size());
  return true;
}

}  // namespace urnic::verbs_api
