// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The half of MemoryTable that touches memory.
#include <atomic>
#include <cstring>

#include "nic/memory/crc_copy.h"
#include "nic/memory/fault_guard.h"
#include "nic/memory/guarded_copy.h"
#include "nic/memory/memory_table.h"
#include "nic/memory/page_probe.h"

namespace urnic::nic {

using transport::Access;
using transport::DmaStatus;
using transport::Lkey;
using transport::MemoryUser;
using transport::PdId;
using transport::Rkey;
using transport::wire::TailCrc;

namespace {

/// Programs poll on the last bytes of a message that is being written. Those are written after all others, in
/// one store where they are aligned.
constexpr std::size_t kTailBytes = 8;

/// From so many bytes on a copy works out the CRC, too. For fewer, joining it to the CRC of the headers costs
/// as much as reading the bytes again.
constexpr std::size_t kCrcFrom = 1024;

bool copy_in_order(std::byte* to, std::span<const std::byte> from) {
  const std::size_t head = from.size() > kTailBytes ? from.size() - kTailBytes : 0;
  if (!try_copy(to, from.data(), head)) return false;
  std::atomic_thread_fence(std::memory_order_release);
  return try_copy(to + head, from.data() + head, from.size() - head);
}

bool is_aligned(const std::byte* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % std::atomic_ref<std::uint64_t>::required_alignment == 0;
}

DmaStatus present_if(bool done) {
  return done ? DmaStatus::kOk : DmaStatus::kNotPresent;
}

}  // namespace

// --- Copies ---

bool MemoryTable::copy_out(const Place& from, std::span<std::byte> to, TailCrc* tail) {
  if (to.empty()) return true;
  if (tail != nullptr) {
    if (from.backing == Backing::kMapped && to.size() >= kCrcFrom && best_crc_copy != nullptr) {
      std::uint32_t crc = tail->crc();
      const bool is_copied = best_crc_copy(to.data(), from.memory, to.size(), crc);
      *tail = {tail->bytes() + static_cast<std::uint32_t>(to.size()), crc};
      return is_copied;
    }
    *tail = {};
  }
  switch (from.backing) {
    case Backing::kOnDemand:
      return copy_from_guarded(to, from.memory);
    case Backing::kNothing:
      std::memset(to.data(), 0, to.size());
      return true;
    case Backing::kMapped:
      break;
  }
  return try_copy(to.data(), from.memory, to.size());
}

bool MemoryTable::copy_in(const Place& to, std::span<const std::byte> from) const {
  if (from.empty()) return true;
  const LoggedWrite logged(writes_, to.memory, from.size());
  switch (to.backing) {
    case Backing::kOnDemand:
      return copy_to_guarded(to.memory, from);
    case Backing::kNothing:
      return true;
    case Backing::kMapped:
      break;
  }
  return copy_in_order(to.memory, from);
}

DmaStatus MemoryTable::read_local(PdId pd, Lkey lkey, std::uint64_t address, std::span<std::byte> to,
                                  TailCrc* tail) {
  Place place;
  const DmaStatus status = find_local(pd, lkey, address, to.size(), Access::kNone, place);
  if (status != DmaStatus::kOk) return status;
  return present_if(copy_out(place, to, is_crc_left_out_ ? nullptr : tail));
}

DmaStatus MemoryTable::write_local(PdId pd, Lkey lkey, std::uint64_t address,
                                   std::span<const std::byte> from) {
  Place place;
  const DmaStatus status = find_local(pd, lkey, address, from.size(), Access::kLocalWrite, place);
  if (status != DmaStatus::kOk) return status;
  return present_if(copy_in(place, from));
}

DmaStatus MemoryTable::read_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                   std::span<std::byte> to, TailCrc* tail) {
  Place place;
  const DmaStatus status = find_remote(user, rkey, address, to.size(), Access::kRemoteRead, place);
  if (status != DmaStatus::kOk) return status;
  return present_if(copy_out(place, to, is_crc_left_out_ ? nullptr : tail));
}

DmaStatus MemoryTable::write_remote(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                    std::span<const std::byte> from) {
  Place place;
  const DmaStatus status = find_remote(user, rkey, address, from.size(), Access::kRemoteWrite, place);
  if (status != DmaStatus::kOk) return status;
  return present_if(copy_in(place, from));
}

// --- Atomics ---

// The address on the wire is aligned; where the region was registered at an odd one, the memory still is not.
DmaStatus MemoryTable::find_number(const MemoryUser& user, Rkey rkey, std::uint64_t address, Access access,
                                   std::uint64_t*& number) {
  Place place;
  const DmaStatus status = find_remote(user, rkey, address, sizeof(std::uint64_t), access, place);
  if (status != DmaStatus::kOk) return status;
  if (!is_aligned(place.memory)) return DmaStatus::kNoAccess;
  const bool is_unsure = place.backing == Backing::kOnDemand;
  if (is_unsure && !can_access_each_page(place.memory, sizeof(std::uint64_t), true)) {
    return DmaStatus::kNotPresent;
  }
  number = reinterpret_cast<std::uint64_t*>(place.memory);
  return DmaStatus::kOk;
}

DmaStatus MemoryTable::done(const std::uint64_t* number, bool is_present, std::uint64_t original,
                            std::uint64_t stored) const {
  if (is_present && writes_ != nullptr && writes_->atomics() != nullptr) [[unlikely]] {
    writes_->atomics()->note(number, original, stored);
  }
  return present_if(is_present);
}

DmaStatus MemoryTable::compare_swap(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                    std::uint64_t compare, std::uint64_t swap, std::uint64_t& original) {
  std::uint64_t* number = nullptr;
  const DmaStatus status = find_number(user, rkey, address, Access::kRemoteAtomic, number);
  if (status != DmaStatus::kOk) return status;
  original = compare;
  const LoggedWrite logged(writes_, number, sizeof *number);
  const bool is_present = try_compare_exchange(number, original, swap);
  return done(number, is_present, original, original == compare ? swap : original);
}

DmaStatus MemoryTable::fetch_add(const MemoryUser& user, Rkey rkey, std::uint64_t address, std::uint64_t add,
                                 std::uint64_t& original) {
  std::uint64_t* number = nullptr;
  const DmaStatus status = find_number(user, rkey, address, Access::kRemoteAtomic, number);
  if (status != DmaStatus::kOk) return status;
  const LoggedWrite logged(writes_, number, sizeof *number);
  const bool is_present = try_fetch_add(number, add, original);
  return done(number, is_present, original, original + add);
}

DmaStatus MemoryTable::write_remote_atomically(const MemoryUser& user, Rkey rkey, std::uint64_t address,
                                               std::span<const std::byte, 8> from) {
  std::uint64_t* number = nullptr;
  const DmaStatus status = find_number(user, rkey, address, Access::kRemoteWrite, number);
  if (status != DmaStatus::kOk) return status;
  std::uint64_t value = 0;
  std::memcpy(&value, from.data(), sizeof value);
  const LoggedWrite logged(writes_, number, sizeof *number);
  return present_if(try_store(number, value));
}

}  // namespace urnic::nic
