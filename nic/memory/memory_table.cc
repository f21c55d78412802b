// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/memory/memory_table.h"

#include <fmt/core.h>

#include <atomic>
#include <cerrno>

#include "nic/config.h"
#include "nic/errors.h"

namespace urnic::nic {
namespace {

using transport::Access;
using transport::DmaStatus;
using transport::Lkey;
using transport::MemoryUser;
using transport::PdId;
using transport::Rkey;
using transport::to_integer;
using transport::WindowBinding;

constexpr std::uint32_t kMaxSlots = DeviceLimits::kMaxMemoryRegions;

/// A slot is not taken again before this many others were freed after it, as long as the table may grow
/// instead. With 256 tags a slot, a key comes back after 65536 further registrations at the earliest.
constexpr std::size_t kRestingSlots = 256;

}  // namespace

// Where the slots' numbers begin is drawn too: a key of a process that ran here before hardly ever fits this
// one. It is never 0, so that no key is.
MemoryTable::MemoryTable(std::uint64_t seed, Type2Windows type_2_windows)
    : type_2_windows_(type_2_windows),
      random_(seed),
      first_slot_(1 + static_cast<std::uint32_t>(random_() % ((1u << 24) - kMaxSlots - 1))) {}

// --- Regions ---

Result<std::uint32_t, Error> MemoryTable::take_slot(Kind kind, const MemoryRegion& range) {
  std::uint32_t index;
  if (slots_.size() < kMaxSlots && free_.size() <= kRestingSlots) {
    index = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
    tags_.push_back(static_cast<std::uint8_t>(random_()));
  } else if (!free_.empty()) {
    index = free_.front();
    free_.pop_front();
    ++tags_[index];
  } else {
    return Error{.code = ENOMEM,
                 .message = fmt::format("the device has {} memory regions and windows and cannot have more",
                                        kMaxSlots)};
  }
  ++count_of(kind);
  slots_[index] = {.kind = kind, .range = range};
  slots_[index].range.key = (first_slot_ + index) << kTagBits | tags_[index];
  return slots_[index].range.key;
}

void MemoryTable::free_slot(std::uint32_t key) {
  --count_of(slots_[index_of(key)].kind);
  slots_[index_of(key)] = {};
  free_.push_back(index_of(key));
}

MemoryTable::Slot* MemoryTable::find_slot(std::uint32_t key) {
  const std::uint32_t index = index_of(key);
  if (index >= slots_.size() || slots_[index].kind == Kind::kFree || slots_[index].range.key != key) {
    return nullptr;
  }
  return &slots_[index];
}

Result<std::uint32_t, Error> MemoryTable::add(const MemoryRegion& region) {
  return take_slot(Kind::kRegion, region);
}

/// The region with this key, which no window is bound to.
Result<MemoryTable::Slot*, Error> MemoryTable::find_unbound(std::uint32_t key) {
  Slot* const slot = find_slot(key);
  if (slot == nullptr || slot->kind != Kind::kRegion) {
    return invalid("there is no memory region with this key");
  }
  if (slot->bound_windows > 0) return busy("memory windows are bound to the memory region");
  return slot;
}

Result<void, Error> MemoryTable::remove(std::uint32_t key) {
  if (const auto slot = find_unbound(key); !slot) return failure(slot.error());
  free_slot(key);
  return success();
}

Result<void, Error> MemoryTable::replace(std::uint32_t key, const MemoryRegion& region) {
  const auto slot = find_unbound(key);
  if (!slot) return failure(slot.error());
  slot.value()->range = region;
  slot.value()->range.key = key;
  return success();
}

const MemoryRegion* MemoryTable::find(std::uint32_t key) const {
  const std::uint32_t index = index_of(key);
  if (index >= slots_.size() || slots_[index].kind != Kind::kRegion || slots_[index].range.key != key) {
    return nullptr;
  }
  return &slots_[index].range;
}

KeyFacts MemoryTable::facts_of(std::uint32_t key) const {
  const std::uint32_t index = index_of(key);
  if (index >= slots_.size() || slots_[index].kind == Kind::kFree) return {};
  return {.is_known = true, .is_window = slots_[index].kind != Kind::kRegion, .range = slots_[index].range};
}

// --- Windows ---

Result<std::uint32_t, Error> MemoryTable::add_window(WindowType type, PdId pd) {
  return take_slot(type == WindowType::kType1 ? Kind::kWindow1 : Kind::kWindow2, MemoryRegion{.pd = pd});
}

/// By the slot in the key alone: a window's tag changes whenever it is bound.
MemoryTable::Slot* MemoryTable::find_window(std::uint32_t key) {
  const std::uint32_t index = index_of(key);
  if (index >= slots_.size()) return nullptr;
  const bool is_window = slots_[index].kind == Kind::kWindow1 || slots_[index].kind == Kind::kWindow2;
  return is_window ? &slots_[index] : nullptr;
}

Result<void, Error> MemoryTable::remove_window(std::uint32_t key) {
  Slot* const window = find_window(key);
  if (window == nullptr) return failure(invalid("there is no memory window with this key"));
  unbind(*window);
  free_slot(key);
  return success();
}

void MemoryTable::unbind(Slot& window) {
  if (window.bound_to == 0) return;
  --slots_[index_of(window.bound_to)].bound_windows;
  window.bound_to = 0;
}

DmaStatus MemoryTable::bind_window(const MemoryUser& user, const WindowBinding& binding) {
  // Programs go on to name a type 2 window by a key that it had before: its protection domain protects it.
  Slot* const window = find_window(key_of(binding.window));
  const bool is_same_slot = index_of(key_of(binding.new_rkey)) == index_of(key_of(binding.window));
  if (window == nullptr || !is_same_slot) return DmaStatus::kInvalidKey;
  if (window->range.pd != user.pd) return DmaStatus::kWrongPd;
  // A type 2 window has to be taken back before it is bound again, and unbound by that only.
  const bool is_type_2 = window->kind == Kind::kWindow2;
  if (is_type_2 && (window->bound_to != 0 || binding.length == 0)) return DmaStatus::kNoAccess;

  Slot bound = *window;
  bound.range.key = key_of(binding.new_rkey);
  bound.bound_to = 0;
  if (binding.length > 0) {
    Place place;
    const bool writes = (binding.access & (Access::kRemoteWrite | Access::kRemoteAtomic)) != Access::kNone;
    const Access needed = writes ? Access::kWindowBind | Access::kLocalWrite : Access::kWindowBind;
    const DmaStatus status =
        find_local(user.pd, binding.region, binding.address, binding.length, needed, place);
    if (status != DmaStatus::kOk) return status;
    bound.range.access = binding.access;
    bound.range.address = binding.is_zero_based ? 0 : binding.address;
    bound.range.length = binding.length;
    bound.range.memory = place.memory;
    bound.range.backing = place.backing;
    bound.qp = user.qp;
    bound.bound_to = to_integer(binding.region);
    ++slots_[index_of(bound.bound_to)].bound_windows;
  }
  unbind(*window);
  *window = bound;
  return DmaStatus::kOk;
}

DmaStatus MemoryTable::invalidate(const MemoryUser& user, Rkey rkey) {
  Slot* const window = find_slot(key_of(rkey));
  if (window == nullptr) return DmaStatus::kInvalidKey;
  if (window->kind != Kind::kWindow2 || window->bound_to == 0) return DmaStatus::kNoAccess;
  if (!is_for(*window, user)) return DmaStatus::kWrongPd;
  unbind(*window);
  return DmaStatus::kOk;
}

// --- Access ---

bool MemoryTable::is_for(const Slot& slot, const MemoryUser& user) const {
  const bool is_type_2 = slot.kind == Kind::kWindow2;
  if (is_type_2 && slot.qp != user.qp) return false;
  if (is_type_2 && type_2_windows_ == Type2Windows::k2A) return true;
  return slot.range.pd == user.pd;
}

/// Bounds and rights, in the order of fact 30, and where in the process the range begins.
DmaStatus MemoryTable::check(const MemoryRegion& range, std::uint64_t address, std::uint64_t length,
                             Access access, Place& place) {
  // An address below the range's wraps around to a huge offset.
  const std::uint64_t offset = address - range.address;
  if (offset > range.length || length > range.length - offset) return DmaStatus::kOutOfBounds;
  if (!allows(range.access, access)) return DmaStatus::kNoAccess;
  // By number: a region of all memory begins at 0, and one without memory is nowhere.
  place = {.memory = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(range.memory) + offset),
           .backing = range.backing};
  return DmaStatus::kOk;
}

