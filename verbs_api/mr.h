// Mr: a memory region as programs hold it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nic/memory_region.h"
#include "transport/result.h"
#include "verbs_api/libibverbs.h"
#include "verbs_api/mapping.h"

namespace urnic::verbs_api {

struct Dm;

struct Mr : ibv_mr {
  explicit Mr(ibv_pd& domain) : ibv_mr{} {
    context = domain.context;
    pd = &domain;
  }
  ~Mr();
  Mr(const Mr&) = delete;
  Mr& operator=(const Mr&) = delete;

  static Mr& of(ibv_mr* mr) { return *static_cast<Mr*>(mr); }

  /// Deregisters; the context is closing.
  void end();

  nic::MemoryRegion region;  ///< as it is registered
  bool is_registered = false;
  bool is_zero_based = false;
  Dm* device_memory = nullptr;  ///< of a region over device memory
  Mapping mapping;              ///< of a region over a dma-buf
};

/// What the access flags of a registration ask for.
struct RegistrationFlags {
  transport::Access access;
  nic::Backing backing;
  bool is_zero_based;
};

/// Flags that a driver is free to ignore, such as relaxed ordering, are. EINVAL for what nobody knows, EOPNOTSUPP for huge
/// pages without on-demand paging, which they are a hint for.
Result<RegistrationFlags, int> parse_registration_flags(unsigned int flags);

/// Registers `wanted` (but for its domain and key) and gives the program its region; `verb` is for the message when that
/// fails. Null and errno then.
Mr* register_region(ibv_pd& pd, const char* verb, const nic::MemoryRegion& wanted);

}  // namespace urnic::verbs_api
