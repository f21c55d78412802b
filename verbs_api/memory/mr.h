// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Mr: a memory region as programs hold it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "nic/memory/device_memory.h"
#include "nic/memory/memory_region.h"
#include "nic/memory/protection_domain.h"
#include "transport/result.h"
#include "verbs_api/abi/libibverbs.h"
#include "verbs_api/abi/mapping.h"

namespace urnic::verbs_api {

/// What is registered with the device, whatever handles of it there are.
struct Registration {
  nic::MemoryRegion region;
  std::shared_ptr<nic::ProtectionDomain> pd;
  std::atomic<bool> is_registered{false};
  bool is_zero_based = false;
  std::shared_ptr<nic::DeviceMemory> device_memory;  ///< of a region over device memory
  Mapping mapping;                                   ///< of a region over a dma-buf
};

struct Mr : ibv_mr {
  /// One whose region is still to be registered.
  explicit Mr(ibv_pd& domain);
  /// A handle more of what is registered.
  Mr(ibv_pd& domain, std::shared_ptr<Registration> imported);
  ~Mr();
  Mr(const Mr&) = delete;
  Mr& operator=(const Mr&) = delete;

  static Mr& of(ibv_mr* mr) { return *static_cast<Mr*>(mr); }

  /// Deregisters, unless it is only imported; the context is closing.
  void end();

  std::shared_ptr<Registration> registration;  ///< shared with imported handles
  bool is_imported = false;
};

/// What the access flags of a registration ask for.
struct RegistrationFlags {
  transport::Access access;
  nic::Backing backing;
  bool is_zero_based;
};

/// Flags that a driver is free to ignore, such as relaxed ordering, are. EINVAL for unknown flags, EOPNOTSUPP
/// for huge pages without on-demand paging, which they are a hint for.
Result<RegistrationFlags, int> parse_registration_flags(unsigned int flags);

/// For the sanitizer, if it looks: from now on `mr` names what its registration says.
void show_to_sanitizer(const Mr& mr);

/// Registers `region` (without its domain and key) and gives the program its region; `verb` is for the
/// message when that fails. Null and errno then.
Mr* register_region(ibv_pd& pd, const char* verb, const nic::MemoryRegion& region);

}  // namespace urnic::verbs_api