DmaStatus MemoryTable::find_local(PdId pd, Lkey lkey, std::uint64_t address, std::uint64_t length,
                                  Access access, Place& place) const {
  const MemoryRegion* const region = find(to_integer(lkey));
  if (region == nullptr) return DmaStatus::kInvalidKey;
  if (region->pd != pd) return DmaStatus::kWrongPd;
  return check(*region, address, length, access, place);
}

DmaStatus MemoryTable::find_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                   std::uint64_t length, Access access, Place& place) {
  const Slot* const slot = find_slot(key_of(rkey));
  if (slot == nullptr) return DmaStatus::kInvalidKey;
  if (slot->kind != Kind::kRegion && slot->bound_to == 0) return DmaStatus::kInvalidKey;
  if (!is_for(*slot, user)) return DmaStatus::kWrongPd;
  return check(slot->range, address, length, access, place);
}

DmaStatus MemoryTable::check_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                    std::uint64_t length, Access access) {
  Place place;
  return find_remote(user, rkey, address, length, access, place);
}

DmaStatus MemoryTable::flush(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t length,
                             transport::FlushScope scope, Access access) {
  const Slot* const slot = find_slot(key_of(rkey));
  if (slot == nullptr) return DmaStatus::kInvalidKey;
  const bool is_whole = scope == transport::FlushScope::kRegion;
  Place place;
  const DmaStatus status = find_remote(user, rkey, is_whole ? slot->range.address : address,
                                       is_whole ? slot->range.length : length, access, place);
  if (status == DmaStatus::kOk) std::atomic_thread_fence(std::memory_order_seq_cst);
  return status;
}

}  // namespace urnic::nic
