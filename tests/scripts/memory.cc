// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/scripts/memory.h"

#include <algorithm>
#include <cstring>

namespace urnic::scripts {

using transport::Access;
using transport::DmaStatus;
using transport::FlushScope;
using transport::Lkey;
using transport::MemoryUser;
using transport::PdId;
using transport::Rkey;
using transport::to_integer;
using transport::WindowBinding;

namespace {

bool is_inside(std::uint64_t address, std::uint64_t length, std::uint64_t first, std::uint64_t size) {
  return address >= first && length <= size && address - first <= size - length;
}

}  // namespace

void ScriptMemory::add_region(const std::string& name, std::uint64_t address, std::size_t size,
                              std::uint32_t key, PdId pd, Access access) {
  Region region{.address = address, .bytes = Octets(size), .key = key, .pd = pd, .access = access};
  for (std::size_t i = 0; i < size; ++i) region.bytes[i] = pattern_at(address + i);
  regions_.insert_or_assign(name, std::move(region));
}

void ScriptMemory::add_window(const std::string& name, const Window& window) {
  windows_.insert_or_assign(name, window);
}

ScriptMemory::Region* ScriptMemory::region(const std::string& name) {
  const auto found = regions_.find(name);
  return found == regions_.end() ? nullptr : &found->second;
}

ScriptMemory::Window* ScriptMemory::window(const std::string& name) {
  const auto found = windows_.find(name);
  return found == windows_.end() ? nullptr : &found->second;
}

std::optional<std::span<std::byte>> ScriptMemory::bytes(const Place& place, std::size_t length) {
  Region* found = region(place.name);
  if (found == nullptr || !is_inside(place.offset, length, 0, found->bytes.size())) return std::nullopt;
  return std::span(found->bytes).subspan(place.offset, length);
}

ScriptMemory::Region* ScriptMemory::region_of_key(std::uint32_t key) {
  for (auto& [name, region] : regions_) {
    if (region.is_registered && region.key == key) return &region;
  }
  return nullptr;
}

ScriptMemory::Window* ScriptMemory::window_of_key(std::uint32_t key) {
  for (auto& [name, window] : windows_) {
    if (window.key == key) return &window;
  }
  return nullptr;
}

ScriptMemory::Reached ScriptMemory::reach_region(Region& region, PdId pd, std::uint64_t address,
                                                 std::uint64_t length, Access access) {
  if (!region.is_registered) return {DmaStatus::kInvalidKey};
  if (region.pd != pd) return {DmaStatus::kWrongPd};
  if (!is_inside(address, length, region.address, region.bytes.size())) return {DmaStatus::kOutOfBounds};
  if (!allows(region.access, access)) return {DmaStatus::kNoAccess};
  return {DmaStatus::kOk, region.bytes.data() + (address - region.address)};
}

ScriptMemory::Reached ScriptMemory::reach_window(const Window& window, const MemoryUser& user,
                                                 std::uint64_t address, std::uint64_t length, Access access) {
  Region* region = this->region(window.region);
  if (!window.is_bound || region == nullptr) return {DmaStatus::kInvalidKey};
  if (window.pd != user.pd || (window.type == 2 && window.qp != user.qp)) return {DmaStatus::kWrongPd};
  if (!is_inside(address, length, window.address, window.length)) return {DmaStatus::kOutOfBounds};
  if (!allows(window.access, access)) return {DmaStatus::kNoAccess};
  return reach_region(*region, user.pd, window.local_address + (address - window.address), length,
                      Access::kNone);
}

ScriptMemory::Reached ScriptMemory::reach(const MemoryUser& user, std::uint32_t key, std::uint64_t address,
                                          std::uint64_t length, Access access) {
  if (Region* region = region_of_key(key)) return reach_region(*region, user.pd, address, length, access);
  if (const Window* window = window_of_key(key)) return reach_window(*window, user, address, length, access);
  return {DmaStatus::kInvalidKey};
}

DmaStatus ScriptMemory::read_local(PdId pd, Lkey lkey, std::uint64_t address, std::span<std::byte> to,
                                   transport::wire::TailCrc*) {
  Region* region = region_of_key(to_integer(lkey));
  if (region == nullptr) return DmaStatus::kInvalidKey;
  const Reached reached = reach_region(*region, pd, address, to.size(), Access::kNone);
  if (reached.status == DmaStatus::kOk) std::copy_n(reached.bytes, to.size(), to.data());
  return reached.status;
}

DmaStatus ScriptMemory::write_local(PdId pd, Lkey lkey, std::uint64_t address,
                                    std::span<const std::byte> from) {
  Region* region = region_of_key(to_integer(lkey));
  if (region == nullptr) return DmaStatus::kInvalidKey;
  const Reached reached = reach_region(*region, pd, address, from.size(), Access::kLocalWrite);
  if (reached.status == DmaStatus::kOk) std::copy_n(from.data(), from.size(), reached.bytes);
  return reached.status;
}

DmaStatus ScriptMemory::check_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                     std::uint64_t length, Access access) {
  return reach(user, to_integer(rkey), address, length, access).status;
}

