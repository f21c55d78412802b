// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Mapping: a file's memory in this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "transport/result.h"

namespace urnic::verbs_api {

/// Unmapped when it is destroyed.
class Mapping {
 public:
  Mapping() = default;
  /// Maps `length` bytes (at least 1) of `fd` from `offset` on. Errors as of mmap(2).
  static Result<Mapping, int> make(int fd, std::uint64_t offset, std::size_t length, bool writable);
  ~Mapping();
  Mapping(Mapping&& other) noexcept { swap(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    swap(other);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  /// Where the byte at `offset` is.
  std::byte* memory() const { return static_cast<std::byte*>(pages_) + skipped_; }

 private:
  void swap(Mapping& other) noexcept {
    std::swap(pages_, other.pages_);
    std::swap(length_, other.length_);
    std::swap(skipped_, other.skipped_);
  }

  void* pages_ = nullptr;
  std::size_t length_ = 0;
  std::size_t skipped_ = 0;  // from the beginning of the first page
};

}  // namespace urnic::verbs_api
