// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ProgramObjects: the objects that a program has made by verbs, as a value.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace urnic::nic {

/// Numbers are the process' own: another process may have objects with the same ones.
struct ProgramObjects {
  struct ProtectionDomain {
    std::uint32_t number = 0;
    std::uint32_t context = 0;
    std::uint32_t users = 0;  ///< what is in it: regions, queue pairs, address handles and so on
  };
  struct CompletionQueue {
    std::uint32_t number = 0;
    std::uint32_t context = 0;
    std::uint32_t capacity = 0;  ///< completions
    std::uint32_t users = 0;     ///< queue pairs
  };
  struct SharedReceiveQueue {
    std::uint32_t number = 0;
    std::uint32_t domain = 0;
    std::optional<std::uint32_t> completion_queue{};  ///< of one for XRC
  };
  struct MemoryRegion {
    std::uint32_t key = 0;      ///< lkey and rkey
    std::uint64_t address = 0;  ///< what keys' users call its first byte
    std::uint64_t length = 0;   ///< bytes
    std::uint32_t domain = 0;
  };

  std::vector<std::uint32_t> contexts;  ///< numbers, in the order of opening
  std::vector<ProtectionDomain> protection_domains;
  std::vector<CompletionQueue> completion_queues;
  std::vector<SharedReceiveQueue> shared_receive_queues;
  std::vector<MemoryRegion> memory_regions;
};

}  // namespace urnic::nic
