// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ActLog: the last unusual acts of the adversary, as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/result.h"

namespace urnic::nic {

/// A ring of lines, in memory or in a file that other processes can read even if this one crashes. Any
/// thread. Adding does not allocate.
class ActLog {
 public:
  static constexpr std::size_t kLines = 256;
  /// With the newline. A longer text is cut.
  static constexpr std::size_t kLineBytes = 120;

  /// In memory.
  ActLog();
  ~ActLog();
  ActLog(const ActLog&) = delete;
  ActLog& operator=(const ActLog&) = delete;

  /// From now on in this file, which is made new; the error is the file system's. Before the first add().
  Result<void, Error> use_file(const std::string& file);

  void add(std::string_view text);
  /// How many were ever added.
  std::uint64_t count() const;
  /// The last ones, oldest first, `most` at most.
  std::vector<std::string> last(std::size_t most) const;

  /// The same of a file that another process has written; empty if there is none.
  static std::vector<std::string> last_in_file(const std::string& file, std::size_t most);

  /// Held during a fork.
  std::mutex& mutex() { return mutex_; }

 private:
  std::span<char> line(std::uint64_t number) { return {&lines_[number % kLines * kLineBytes], kLineBytes}; }

  mutable std::mutex mutex_;
  std::vector<char> memory_;
  char* lines_ = nullptr;  // kLines of kLineBytes, in memory_ or mapped
  bool is_mapped_ = false;
  std::uint64_t count_ = 0;
};

}  // namespace urnic::nic
