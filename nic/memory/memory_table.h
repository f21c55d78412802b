// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// MemoryTable: registered memory and memory windows by key; the product's transport::Dma.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <span>
#include <vector>

#include "nic/config.h"
#include "nic/memory/memory_region.h"
#include "nic/memory/protection_domain.h"
#include "nic/memory/write_log.h"
#include "transport/dma.h"
#include "transport/result.h"

namespace urnic::nic {

/// Type 1 windows are for every queue pair of their protection domain, type 2 windows for the one that bound
/// them.
enum class WindowType : std::uint8_t { kType1, kType2 };

/// All calls under the engine lock. A zero-length region is legal and contains nothing.
///
/// Memory is read and written by copies in the program's own process. Registration probes every page, and
/// cannot keep it: where the program has taken a page away since, the copy fails (kNotPresent), by a fault
/// that is caught (fault_guard.h). Hardware would have pinned the page, and go on to use it unseen. Regions
/// with on-demand paging promise nothing, and do not rely on the fault handler: the kernel copies.
class MemoryTable final : public transport::Dma {
 public:
  explicit MemoryTable(std::uint64_t seed, Type2Windows type_2_windows = Type2Windows::k2B);

  /// Adds a region and gives it a key; ENOMEM when the table is full.
  Result<std::uint32_t, Error> add(const MemoryRegion& region);
  /// Removes a region; afterwards nothing touches its memory. EINVAL: there is none with this key; EBUSY:
  /// windows are bound to it.
  Result<void, Error> remove(std::uint32_t key);
  /// Gives the region with this key other attributes, all but the key. EINVAL and EBUSY as remove().
  Result<void, Error> replace(std::uint32_t key, const MemoryRegion& region);
  /// The region with this key, or null.
  const MemoryRegion* find(std::uint32_t key) const;
  /// Whether `length` bytes at `address` of the local region `lkey` may be used so. Copies nothing.
  transport::DmaStatus check_local(transport::PdId pd, transport::Lkey lkey, std::uint64_t address,
                                   std::uint64_t length, transport::Access access) const {
    Place place;
    return find_local(pd, lkey, address, length, access, place);
  }
  /// What the key's slot holds now, for a person to be told.
  KeyFacts facts_of(std::uint32_t key) const;
  KeyFacts facts_of(transport::Rkey rkey) const { return facts_of(key_of(rkey)); }

  /// From now on, and before there are any, rkeys differ from lkeys by the upper bits of `twist`.
  void twist_rkeys(std::uint32_t twist) { rkey_twist_ = twist >> kTagBits << kTagBits; }
  /// By which peers know the region or window with this key.
  transport::Rkey rkey_of(std::uint32_t key) const { return transport::Rkey{key ^ rkey_twist_}; }
  /// And back again.
  std::uint32_t key_of(transport::Rkey rkey) const { return to_integer(rkey) ^ rkey_twist_; }
  std::uint32_t region_count() const { return region_count_; }
  /// Calls `visit` with each region in `count` slots from the slot `first` on. False: there are no more slots
  /// after those.
  template <typename Visit>
  bool for_each_region_in(std::size_t first, std::size_t count, Visit visit) const {
    for (std::size_t i = first; i < slots_.size() && i < first + count; ++i) {
      if (slots_[i].kind == Kind::kRegion) visit(slots_[i].range);
    }
    return first + count < slots_.size();
  }

  /// Adds a window that is not bound and gives it a key; ENOMEM when the table is full.
  Result<std::uint32_t, Error> add_window(WindowType type, transport::PdId pd);
  /// Removes a window, bound or not, by any key that it has had. EINVAL: there is none.
  Result<void, Error> remove_window(std::uint32_t key);
  /// Bound or not.
  std::uint32_t window_count() const { return window_count_; }

  /// From now on `log`, which must outlive this, counts what is written.
  void use(WriteLog& log) { writes_ = &log; }
  /// Whether what is read from now on goes to a place where no CRC is needed.
  void leave_out_crc(bool is_left_out) { is_crc_left_out_ = is_left_out; }

