// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/last_words_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "nic/process/memory_file.h"

namespace urnic::nic {
namespace {

constexpr std::uint32_t kMagic = 0x776e7275;  // "urnw" in memory
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kRowsAtOnce = 256;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
/// Of a file that a process may make (RLIMIT_FSIZE): beyond it the kernel ends the process.
std::size_t largest_file() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return limit.rlim_cur;
}

template <typename Value>
bool read_at(int file, std::size_t at, Value& value) {
  return pread(file, &value, sizeof value, static_cast<off_t>(at)) == static_cast<ssize_t>(sizeof value);
}

std::chrono::milliseconds pause_of(std::uint32_t ms) {
  const std::chrono::milliseconds pause(ms);
  return ms == 0 ? pause : std::clamp(pause, KeptFrame::kShortestPause, KeptFrame::kLongestPause);
}

}  // namespace

struct LastWordsTable::Header {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::atomic<std::uint32_t> rows{0};  ///< that were ever used
  std::array<std::byte, 52> reserved{};
};

struct LastWordsTable::Row {
  std::atomic<std::uint32_t> sequence{0};
  std::uint32_t bytes = 0;  ///< of the frame; 0: there is none
  std::uint32_t pause_ms = 0;
  std::uint32_t was_sent = 0;
  std::array<std::byte, kMaxBytes> frame{};
};

Result<std::unique_ptr<LastWordsTable>, Error> LastWordsTable::create() {
  const std::size_t rows =
      std::min(kMostRows, (largest_file() - std::min(largest_file(), sizeof(Header))) / sizeof(Row));
  const std::size_t bytes = sizeof(Header) + rows * sizeof(Row);
  Descriptor file(make_memory_file("urnic-last-words"));
  void* memory = MAP_FAILED;
  if (rows > 0 && file && ftruncate(file.get(), static_cast<off_t>(bytes)) == 0 &&
      fcntl(file.get(), F_ADD_SEALS, kSeals) == 0) {
    // Pages that no row uses are never there.
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
  }
  if (memory != MAP_FAILED) {
    madvise(memory, bytes, MADV_DONTFORK);
    return std::unique_ptr<LastWordsTable>(new LastWordsTable(std::move(file), memory, rows));
  }
  const int code = rows > 0 ? errno : EFBIG;
  return Error{
      .code = code,
      .message = "memory for what peers are told at the end: " + std::generic_category().message(code)};
}

LastWordsTable::LastWordsTable(Descriptor file, void* memory, std::size_t rows)
    : file_(std::move(file)),
      header_(new (memory) Header),
      rows_(reinterpret_cast<Row*>(static_cast<std::byte*>(memory) + sizeof(Header))),
      most_rows_(rows) {}

LastWordsTable::~LastWordsTable() {
  munmap(header_, sizeof(Header) + most_rows_ * sizeof(Row));
}

void LastWordsTable::keep(std::uint32_t key, std::span<const std::byte> frame, Delivery delivery) {
  if (frame.size() > kMaxBytes) return forget(key);
  auto known = row_of_.find(key);
  if (known == row_of_.end()) {
    std::uint32_t row = header_->rows.load(std::memory_order_relaxed);
    if (!free_.empty()) {
      row = free_.top();
      free_.pop();
    } else if (row == most_rows_) {
      return;
    } else {
      header_->rows.store(row + 1, std::memory_order_release);
    }
    known = row_of_.emplace(key, row).first;
  }
  Row& row = rows_[known->second];
  row.sequence.fetch_add(1, std::memory_order_acq_rel);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  row.bytes = static_cast<std::uint32_t>(frame.size());
  row.pause_ms = static_cast<std::uint32_t>(
      std::min<std::int64_t>(delivery.pause.count(), std::numeric_limits<std::uint32_t>::max()));
  row.was_sent = delivery.was_sent ? 1 : 0;
  std::copy(frame.begin(), frame.end(), row.frame.begin());
  row.sequence.fetch_add(1, std::memory_order_acq_rel);
}

void LastWordsTable::forget(std::uint32_t key) {
  const auto known = row_of_.find(key);
  if (known == row_of_.end()) return;
  Row& row = rows_[known->second];
  row.sequence.fetch_add(1, std::memory_order_acq_rel);
  row.bytes = 0;
  row.sequence.fetch_add(1, std::memory_order_acq_rel);
  free_.push(known->second);
  row_of_.erase(known);
}

bool may_hold_last_words(int file) {
  // Only files in memory have seals.
  const int seals = fcntl(file, F_GET_SEALS);
  struct stat status {};
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

std::vector<KeptFrame> read_last_words(int file) {
  using Header = LastWordsTable::Header;
  using Row = LastWordsTable::Row;
  std::vector<KeptFrame> frames;
  if (!may_hold_last_words(file)) return frames;
  Header header;
  if (!read_at(file, 0, header) || header.magic != kMagic || header.version != kVersion) return frames;
  const std::size_t rows = std::min<std::size_t>(header.rows.load(), LastWordsTable::kMostRows);
  // Many at a time: the process that reads has others to serve.
  std::vector<std::byte> some(kRowsAtOnce * sizeof(Row));
  for (std::size_t i = 0; i < rows; i += kRowsAtOnce) {
    const ssize_t bytes =
        pread(file, some.data(), some.size(), static_cast<off_t>(sizeof(Header) + i * sizeof(Row)));
    const std::size_t read = bytes < 0 ? 0 : static_cast<std::size_t>(bytes) / sizeof(Row);
    for (std::size_t j = 0; j < std::min(read, rows - i); ++j) {
      const Row& row = *reinterpret_cast<const Row*>(&some[j * sizeof(Row)]);
      const bool is_whole = row.sequence.load() % 2 == 0 && row.bytes > 0 && row.bytes <= row.frame.size();
      if (!is_whole) continue;
      frames.push_back({.frame = {row.frame.begin(), row.frame.begin() + row.bytes},
                        .delivery = {.pause = pause_of(row.pause_ms), .was_sent = row.was_sent != 0}});
    }
    if (read < kRowsAtOnce) break;
  }
  return frames;
}

}  // namespace urnic::nic
