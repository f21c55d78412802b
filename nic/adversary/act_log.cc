// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/adversary/act_log.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace urnic::nic {
namespace {

constexpr std::size_t kBytes = ActLog::kLines * ActLog::kLineBytes;
/// Digits of a line's number, which make lines sort in the order of time.
constexpr std::size_t kDigits = 10;

std::string without_blanks(std::string_view line) {
  const std::size_t end = line.find_last_not_of(" \n");
  return std::string(line.substr(0, end == std::string_view::npos ? 0 : end + 1));
}

/// Without its number.
std::string text_of(std::string_view line) {
  return without_blanks(line.substr(std::min(kDigits + 1, line.size())));
}

}  // namespace

ActLog::ActLog() : memory_(kBytes, ' '), lines_(memory_.data()) {}

ActLog::~ActLog() {
  if (is_mapped_) munmap(lines_, kBytes);
}

Result<void, Error> ActLog::use_file(const std::string& file) {
  const auto fail = [&file] {
    return failure(Error{.code = errno, .message = fmt::format("{}: {}", file, std::strerror(errno))});
  };
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return fail();
  const bool has_size = ftruncate(fd, kBytes) == 0;
  void* const mapped =
      has_size ? mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  const int error = errno;
  close(fd);
  errno = error;
  if (mapped == MAP_FAILED) return fail();
  const std::lock_guard guard(mutex_);
  lines_ = static_cast<char*>(mapped);
  is_mapped_ = true;
  std::fill_n(lines_, kBytes, ' ');
  for (std::size_t i = 0; i < kLines; ++i) line(i).back() = '\n';
  return success();
}

void ActLog::add(std::string_view text) {
  const std::lock_guard guard(mutex_);
  const std::span<char> place = line(count_);
  std::fill(place.begin(), place.end(), ' ');
  fmt::format_to_n(place.data(), place.size() - 1, "{:{}} {}", count_ + 1, kDigits, text);
  place.back() = '\n';
  ++count_;
}

std::uint64_t ActLog::count() const {
  const std::lock_guard guard(mutex_);
  return count_;
}

std::vector<std::string> ActLog::last(std::size_t most) const {
  const std::lock_guard guard(mutex_);
  const std::uint64_t wanted = std::min<std::uint64_t>({count_, most, kLines});
  std::vector<std::string> lines;
  for (std::uint64_t i = count_ - wanted; i < count_; ++i) {
    lines.push_back(text_of({&lines_[i % kLines * kLineBytes], kLineBytes}));
  }
  return lines;
}

std::vector<std::string> ActLog::last_in_file(const std::string& file, std::size_t most) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!without_blanks(line).empty()) lines.push_back(without_blanks(line));
  }
  std::sort(lines.begin(), lines.end());
  if (lines.size() > most) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
  for (std::string& line : lines) line = text_of(line);
  return lines;
}

}  // namespace urnic::nic
