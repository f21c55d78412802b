// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/process/sleeping_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "nic/process/descriptor.h"

namespace urnic::nic {
namespace {

constexpr const char* kThreads = "/proc/self/task";

/// proc(5): the state follows the name, which stands in parentheses and may have some itself. A thread that
/// has ended meanwhile has none.
bool sleeps(std::string_view stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= stat.size()) return true;
  const char state = stat[name_end + 2];
  return state == 'S' || state == 'Z' || state == 'X';
}

bool sleeps(const std::string& file) {
  // System calls, because librspreload replaces the functions of the C library.
  const Descriptor open(
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, file.c_str(), O_RDONLY | O_CLOEXEC, 0)));
  std::array<char, 512> text;
  const long bytes = open ? syscall(SYS_read, open.get(), text.data(), text.size()) : 0;
  return sleeps(std::string_view(text.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0));
}

}  // namespace

bool do_other_threads_sleep() {
  const auto close = [](DIR* folder) { closedir(folder); };
  const std::unique_ptr<DIR, decltype(close)> threads(opendir(kThreads), close);
  if (threads == nullptr) return false;
  const std::string own = std::to_string(gettid());
  while (const dirent* const entry = readdir(threads.get())) {
    if (entry->d_name[0] == '.' || own == entry->d_name) continue;
    if (!sleeps(fmt::format("{}/{}/stat", kThreads, entry->d_name))) return false;
  }
  return true;
}

}  // namespace urnic::nic
