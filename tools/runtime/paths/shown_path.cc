// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/paths/shown_path.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tools/runtime/paths/as_given.h"
#include "tools/runtime/paths/fresh_counters.h"
#include "tools/runtime/paths/private_folder.h"

// System calls and not the C library's functions of the same name, which this library redirects.

namespace urnic::paths {
namespace {

/// The folder above, and the name in it.
struct Shown {
  const char* above;
  const char* name;
};

/// Below the private folder, a link to the bus below /sys/devices on which the device stands.
constexpr const char* kBusLink = "bus";
constexpr const char* kDevices = "/sys/devices";

/// "pci7572:00"; "" when there is none. Read once.
const char* bus_name() {
  static char name[64];
  static const bool is_read = [] {
    char file[PATH_MAX];
    char target[sizeof(name) + 32];
    const int written = snprintf(file, sizeof(file), "%s/%s", private_folder(), kBusLink);
    if (written < 0 || static_cast<size_t>(written) >= sizeof(file)) return true;
    const long length = syscall(SYS_readlinkat, AT_FDCWD, file, target, sizeof(target) - 1);
    if (length <= 0) return true;
    target[length] = '\0';
    const char* const last = strrchr(target, '/');
    if (last != nullptr && strlen(last + 1) < sizeof(name)) strcpy(name, last + 1);
    return true;
  }();
  static_cast<void>(is_read);
  return name;
}

constexpr Shown kShown[] = {{"/sys/class", "infiniband"},
                            {"/sys/class", "infiniband_verbs"},
                            {"/sys/kernel/debug", "mlx5"},
                            {"/dev", "infiniband"}};
constexpr unsigned kShownCount = sizeof(kShown) / sizeof(kShown[0]);

/// One more than kShown has: the bus.
Shown shown_at(unsigned index) {
  return index < kShownCount ? kShown[index] : Shown{kDevices, bus_name()};
}

/// Where `path` goes on after `prefix`, which ends there or before a slash; null: it does not begin so.
const char* after(const char* path, const char* prefix) {
  const size_t length = strlen(prefix);
  const bool begins = strncmp(path, prefix, length) == 0 && (path[length] == '/' || path[length] == '\0');
  return begins ? path + length : nullptr;
}

bool is_there(const char* path) {
  struct stat status;
  const int before = errno;
  const bool is = syscall(SYS_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
  errno = before;
  return is;
}

bool join(char (&to)[PATH_MAX], const char* first, const char* second) {
  const int written = snprintf(to, sizeof(to), "%s%s", first, second);
  return written > 0 && static_cast<size_t>(written) < sizeof(to);
}

/// "/sys/class/net/INTERFACE/device/infiniband", where the private folder has it.
bool is_way_back(const char* path) {
  constexpr const char* kInterfaces = "/sys/class/net/";
  constexpr const char* kWay = "/device/infiniband";
  if (strncmp(path, kInterfaces, strlen(kInterfaces)) != 0) return false;
  const char* const way = strstr(path, kWay);
  if (way == nullptr) return false;
  const char* const end = way + strlen(kWay);
  char at[PATH_MAX];
  if ((*end != '/' && *end != '\0') || !join(at, private_folder(), path)) return false;
  at[strlen(private_folder()) + static_cast<size_t>(end - path)] = '\0';
  return is_there(at);
}

bool is_shown(const char* path) {
  for (unsigned i = 0; i <= kShownCount; ++i) {
    const Shown shown = shown_at(i);
    const char* const rest = after(path, shown.above);
    if (rest == nullptr || rest[0] != '/' || shown.name[0] == '\0') continue;
    if (after(rest + 1, shown.name) != nullptr) return true;
  }
  return is_way_back(path);
}

/// Without doubled slashes and ".", as far as it fits. ".." stays: only the file system knows where it
/// leads.
void simplify(const char* path, char (&to)[PATH_MAX]) {
  size_t length = 0;
  while (*path != '\0' && length < sizeof(to) - 1) {
    if (path[0] == '/' && path[1] == '/') {
      ++path;
    } else if (path[0] == '/' && path[1] == '.' && (path[2] == '/' || (path[2] == '\0' && length > 0))) {
      path += 2;
    } else {
      to[length++] = *path++;
    }
  }
  to[length] = '\0';
}

/// Most paths of most programs end here.
bool may_be_shown(const char* path) {
  if (path[0] == '/') {
    while (path[1] == '/') ++path;
    return strncmp(path, "/sys", 4) == 0 || strncmp(path, "/dev", 4) == 0;
  }
  return strstr(path, "infiniband") != nullptr || strstr(path, "mlx5") != nullptr ||
         (bus_name()[0] != '\0' && strstr(path, bus_name()) != nullptr);
}

}  // namespace

bool path_of(int folder, char (&to)[PATH_MAX]) {
  const int before = errno;
  long length = 0;
  if (folder == AT_FDCWD) {
    length = syscall(SYS_getcwd, to, sizeof(to)) - 1;
  } else {
    char link[32];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
    length = syscall(SYS_readlinkat, AT_FDCWD, link, to, sizeof(to) - 1);
  }
  errno = before;
  if (length <= 0) return false;
  to[length] = '\0';
  return true;
}

ShownPath::ShownPath(int folder, const char* program_path) : path_(as_given(program_path)) {
  if (path_ == nullptr || private_folder() == nullptr || !may_be_shown(path_)) return;
  char whole[PATH_MAX];
  if (path_[0] == '/') {
    simplify(path_, whole);
  } else {
    char above[PATH_MAX];
    char joined[PATH_MAX];
    if (!path_of(folder, above) || as_shown(above) != above) return;
    const int written =
        snprintf(joined, sizeof(joined), "%s/%s", strcmp(above, "/") == 0 ? "" : above, path_);
    if (written <= 0 || static_cast<size_t>(written) >= sizeof(joined)) return;
    simplify(joined, whole);
  }
  // A path that does not fit stays as it is: it does not exist.
  if (!is_shown(whole) || !join(changed_, private_folder(), whole)) return;
  path_ = changed_;
  is_sysfs_ = strncmp(whole, "/sys/", 5) == 0;
}

bool ShownPath::is_writable() const {
  struct stat status;
  return syscall(SYS_newfstatat, AT_FDCWD, path_, &status, 0) == 0 && S_ISREG(status.st_mode) &&
         (status.st_mode & S_IWUSR) != 0;
}

bool ShownPath::permits(int& flags) const {
  if (!is_sysfs_) return true;
  if ((flags & O_ACCMODE) == O_RDONLY) {
    refresh_counters(path_);
    return true;
  }
  if ((flags & O_ACCMODE) == O_RDWR && (flags & O_TRUNC) == 0) return false;
  flags = (flags & ~O_APPEND) | O_TRUNC;
  return is_writable();
}

bool ShownPath::permits(const char* program_mode) const {
  const char* const mode = as_given(program_mode);
  if (!is_sysfs_ || mode == nullptr) return true;
  if (mode[0] == 'r' && strchr(mode, '+') == nullptr) {
    refresh_counters(path_);
    return true;
  }
  return mode[0] == 'w' && is_writable();
}

char* as_shown(char* path) {
  const char* const folder = private_folder();
  if (folder == nullptr || path == nullptr) return path;
  const char* const rest = after(path, folder);
  if (rest == nullptr || (after(rest, "/sys") == nullptr && after(rest, "/dev") == nullptr)) return path;
  return path + (rest - path);
}

char* move_to_shown(char* path) {
  char* const shown = as_shown(path);
  if (shown != path) memmove(path, shown, strlen(shown) + 1);
  return path;
}

const char* additional_entry(const char* folder, unsigned n) {
  if (private_folder() == nullptr) return nullptr;
  for (unsigned i = 0; i <= kShownCount; ++i) {
    const Shown shown = shown_at(i);
    if (strcmp(folder, shown.above) != 0 || shown.name[0] == '\0') continue;
    char there[PATH_MAX];
    char ours[PATH_MAX];
    const int written = snprintf(there, sizeof(there), "%s/%s", shown.above, shown.name);
    if (written <= 0 || static_cast<size_t>(written) >= sizeof(there)) continue;
    if (is_there(there) || !join(ours, private_folder(), there) || !is_there(ours)) continue;
    if (n-- == 0) return shown.name;
  }
  return nullptr;
}

}  // namespace urnic::paths
