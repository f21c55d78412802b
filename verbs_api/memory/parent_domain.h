// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Thread domains, and what a parent domain is more than a protection domain.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/queue_memory.h"
#include "verbs_api/abi/libibverbs.h"

namespace urnic::verbs_api {

/// A thread domain as programs hold it. It promises that one thread at a time uses what is made in it. We
/// still lock, since the NIC's own thread is another one.
struct Td : ibv_td {
  explicit Td(ibv_context& opened) : ibv_td{&opened} {}
  static Td& of(ibv_td* td) { return *static_cast<Td*>(td); }

  std::uint32_t users = 0;  ///< parent domains; under the context's mutex
};

/// Asks the program for the memory of queues, by the two functions that it gave. They are called by threads
/// that create, resize and destroy queues, and where the context is closed for queues that are left: that
/// time under its mutex.
class ProgramMemory final : public transport::QueueMemory {
 public:
  /// `domain` is what the functions are told.
  ProgramMemory(ibv_pd& domain, const ibv_parent_domain_init_attr& given);

  void* allocate(std::size_t bytes, std::size_t alignment, transport::QueueKind kind) override;
  void free(void* memory, transport::QueueKind kind) noexcept override;

 private:
  ibv_pd& domain_;
  decltype(ibv_parent_domain_init_attr::alloc) allocate_;
  decltype(ibv_parent_domain_init_attr::free) free_;
  void* program_context_;
};

}  // namespace urnic::verbs_api
