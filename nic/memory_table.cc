#include "nic/memory_table.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "nic/config.h"

namespace urnic::nic {
namespace {

using transport::Access;
using transport::DmaStatus;
using transport::Lkey;
using transport::PdId;
using transport::Rkey;
using transport::to_integer;

constexpr std::uint32_t kTagBits = 8;
constexpr std::uint32_t kMaxSlots = DeviceLimits::kMaxMemoryRegions;

/// A slot is not taken again before this many others were freed after it, as long as the table may grow
/// instead. With 256 tags a slot, a key comes back after 65536 further registrations at the earliest.
constexpr std::size_t kRestingSlots = 256;

/// Programs poll on the last bytes of a message that is being written. Those are written after all others, in
/// one store where they are aligned.
constexpr std::size_t kTailBytes = 8;

void copy_in_order(std::byte* to, std::span<const std::byte> from) {
  const std::size_t head = from.size() > kTailBytes ? from.size() - kTailBytes : 0;
  std::memcpy(to, from.data(), head);
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(to + head, from.data() + head, from.size() - head);
}

/// Checks in the order of fact 30, and says where in the process the range begins.
DmaStatus check(const MemoryRegion* region, PdId pd, std::uint64_t address, std::uint64_t length,
                Access access, std::byte*& memory) {
  if (region == nullptr) {
    return DmaStatus::kInvalidKey;
  }
  if (region->pd != pd) {
    return DmaStatus::kWrongPd;
  }
  // An address below the region's wraps around to a huge offset.
  const std::uint64_t offset = address - region->address;
  if (offset > region->length || length > region->length - offset) {
    return DmaStatus::kOutOfBounds;
  }
  if (!allows(region->access, access)) {
    return DmaStatus::kNoAccess;
  }
  memory = region->memory + offset;
  return DmaStatus::kOk;
}

}  // namespace

// Where the slots' numbers begin is drawn too: a key of a process that ran here before hardly ever fits this
// one. It is never 0, so that no key is.
MemoryTable::MemoryTable(std::uint64_t seed)
    : random_(seed), first_slot_(1 + static_cast<std::uint32_t>(random_() % ((1u << 24) - kMaxSlots - 1))) {}

Result<std::uint32_t, Error> MemoryTable::add(const MemoryRegion& region) {
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
                 .message = fmt::format("the device has {} memory regions and cannot have more", kMaxSlots)};
  }
  slots_[index] = region;
  slots_[index].key = (first_slot_ + index) << kTagBits | tags_[index];
  return slots_[index].key;
}

bool MemoryTable::remove(std::uint32_t key) {
  if (find(key) == nullptr) {
    return false;
  }
  const std::uint32_t index = (key >> kTagBits) - first_slot_;
  slots_[index] = MemoryRegion{};
  free_.push_back(index);
  return true;
}

const MemoryRegion* MemoryTable::find(std::uint32_t key) const {
  const std::uint32_t index = (key >> kTagBits) - first_slot_;
  if (index >= slots_.size() || slots_[index].key != key) {
    return nullptr;
  }
  return &slots_[index];
}

DmaStatus MemoryTable::read_local(PdId pd, Lkey lkey, std::uint64_t address, std::span<std::byte> to) {
  std::byte* memory = nullptr;
  const DmaStatus status = check(find(to_integer(lkey)), pd, address, to.size(), Access::kNone, memory);
  if (status == DmaStatus::kOk && !to.empty()) {
    std::memcpy(to.data(), memory, to.size());
  }
  return status;
}

DmaStatus MemoryTable::write_local(PdId pd, Lkey lkey, std::uint64_t address,
                                   std::span<const std::byte> from) {
  std::byte* memory = nullptr;
  const DmaStatus status =
      check(find(to_integer(lkey)), pd, address, from.size(), Access::kLocalWrite, memory);
  if (status == DmaStatus::kOk && !from.empty()) {
    copy_in_order(memory, from);
  }
  return status;
}

DmaStatus MemoryTable::check_remote(PdId pd, Rkey rkey, std::uint64_t address, std::uint64_t length,
                                    Access access) {
  std::byte* memory = nullptr;
  return check(find(to_integer(rkey)), pd, address, length, access, memory);
}

DmaStatus MemoryTable::read_remote(PdId pd, Rkey rkey, std::uint64_t address, std::span<std::byte> to) {
  std::byte* memory = nullptr;
  const DmaStatus status = check(find(to_integer(rkey)), pd, address, to.size(), Access::kRemoteRead, memory);
  if (status == DmaStatus::kOk && !to.empty()) {
    std::memcpy(to.data(), memory, to.size());
  }
  return status;
}

DmaStatus MemoryTable::write_remote(PdId pd, Rkey rkey, std::uint64_t address,
                                    std::span<const std::byte> from) {
  std::byte* memory = nullptr;
  const DmaStatus status =
      check(find(to_integer(rkey)), pd, address, from.size(), Access::kRemoteWrite, memory);
  if (status == DmaStatus::kOk && !from.empty()) {
    copy_in_order(memory, from);
  }
  return status;
}

}  // namespace urnic::nic