  transport::DmaStatus read_local(transport::PdId pd, transport::Lkey lkey, std::uint64_t address,
                                  std::span<std::byte> to, transport::wire::TailCrc* tail) override;
  transport::DmaStatus write_local(transport::PdId pd, transport::Lkey lkey, std::uint64_t address,
                                   std::span<const std::byte> from) override;
  transport::DmaStatus check_remote(const transport::MemoryUser& user, transport::Rkey rkey,
                                    std::uint64_t address, std::uint64_t length,
                                    transport::Access access) override;
  transport::DmaStatus read_remote(const transport::MemoryUser& user, transport::Rkey rkey,
                                   std::uint64_t address, std::span<std::byte> to,
                                   transport::wire::TailCrc* tail) override;
  transport::DmaStatus write_remote(const transport::MemoryUser& user, transport::Rkey rkey,
                                    std::uint64_t address, std::span<const std::byte> from) override;
  transport::DmaStatus compare_swap(const transport::MemoryUser& user, transport::Rkey rkey,
                                    std::uint64_t address, std::uint64_t compare, std::uint64_t swap,
                                    std::uint64_t& original) override;
  transport::DmaStatus fetch_add(const transport::MemoryUser& user, transport::Rkey rkey,
                                 std::uint64_t address, std::uint64_t add, std::uint64_t& original) override;
  transport::DmaStatus write_remote_atomically(const transport::MemoryUser& user, transport::Rkey rkey,
                                               std::uint64_t address,
                                               std::span<const std::byte, 8> from) override;
  /// Memory is as visible as it will be once it is written. Nothing here survives a loss of power: no region
  /// is registered with kFlushPersistent.
  transport::DmaStatus flush(const transport::MemoryUser& user, transport::Rkey rkey, std::uint64_t address,
                             std::uint64_t length, transport::FlushScope scope,
                             transport::Access access) override;
  transport::DmaStatus invalidate(const transport::MemoryUser& user, transport::Rkey rkey) override;
  transport::DmaStatus bind_window(const transport::MemoryUser& user,
                                   const transport::WindowBinding& binding) override;

 private:
  enum class Kind : std::uint8_t { kFree, kRegion, kWindow1, kWindow2 };

  /// A region, or a window with its own bounds and rights and, while it is bound, its region.
  struct Slot {
    Kind kind = Kind::kFree;
    MemoryRegion range{};
    transport::QpNumber qp{};         // of a bound type 2 window
    std::uint32_t bound_to = 0;       // of a window: the region's key; 0: not bound
    std::uint32_t bound_windows = 0;  // of a region
  };

  /// Where in the process a range is that may be accessed.
  struct Place {
    std::byte* memory = nullptr;
    Backing backing = Backing::kMapped;
  };

  Result<std::uint32_t, Error> take_slot(Kind kind, const MemoryRegion& range);
  void free_slot(std::uint32_t key);
  std::uint32_t& count_of(Kind kind) { return kind == Kind::kRegion ? region_count_ : window_count_; }
  std::uint32_t index_of(std::uint32_t key) const { return (key >> kTagBits) - first_slot_; }
  Slot* find_slot(std::uint32_t key);
  Slot* find_window(std::uint32_t key);
  void unbind(Slot& window);
  bool is_for(const Slot& slot, const transport::MemoryUser& user) const;
  Result<Slot*, Error> find_unbound(std::uint32_t key);
  static transport::DmaStatus check(const MemoryRegion& range, std::uint64_t address, std::uint64_t length,
                                    transport::Access access, Place& place);
  transport::DmaStatus find_local(transport::PdId pd, transport::Lkey lkey, std::uint64_t address,
                                  std::uint64_t length, transport::Access access, Place& place) const;
  transport::DmaStatus find_remote(const transport::MemoryUser& user, transport::Rkey rkey,
                                   std::uint64_t address, std::uint64_t length, transport::Access access,
                                   Place& place);
  transport::DmaStatus find_number(const transport::MemoryUser& user, transport::Rkey rkey,
                                   std::uint64_t address, transport::Access access, std::uint64_t*& number);
  /// What an atomic returns that found `original` and left `stored`.
  transport::DmaStatus done(const std::uint64_t* number, bool is_present, std::uint64_t original,
                            std::uint64_t stored) const;
  static bool copy_out(const Place& from, std::span<std::byte> to, transport::wire::TailCrc* tail);
  bool copy_in(const Place& to, std::span<const std::byte> from) const;

  static constexpr std::uint32_t kTagBits = 8;

  Type2Windows type_2_windows_;
  std::uint32_t rkey_twist_ = 0;
  std::mt19937_64 random_;
  std::uint32_t first_slot_;  // number of slots_[0]
  std::vector<Slot> slots_;
  std::vector<std::uint8_t>
      tags_;  // of each slot, used last; a slot's tags are drawn once and then counted up
  std::deque<std::uint32_t> free_;  // longest free first
  std::uint32_t region_count_ = 0;
  std::uint32_t window_count_ = 0;
  WriteLog* writes_ = nullptr;
  bool is_crc_left_out_ = false;
};

}  // namespace urnic::nic
