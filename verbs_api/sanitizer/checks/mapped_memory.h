// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// MappedMemory: what the process has mapped, as the kernel lists it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace urnic::verbs_api {

class MappedMemory {
 public:
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t end = 0;   ///< the address after its last byte
    bool is_shared = false;  ///< MAP_SHARED
    std::string file{};      ///< empty: of no file
  };

  /// Of this process, now; nothing where it cannot be read, as without /proc.
  static std::optional<MappedMemory> read();
  /// As /proc/PID/maps has it. Lines that are not understood are left out.
  static MappedMemory parse(std::string_view text);

  /// The first address of `length` bytes at `address` that is not mapped.
  std::optional<std::uint64_t> gap(std::uint64_t address, std::uint64_t length) const;
  /// A file of which pages are mapped there, by MAP_SHARED.
  std::optional<std::string> shared_file(std::uint64_t address, std::uint64_t length) const;

 private:
  std::vector<Range> ranges_;  // by their addresses
};

/// Whether the file system writes pages of the file back to some disk or server; false where that is not
/// known.
bool is_written_back(const std::string& file);

}  // namespace urnic::verbs_api
