// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/counter_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <thread>
#include <vector>

namespace urnic::nic {
namespace {

/// More than any number takes.
constexpr std::size_t kMostDigits = 32;

}  // namespace

/// Nothing but a plain file is opened, and nothing waits: what stands there may be anything. The files have
/// no mode for writing, as sysfs has them, and those who are not root give it for the time of the opening.
/// Called under the lock.
Descriptor CounterFiles::open(const KernelCounter& counter) const {
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const std::string path = fmt::format("{}/{}", folder_, counter.file);
  const Descriptor reader(::open(path.c_str(), O_RDONLY | kFlags));
  struct stat status {};
  if (!reader || fstat(reader.get(), &status) != 0 || !S_ISREG(status.st_mode)) return Descriptor();
  if (Descriptor writer(::open(path.c_str(), O_RDWR | kFlags)); writer) return writer;
  if (fchmod(reader.get(), status.st_mode | S_IWUSR) != 0) return Descriptor();
  Descriptor writer(::open(path.c_str(), O_RDWR | kFlags));
  fchmod(reader.get(), status.st_mode & ~mode_t{S_IWUSR});
  return writer;
}

/// The lock of the first file is for all of them.
bool CounterFiles::is_locked(const Descriptor& file) const {
  for (int waited_ms = 0; flock(file.get(), LOCK_EX | LOCK_NB) != 0; ++waited_ms) {
    if (waited_ms == kPatienceMs) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// In place: a reader may keep the file open and read it again, as it may in sysfs. A number never gets
/// shorter, so that one write replaces it.
bool CounterFiles::add_to_file(const KernelCounter& counter, std::uint64_t more) const {
  const Descriptor file = open(counter);
  if (!file) return false;
  std::array<char, kMostDigits> text{};
  const ssize_t length = pread(file.get(), text.data(), text.size(), 0);
  if (length < 0) return false;
  std::uint64_t before = 0;
  std::from_chars(text.data(), text.data() + length, before);
  const std::string after = fmt::format("{}\n", before + more);
  return pwrite(file.get(), after.data(), after.size(), 0) == static_cast<ssize_t>(after.size());
}

void CounterFiles::add(const CounterValues& values) {
  const std::lock_guard lock(mutex_);
  struct News {
    const KernelCounter* counter;
    std::uint64_t value;
  };
  std::vector<News> news;
  for (const KernelCounter& counter : counters_) {
    const std::uint64_t value = value_of(counter, values);
    // Less: the port was closed, and with it went what it had counted.
    if (value > added_[&counter]) news.push_back({.counter = &counter, .value = value});
  }
  if (news.empty()) return;
  const Descriptor all =
      Descriptor(::open(fmt::format("{}/{}", folder_, counters_.front().file).c_str(), O_RDONLY | O_CLOEXEC));
  if (!all || !is_locked(all)) return;
  for (const News& each : news) {
    std::uint64_t& added = added_[each.counter];
    if (add_to_file(*each.counter, each.value - added)) added = each.value;
  }
}

}  // namespace urnic::nic