DmaStatus ScriptMemory::read_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                    std::span<std::byte> to, transport::wire::TailCrc*) {
  const Reached reached = reach(user, to_integer(rkey), address, to.size(), Access::kRemoteRead);
  if (reached.status == DmaStatus::kOk) std::copy_n(reached.bytes, to.size(), to.data());
  return reached.status;
}

DmaStatus ScriptMemory::write_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                     std::span<const std::byte> from) {
  const Reached reached = reach(user, to_integer(rkey), address, from.size(), Access::kRemoteWrite);
  if (reached.status == DmaStatus::kOk) std::copy_n(from.data(), from.size(), reached.bytes);
  return reached.status;
}

template <typename Change>
DmaStatus ScriptMemory::change_number(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                      std::uint64_t& original, const Change& change) {
  const Reached reached = reach(user, to_integer(rkey), address, sizeof original, Access::kRemoteAtomic);
  if (reached.status != DmaStatus::kOk) return reached.status;
  std::memcpy(&original, reached.bytes, sizeof original);
  const std::uint64_t changed = change(original);
  std::memcpy(reached.bytes, &changed, sizeof changed);
  return DmaStatus::kOk;
}

DmaStatus ScriptMemory::compare_swap(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                     std::uint64_t compare, std::uint64_t swap, std::uint64_t& original) {
  return change_number(user, rkey, address, original,
                       [&](std::uint64_t now) { return now == compare ? swap : now; });
}

DmaStatus ScriptMemory::fetch_add(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t add,
                                  std::uint64_t& original) {
  return change_number(user, rkey, address, original, [&](std::uint64_t now) { return now + add; });
}

DmaStatus ScriptMemory::write_remote_atomically(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                                std::span<const std::byte, 8> from) {
  return write_remote(user, rkey, address, from);
}

DmaStatus ScriptMemory::flush(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t length,
                              FlushScope scope, Access access) {
  // The whole region has no range to be inside of.
  Reached reached;
  Region* region = region_of_key(to_integer(rkey));
  if (scope == FlushScope::kRegion && region != nullptr) {
    reached = reach_region(*region, user.pd, region->address, 0, access);
  } else {
    reached = reach(user, to_integer(rkey), address, length, access);
  }
  if (reached.status == DmaStatus::kOk) {
    flushes_.push_back({to_integer(rkey), address, length, scope, access});
  }
  return reached.status;
}

DmaStatus ScriptMemory::invalidate(const MemoryUser& user, Rkey rkey) {
  Window* window = window_of_key(to_integer(rkey));
  if (window == nullptr) {
    return region_of_key(to_integer(rkey)) ? DmaStatus::kNoAccess : DmaStatus::kInvalidKey;
  }
  if (window->type != 2 || !window->is_bound) return DmaStatus::kNoAccess;
  if (window->qp != user.qp) return DmaStatus::kWrongPd;
  window->is_bound = false;
  return DmaStatus::kOk;
}

DmaStatus ScriptMemory::bind_window(const MemoryUser& user, const WindowBinding& binding) {
  Window* window = window_of_key(to_integer(binding.window));
  if (window == nullptr) return DmaStatus::kInvalidKey;
  if (window->pd != user.pd) return DmaStatus::kWrongPd;
  if (window->type == 2 && window->is_bound) return DmaStatus::kNoAccess;
  if (binding.length == 0) {
    window->is_bound = false;
    window->key = to_integer(binding.new_rkey);
    return DmaStatus::kOk;
  }
  Region* region = region_of_key(to_integer(binding.region));
  if (region == nullptr) return DmaStatus::kInvalidKey;
  const Access writes = binding.access & (Access::kRemoteWrite | Access::kRemoteAtomic);
  const Access needed = Access::kWindowBind | (writes == Access::kNone ? Access::kNone : Access::kLocalWrite);
  const Reached reached = reach_region(*region, user.pd, binding.address, binding.length, needed);
  if (reached.status != DmaStatus::kOk) return reached.status;
  const auto owner =
      std::find_if(regions_.begin(), regions_.end(), [&](auto& entry) { return &entry.second == region; });
  *window = {.key = to_integer(binding.new_rkey),
             .type = window->type,
             .pd = window->pd,
             .is_bound = true,
             .region = owner->first,
             .address = binding.is_zero_based ? 0 : binding.address,
             .local_address = binding.address,
             .length = binding.length,
             .access = binding.access,
             .qp = user.qp};
  return DmaStatus::kOk;
}

}  // namespace urnic::scripts
