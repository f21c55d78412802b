// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LastWordsTable: last words in memory that another process reads after the end of this one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <span>
#include <unordered_map>
#include <vector>

#include "nic/port/last_words.h"
#include "nic/process/descriptor.h"
#include "transport/result.h"

namespace urnic::nic {

/// What a process has left.
struct KeptFrame {
  static constexpr auto kShortestPause = std::chrono::milliseconds(250);
  static constexpr auto kLongestPause = std::chrono::milliseconds(60'000);

  std::vector<std::byte> frame;
  LastWords::Delivery delivery;  ///< the pause is 0, or between those two
};

/// A file in memory with a row for each frame. Its size is sealed. A process may be killed in the middle of a
/// row: the row's sequence number is odd then.
///
/// A child of a fork has neither the file nor the memory.
class LastWordsTable final : public LastWords {
 public:
  static constexpr std::size_t kMostRows = 1 << 16;

  /// The error is the system's.
  static Result<std::unique_ptr<LastWordsTable>, Error> create();
  ~LastWordsTable() override;
  LastWordsTable(const LastWordsTable&) = delete;
  LastWordsTable& operator=(const LastWordsTable&) = delete;

  /// For the process that is to read it. Borrowed.
  int file() const { return file_.get(); }

  void keep(std::uint32_t key, std::span<const std::byte> frame, Delivery delivery) override;
  void forget(std::uint32_t key) override;

 private:
  struct Header;
  struct Row;

  LastWordsTable(Descriptor file, void* memory, std::size_t rows);
  friend std::vector<KeptFrame> read_last_words(int file);

  const Descriptor file_;
  Header* const header_;
  Row* const rows_;
  const std::size_t most_rows_;
  std::unordered_map<std::uint32_t, std::uint32_t> row_of_;  // by key
  // The lowest one is used first, so that few pages are.
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_;
};

/// Whether a file that a process hands over may be one: in memory, and of a sealed size.
bool may_hold_last_words(int file);

/// The frames in a table of a process that has ended. The file may be anything that a process hands over:
/// nothing is read of one whose size could change or whose reading could wait, and what is read is just bytes
/// and numbers. Does not wait.
std::vector<KeptFrame> read_last_words(int file);

}  // namespace urnic::nic
