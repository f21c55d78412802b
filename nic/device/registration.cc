// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A device's protection domains and memory regions.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <mutex>

#include "nic/adversary/adversary.h"
#include "nic/device/device.h"
#include "nic/engine/engine.h"
#include "nic/errors.h"
#include "nic/memory/fault_guard.h"
#include "nic/memory/guarded_copy.h"
#include "nic/memory/page_probe.h"

namespace urnic::nic {

using transport::Access;

namespace {

/// Linux' ib_umem_get() counts pages from the one with the first byte to the one in front of which the region
/// ends: an empty region has the page that it begins in, or none.
bool has_no_page(const MemoryRegion& region) {
  static const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return region.length == 0 && reinterpret_cast<std::uintptr_t>(region.memory) % page_bytes == 0;
}

/// Rights that go together, a range that does not wrap, and memory that is there unless it may come and go.
Result<void, Error> check_region(const MemoryRegion& region) {
  const bool can_be_written = allows(region.access, Access::kLocalWrite);
  const bool peer_may_write =
      allows(region.access, Access::kRemoteWrite) || allows(region.access, Access::kRemoteAtomic);
  if (peer_may_write && !can_be_written) {
    return failure(invalid("remote write and atomic access need local write access"));
  }
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  const bool wraps = region.length > kLast - reinterpret_cast<std::uintptr_t>(region.memory) ||
                     region.length > kLast - region.address;
  if (wraps) return failure(invalid("the memory region wraps around the end of the address space"));
  if (region.backing == Backing::kNothing) return success();
  if (has_no_page(region)) {
    return failure(
        invalid("the memory region is empty and begins where a page does, so that it is in no page"));
  }
  if (region.backing == Backing::kOnDemand) {
    if (can_copy_guarded()) return success();
    return failure(
        Error{.code = EOPNOTSUPP,
              .message = "on-demand paging needs process_vm_readv(2), which this system does not allow"});
  }
  if (can_access(region.memory, std::max<std::uint64_t>(region.length, 1), can_be_written)) {
    install_fault_guard();
    return success();
  }
  return failure(Error{
      .code = EFAULT,
      .message = can_be_written ? "the memory cannot be read and written" : "the memory cannot be read"});
}

}  // namespace

Result<std::unique_ptr<ProtectionDomain>, Error> Device::allocate_pd() {
  if (auto usable = check_usable(); !usable) return failure(usable.error());
  auto pd = std::make_unique<ProtectionDomain>();
  pd->siblings = pd_count_;
  if (pd_count_->fetch_add(1) >= DeviceLimits::kMaxProtectionDomains) {
    return failure(out_of("there are too many protection domains"));
  }
  pd->id = transport::PdId{next_pd_.fetch_add(1)};
  return pd;
}

void Device::use(WriteLog& log) {
  const std::lock_guard guard(*engine_);
  engine_->tables().memory.use(log);
}

void Device::use(std::unique_ptr<Adversary> adversary) {
  const std::lock_guard guard(*engine_);
  if (adversary->does(Behavior::kDifferentKeys)) {
    constexpr std::uint64_t kNever0 = 1u << 31;
    engine_->tables().memory.twist_rkeys(
        static_cast<std::uint32_t>(adversary->number(Behavior::kDifferentKeys, 0, 0) | kNever0));
  }
  adversary_ = std::move(adversary);
  engine_->use(*adversary_, engine_->tables().memory);
}

void Device::settle_placements() {
  if (adversary_ != nullptr) adversary_->settle_all();
}

std::uint32_t Device::rkey_of(std::uint32_t key) const {
  return to_integer(engine_->tables().memory.rkey_of(key));
}

Result<MemoryRegion, Error> Device::register_memory(ProtectionDomain& pd, void* memory, std::uint64_t length,
                                                    std::uint64_t address, Access access, Backing backing) {
  if (auto usable = check_usable(); !usable) return failure(usable.error());
  MemoryRegion region{.pd = pd.id,
                      .access = access,
                      .address = address,
                      .length = length,
                      .memory = static_cast<std::byte*>(memory),
                      .backing = backing};
  if (auto checked = check_region(region); !checked) return failure(checked.error());
  if (length > config_.personality->max_mr_size) {
    return failure(invalid("the memory region is longer than the device allows"));
  }
  const std::lock_guard guard(*engine_);
  const auto key = engine_->tables().memory.add(region);
  if (!key) return failure(key.error());
  region.key = key.value();
  pd.users.fetch_add(1);
  return region;
}

Result<void, Error> Device::reregister_memory(ProtectionDomain& from, ProtectionDomain& to,
                                              MemoryRegion region) {
  if (auto usable = check_usable(); !usable) return usable;
  if (auto checked = check_region(region); !checked) return checked;
  const std::lock_guard guard(*engine_);
  region.pd = to.id;
  settle_placements();
  if (auto replaced = engine_->tables().memory.replace(region.key, region); !replaced) return replaced;
  to.users.fetch_add(1);
  from.users.fetch_sub(1);
  return success();
}

Result<void, Error> Device::deregister_memory(ProtectionDomain& pd, std::uint32_t key) {
  if (auto usable = check_usable(); !usable) return usable;
  const std::lock_guard guard(*engine_);
  settle_placements();
  Tables& tables = engine_->tables();
  if (auto removed = tables.memory.remove(key); !removed) return removed;
  if (tables.deregistered_keys != nullptr) {
    tables.deregistered_keys->note(tables.memory.rkey_of(key), engine_->clock().now());
  }
  pd.users.fetch_sub(1);
  return success();
}

Result<void, Error> Device::prefetch_memory(const ProtectionDomain& pd, std::uint32_t key,
                                            std::uint64_t address, std::uint64_t length, Prefetch how) {
  if (auto usable = check_usable(); !usable) return usable;
  MemoryRegion region;
  {
    const std::lock_guard guard(*engine_);
    const MemoryRegion* const found = engine_->tables().memory.find(key);
    if (found == nullptr) {
      return failure(Error{.code = EFAULT, .message = "there is no memory region with this key"});
    }
    region = *found;
  }
  if (region.pd != pd.id) {
    return failure(Error{.code = EPERM, .message = "the region is of another protection domain"});
  }
  if (region.backing != Backing::kOnDemand) {
    return failure(invalid("the region was not registered for on-demand paging"));
  }
  const bool writes = how == Prefetch::kWrite;
  if (writes && !allows(region.access, Access::kLocalWrite)) {
    return failure(Error{.code = EPERM, .message = "the region may not be written"});
  }
  const std::uint64_t offset = address - region.address;
  if (offset > region.length || length > region.length - offset) {
    return failure(Error{.code = EFAULT, .message = "the range is not inside the region"});
  }
  // The processor's page tables are ours: what is there already needs nothing.
  if (how == Prefetch::kPresentOnly) return success();
  const auto* const memory =
      reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(region.memory) + offset);
  if (can_access(memory, length, writes)) return success();
  return failure(Error{.code = EFAULT, .message = "a part of the range is not in the address space"});
}

}  // namespace urnic::nic
