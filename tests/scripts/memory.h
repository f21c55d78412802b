// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ScriptMemory: the memory regions and windows of a script, by the script's names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/conformance/player/stage.h"
#include "tools/conformance/script/script.h"
#include "transport/dma.h"

namespace urnic::scripts {

/// Regions in vectors. Windows of type 1 belong to a protection domain and may be bound again at any time.
/// Windows of type 2 belong to the queue pair that bound them, which must invalidate them first.
class ScriptMemory final : public transport::Dma {
 public:
  struct Region {
    std::uint64_t address = 0;
    Octets bytes;
    std::uint32_t key = 0;
    transport::PdId pd{};
    transport::Access access{};
    bool is_registered = true;
  };

  struct Window {
    std::uint32_t key = 0;
    unsigned type = 1;
    transport::PdId pd{};
    bool is_bound = false;
    std::string region{};
    std::uint64_t address = 0;        ///< as the peer says it
    std::uint64_t local_address = 0;  ///< in the region
    std::uint64_t length = 0;
    transport::Access access{};
    transport::QpNumber qp{};  ///< that bound it
  };

  /// Filled with pattern_at() of its addresses.
  void add_region(const std::string& name, std::uint64_t address, std::size_t size, std::uint32_t key,
                  transport::PdId pd, transport::Access access);
  void add_window(const std::string& name, const Window& window);

  /// Null if the script has none of this name.
  Region* region(const std::string& name);
  Window* window(const std::string& name);

  /// The bytes of a place, for the program itself; nothing if it is not inside a region.
  std::optional<std::span<std::byte>> bytes(const Place& place, std::size_t length);

  std::vector<FlushRecord>& flushes() { return flushes_; }

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
  transport::DmaStatus flush(const transport::MemoryUser& user, transport::Rkey rkey, std::uint64_t address,
                             std::uint64_t length, transport::FlushScope scope,
                             transport::Access access) override;
  transport::DmaStatus invalidate(const transport::MemoryUser& user, transport::Rkey rkey) override;
  transport::DmaStatus bind_window(const transport::MemoryUser& user,
                                   const transport::WindowBinding& binding) override;

 private:
  /// Where the bytes are, or why they may not be reached.
  struct Reached {
    transport::DmaStatus status{};
    std::byte* bytes = nullptr;
  };
  Reached reach(const transport::MemoryUser& user, std::uint32_t key, std::uint64_t address,
                std::uint64_t length, transport::Access access);
  Reached reach_region(Region& region, transport::PdId pd, std::uint64_t address, std::uint64_t length,
                       transport::Access access);
  Reached reach_window(const Window& window, const transport::MemoryUser& user, std::uint64_t address,
                       std::uint64_t length, transport::Access access);
  Region* region_of_key(std::uint32_t key);
  Window* window_of_key(std::uint32_t key);

  template <typename Change>
  transport::DmaStatus change_number(const transport::MemoryUser& user, transport::Rkey rkey,
                                     std::uint64_t address, std::uint64_t& original, const Change& change);

  std::map<std::string, Region> regions_;
  std::map<std::string, Window> windows_;
  std::vector<FlushRecord> flushes_;
};

}  // namespace urnic::scripts
