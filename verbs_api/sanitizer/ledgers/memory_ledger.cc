// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/memory_ledger.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <mutex>

namespace urnic::verbs_api {

using transport::Lkey;
using transport::Sge;

void MemoryLedger::begin() {
  if (complaints_.wants(Finding::kAtomicChanged)) writes_.use(atomics_);
}

void MemoryLedger::check_file(Lkey key, const RegisteredMemory& memory) const {
  const bool may_be_refused = memory.memory != nullptr && memory.is_writable;
  if (!may_be_refused || !complaints_.wants(Finding::kFileBackedMemory)) return;
  const auto mapped = MappedMemory::read();
  if (!mapped) return;
  const auto file = mapped->shared_file(reinterpret_cast<std::uintptr_t>(memory.memory), memory.length);
  if (!file || !is_written_back(*file)) return;
  complaints_.complain(Finding::kFileBackedMemory, fmt::format("memory region {:#x}", to_integer(key)), [&] {
    return fmt::format("it is registered to be written, and shows the file {}", *file);
  });
}

std::uint64_t MemoryLedger::pinned() const {
  const std::shared_lock lock(mutex_);
  return registrations_.pinned();
}

void MemoryLedger::look() {
  look_at_atomics();
  look_at_mappings();
}

void MemoryLedger::look_at_atomics() {
  const auto change = atomics_.take();
  if (!change) return;
  const auto address = reinterpret_cast<std::uintptr_t>(change->number);
  complaints_.complain_of(
      CallPath(), Finding::kAtomicChanged, fmt::format("variable at {:#x}", address), [&] {
        return fmt::format("an atomic of a peer has left {}, and the next one has found {}", change->left,
                           change->found);
      });
}

void MemoryLedger::look_at_mappings() {
  if (!complaints_.wants(Finding::kMemoryUnmapped)) return;
  std::vector<GapWatch::Region> regions;
  {
    const std::shared_lock lock(mutex_);
    for (const auto& [key, region] : regions_) {
      if (region.memory != nullptr) regions.push_back({key, region.memory, region.length});
    }
  }
  // Also where there are none: what was seen before is gone then.
  const auto mapped = regions.empty() ? MappedMemory() : MappedMemory::read();
  if (!mapped) return;
  const std::lock_guard lock(gap_mutex_);
  gaps_.look(regions, *mapped);
}

void MemoryLedger::add(Lkey key, const RegisteredMemory& memory) {
  check_file(key, memory);
  const std::lock_guard lock(mutex_);
  regions_.insert_or_assign(to_integer(key), memory);
  registrations_.add(memory.memory != nullptr ? memory.length : 0, std::chrono::steady_clock::now());
}

void MemoryLedger::remove(Lkey key) {
  atomics_.forget();
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(to_integer(key));
  if (found == regions_.end()) return;
  registrations_.remove(found->second.memory != nullptr ? found->second.length : 0);
  regions_.erase(found);
  if (ended_.size() == kMostEnded) ended_.pop_front();
  ended_.push_back(
      {.key = to_integer(key), .when = std::chrono::steady_clock::now(), .calls = CallPath::here()});
}

std::optional<MemoryLedger::EndedKey> MemoryLedger::ended(std::uint32_t key) const {
  const std::shared_lock lock(mutex_);
  const auto found =
      std::find_if(ended_.rbegin(), ended_.rend(), [key](const EndedKey& ended) { return ended.key == key; });
  return found == ended_.rend() ? std::nullopt : std::optional(*found);
}

bool MemoryLedger::is_registered(std::uint32_t key) const {
  const std::shared_lock lock(mutex_);
  return regions_.contains(key);
}

bool MemoryLedger::has_only_mapped() const {
  const std::shared_lock lock(mutex_);
  return std::ranges::all_of(regions_, [](const auto& region) { return region.second.memory != nullptr; });
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
    if (use.remote_key == key) {
      return complain(
          Finding::kRemoteKeyAsLocalKey,
          fmt::format("has lkey {:#x}, which names no memory region here; it is the rkey that the "
                      "request names for the peer's memory",
                      key));
    }
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
