// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/path/address_handles.h"

#include "nic/config.h"

namespace urnic::nic {

using transport::AddressHandleId;
using transport::to_integer;

namespace {

/// The slot is the low bits, the rest counts how often it was used; number 0 is none.
constexpr std::uint32_t kSlotBits = 16;
constexpr std::uint32_t kSlotMask = (1u << kSlotBits) - 1;
static_assert(DeviceLimits::kMaxAddressHandles <= kSlotMask);

}  // namespace

std::optional<AddressHandleId> AddressHandles::add(const AddressVector& address, const Path& path,
                                                   bool is_on_this_host) {
  std::uint32_t index;
  if (slots_.size() < DeviceLimits::kMaxAddressHandles) {
    index = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back({.id = AddressHandleId{index}, .handle = {}});
  } else if (!free_.empty()) {
    index = free_.front();
    free_.pop_front();
  } else {
    return std::nullopt;
  }
  Slot& slot = slots_[index];
  std::uint32_t id = to_integer(slot.id) + (1u << kSlotBits);
  if (id <= kSlotMask) id += 1u << kSlotBits;  // the count came round
  slot = {.id = AddressHandleId{id},
          .handle = {.address = address, .path = path, .is_on_this_host = is_on_this_host}};
  return slot.id;
}

void AddressHandles::remove(AddressHandleId id) {
  Handle* const handle = find(id);
  if (handle == nullptr) return;
  const std::uint32_t index = to_integer(id) & kSlotMask;
  slots_[index].handle = {};
  free_.push_back(index);
}

AddressHandles::Handle* AddressHandles::find(AddressHandleId id) {
  const std::uint32_t index = to_integer(id) & kSlotMask;
  if (index >= slots_.size() || slots_[index].id != id) return nullptr;
  Handle& handle = slots_[index].handle;
  return handle.path.header_bytes() == 0 ? nullptr : &handle;
}

}  // namespace urnic::nic
