// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/paths/fresh_counters.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tools/runtime/paths/private_folder.h"

// System calls and not the C library's functions of the same name: the program, or a library that it
// preloads, may have taken those.

namespace urnic::paths {
namespace {

constexpr long kPatienceMs = 100;
constexpr long kUsualLifespanMs = 10;
/// Asked at once; when there are more, the next ones follow.
constexpr unsigned kAtOnce = 64;
constexpr const char* kStatusPrefix = "status.";
// Of nic/diagnostics/status_request.h, which this library does not include: it has no C++ library.
constexpr const char* kRequest = "counters";

long now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/// ".../ports/1/counters/NAME" or hw_counters; `port` gets ".../ports/1".
bool is_counter(const char* path, char (&port)[PATH_MAX]) {
  if (strlen(path) >= sizeof(port) || strstr(path, "/ports/") == nullptr) return false;
  strcpy(port, path);
  char* const name = strrchr(port, '/');
  *name = '\0';
  char* const folder = strrchr(port, '/');
  if (folder == nullptr || strcmp(name + 1, "lifespan") == 0) return false;
  if (strcmp(folder, "/counters") != 0 && strcmp(folder, "/hw_counters") != 0) return false;
  *folder = '\0';
  return true;
}

long lifespan_ms(const char* port) {
  char file[PATH_MAX + 32];
  char text[32] = {};
  snprintf(file, sizeof(file), "%s/hw_counters/lifespan", port);
  const long descriptor = syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return kUsualLifespanMs;
  const long length = syscall(SYS_read, descriptor, text, sizeof(text) - 1);
  syscall(SYS_close, descriptor);
  char* end = text;
  const long value = strtol(text, &end, 10);
  return length > 0 && end != text && value >= 0 ? value : kUsualLifespanMs;
}

/// A socket whose program has been asked; -1: no program listens there, or too many ask it.
int ask(int folder, const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // Short, however long the folder's path is.
  const int written =
      snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder, name);
  if (written < 0 || static_cast<size_t>(written) >= sizeof(address.sun_path)) return -1;
  const int asked =
      static_cast<int>(syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (asked < 0) return -1;
  const bool is_sent = syscall(SYS_connect, asked, &address, sizeof(address)) == 0 &&
                       syscall(SYS_sendto, asked, kRequest, strlen(kRequest), MSG_NOSIGNAL, nullptr, 0) >= 0;
  if (is_sent) {
    syscall(SYS_shutdown, asked, SHUT_WR);
    return asked;
  }
  syscall(SYS_close, asked);
  return -1;
}

/// What they say is not read: their counters are written down before they begin. Closes them.
void wait_for(pollfd* asked, unsigned count, long end_ms) {
  for (unsigned waiting = count; waiting > 0;) {
    const long left = end_ms - now_ms();
    if (left <= 0) break;
    const timespec most{.tv_sec = 0, .tv_nsec = left * 1000000};
    if (syscall(SYS_ppoll, asked, count, &most, nullptr, 0) <= 0 && errno != EINTR) break;
    for (unsigned i = 0; i < count; ++i) {
      if (asked[i].fd < 0 || asked[i].revents == 0) continue;
      syscall(SYS_close, asked[i].fd);
      asked[i].fd = -1;
      --waiting;
    }
  }
  for (unsigned i = 0; i < count; ++i) {
    if (asked[i].fd >= 0) syscall(SYS_close, asked[i].fd);
  }
}

void ask_all(const char* folder) {
  const long end_ms = now_ms() + kPatienceMs;
  const long opened = syscall(SYS_openat, AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return;
  const int descriptor = static_cast<int>(opened);
  pollfd asked[kAtOnce];
  unsigned count = 0;
  alignas(dirent64) char entries[4096];
  for (;;) {
    const long length = syscall(SYS_getdents64, descriptor, entries, sizeof(entries));
    if (length <= 0) break;
    for (long at = 0; at < length;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      if (strncmp(entry->d_name, kStatusPrefix, strlen(kStatusPrefix)) != 0) continue;
      const int socket = ask(descriptor, entry->d_name);
      if (socket < 0) continue;
      asked[count++] = {.fd = socket, .events = POLLIN, .revents = 0};
      if (count < kAtOnce) continue;
      wait_for(asked, count, end_ms);
      count = 0;
    }
  }
  wait_for(asked, count, end_ms);
  syscall(SYS_close, descriptor);
}

}  // namespace

void refresh_counters(const char* path) {
  static std::atomic<long> refreshed_ms{LONG_MIN / 2};
  char port[PATH_MAX];
  if (!is_counter(path, port)) return;
  const int before = errno;
  if (now_ms() - refreshed_ms.load(std::memory_order_relaxed) >= lifespan_ms(port)) {
    // FOLDER/paths/PROCESS is the private one.
    char folder[PATH_MAX];
    if (snprintf(folder, sizeof(folder), "%s/../..", private_folder()) < static_cast<int>(sizeof(folder))) {
      ask_all(folder);
    }
    refreshed_ms.store(now_ms(), std::memory_order_relaxed);
  }
  errno = before;
}

}  // namespace urnic::paths
