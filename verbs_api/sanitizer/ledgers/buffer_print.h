// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// BufferPrint: what a buffer had in it when the program posted it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "nic/memory/write_log.h"

namespace urnic::verbs_api {

/// Checksums of the blocks of a buffer. Reads the program's memory with guard: what is not there has none.
class BufferPrint {
 public:
  static constexpr std::size_t kBlockBytes = 4096;
  /// What is looked at of one buffer: its beginning.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  struct Change {
    std::size_t from = 0;  ///< in bytes from the beginning: of the block with the first change
    std::size_t to = 0;    ///< where the block with the last one ends
  };

  BufferPrint(const std::byte* memory, std::size_t bytes, const nic::WriteLog& log);

  /// What something else than the NIC has changed. Where the NIC has written, that is not known: nothing.
  std::optional<Change> change(const nic::WriteLog& log) const;

 private:
  static std::vector<std::uint32_t> checksums(const std::byte* memory, std::size_t bytes);

  const std::byte* memory_;
  std::size_t bytes_;
  std::uint64_t writes_;
  std::vector<std::uint32_t> blocks_;
};

}  // namespace urnic::verbs_api
