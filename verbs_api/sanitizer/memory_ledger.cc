// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/memory_ledger.h"

#include <fmt/core.h>

#include <mutex>

namespace urnic::verbs_api {

using transport::Lkey;
using transport::Sge;

void MemoryLedger::add(Lkey key, const RegisteredMemory& memory) {
  const std::lock_guard lock(mutex_);
  regions_.insert_or_assign(to_integer(key), memory);
}

void MemoryLedger::remove(Lkey key) {
  const std::lock_guard lock(mutex_);
  regions_.erase(to_integer(key));
}

void MemoryLedger::check(const MemoryUse& use, std::span<const Sge> elements) const {
  const std::shared_lock lock(mutex_);
  for (std::size_t place = 0; place < elements.size(); ++place) {
    if (elements[place].length != 0) check(use, place, elements[place]);
  }
}

std::vector<BufferPrint> MemoryLedger::prints(std::span<const Sge> elements) const {
  std::vector<BufferPrint> result;
  const std::shared_lock lock(mutex_);
  for (const Sge& element : elements) {
    const auto found = regions_.find(to_integer(element.lkey));
    if (found == regions_.end() || found->second.memory == nullptr) continue;
    const RegisteredMemory& memory = found->second;
    const std::uint64_t offset = element.address - memory.address;
    if (offset > memory.length || element.length > memory.length - offset) continue;
    result.emplace_back(memory.memory + offset, element.length, writes_);
  }
  return result;
}

void MemoryLedger::check(const MemoryUse& use, std::size_t place, const Sge& element) const {
  const auto complain = [&](Finding finding, const std::string& what) {
    complaints_.complain(finding, use.name, [&] {
      return fmt::format("element {} of wr_id {}, {} bytes at {:#x}, {}", place, use.wr_id, element.length,
                         element.address, what);
    });
  };
  const std::uint32_t key = to_integer(element.lkey);
  const auto found = regions_.find(key);
  if (found == regions_.end()) {
    return complain(Finding::kUnknownLocalKey,
                    fmt::format("has lkey {:#x}, which names no memory region", key));
  }
  const RegisteredMemory& memory = found->second;
  if (memory.domain != use.domain) {
    complain(Finding::kOtherProtectionDomain,
             fmt::format("has lkey {:#x}, which is of another protection domain than the queue pair", key));
  }
  if (use.is_written && !memory.is_writable) {
    complain(Finding::kLocalRightMissing,
             fmt::format("is to be written, and the region of lkey {:#x} lacks IBV_ACCESS_LOCAL_WRITE", key));
  }
  if (!memory.has_bounds) return;
  const std::uint64_t offset = element.address - memory.address;  // wraps around where it starts before
  if (offset <= memory.length && element.length <= memory.length - offset) return;
  complain(
      Finding::kElementOutsideItsRegion,
      fmt::format("leaves the region of lkey {:#x}, {} bytes at {:#x}", key, memory.length, memory.address));
}

}  // namespace urnic::verbs_api
