// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Functions that list folders. The folders of the system above the device's have these as additional
// entries.
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tools/runtime/paths/as_given.h"
#include "tools/runtime/paths/next_function.h"
#include "tools/runtime/paths/private_folder.h"
#include "tools/runtime/paths/shown_path.h"

namespace urnic::paths {
namespace {

static_assert(sizeof(dirent) == sizeof(dirent64) && sizeof(struct stat) == sizeof(struct stat64) &&
              sizeof(glob_t) == sizeof(glob64_t));  // so one function does for both

/// An open folder with entries in addition to its own.
struct Extended {
  DIR* stream;
  unsigned next;
  char folder[64];
  dirent entry;
  Extended* following;
};

pthread_mutex_t extended_mutex = PTHREAD_MUTEX_INITIALIZER;
Extended* extended = nullptr;
std::atomic<unsigned> extended_count{0};

class Lock {
 public:
  Lock() { pthread_mutex_lock(&extended_mutex); }
  ~Lock() { pthread_mutex_unlock(&extended_mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

/// Under the lock. Most programs have none open.
Extended** find_open(DIR* stream) {
  Extended** at = &extended;
  while (*at != nullptr && (*at)->stream != stream) at = &(*at)->following;
  return at;
}

/// Returns `stream`, which was just opened (null: it was not).
DIR* extend(DIR* stream) {
  if (stream == nullptr || private_folder() == nullptr) return stream;
  char folder[PATH_MAX];
  if (!path_of(dirfd(stream), folder) || strlen(folder) >= sizeof(Extended::folder) ||
      additional_entry(folder, 0) == nullptr) {
    return stream;
  }
  const int before = errno;
  if (auto* const added = static_cast<Extended*>(calloc(1, sizeof(Extended))); added != nullptr) {
    added->stream = stream;
    strcpy(added->folder, folder);
    const Lock lock;
    added->following = extended;
    extended = added;
    extended_count.fetch_add(1);
  }
  errno = before;
  return stream;
}

/// After the last entry of the folder itself; null when there is none.
dirent* next_additional(DIR* stream) {
  const Lock lock;
  Extended* const open = *find_open(stream);
  if (open == nullptr) return nullptr;
  const char* const name = additional_entry(open->folder, open->next);
  if (name == nullptr) return nullptr;
  ++open->next;
  open->entry = {};
  open->entry.d_ino = 1 + open->next;  // 0 would be no entry
  open->entry.d_type = DT_DIR;
  open->entry.d_reclen = sizeof(dirent);
  strcpy(open->entry.d_name, name);
  return &open->entry;
}

DIR* open_folder(const char* path) {
  static auto* const original = next<DIR*(const char*)>("opendir");
  return extend(original(ShownPath(path)));
}

dirent* read_folder(DIR* stream) {
  static auto* const original = next<dirent*(DIR*)>("readdir");
  if (extended_count.load(std::memory_order_relaxed) == 0) return original(stream);
  const int before = errno;
  errno = 0;
  dirent* const entry = original(stream);
  if (entry == nullptr && errno != 0) return nullptr;
  errno = before;
  return entry != nullptr ? entry : next_additional(stream);
}

int close_folder(DIR* stream) {
  static auto* const original = next<int(DIR*)>("closedir");
  if (extended_count.load(std::memory_order_relaxed) != 0) {
    const Lock lock;
    Extended** const at = find_open(stream);
    if (Extended* const gone = *at; gone != nullptr) {
      *at = gone->following;
      extended_count.fetch_sub(1);
      free(gone);
    }
  }
  return original(stream);
}

// --- scandir ---

using Filter = int(const dirent*);
using Compare = int(const dirent**, const dirent**);

void free_all(dirent** names, size_t count) {
  for (size_t i = 0; i < count; ++i) free(names[i]);
  free(names);
}

/// scandir(3) of a folder with additional entries, which the C library's does not see.
int scan(DIR* stream, dirent*** to, Filter* filter, Compare* compare) {
  dirent** names = nullptr;
  size_t count = 0;
  for (const dirent* entry = read_folder(stream); entry != nullptr; entry = read_folder(stream)) {
    if (filter != nullptr && filter(entry) == 0) continue;
    auto** const more = static_cast<dirent**>(realloc(names, (count + 1) * sizeof(dirent*)));
    if (more != nullptr) names = more;
    auto* const copy = more != nullptr ? static_cast<dirent*>(malloc(sizeof(dirent))) : nullptr;
    if (copy == nullptr) {
      free_all(names, count);
      close_folder(stream);
      errno = ENOMEM;
      return -1;
    }
    memcpy(copy, entry, entry->d_reclen < sizeof(dirent) ? entry->d_reclen : sizeof(dirent));
    names[count++] = copy;
  }
  close_folder(stream);
  if (compare != nullptr && count > 1) {
    qsort(names, count, sizeof(dirent*), reinterpret_cast<int (*)(const void*, const void*)>(compare));
  }
  *to = names;
  return static_cast<int>(count);
}

bool is_extended(DIR* stream) {
  const Lock lock;
  return *find_open(stream) != nullptr;
}

/// Null, too, when the folder has no additional entries: then the C library's scandir does.
DIR* open_extended(int folder, const char* path) {
  static auto* const open_at = next<int(int, const char*, int, ...)>("openat");
  static auto* const open_stream = next<DIR*(int)>("fdopendir");
  const bool may_be =
      path != nullptr && (path[0] != '/' || strncmp(path, "/sys", 4) == 0 || strncmp(path, "/dev", 4) == 0);
  if (!may_be) return nullptr;
  const int before = errno;
  const int descriptor = open_at(folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const stream = descriptor < 0 ? nullptr : extend(open_stream(descriptor));
  errno = before;
  if (stream == nullptr || is_extended(stream)) return stream;
  close_folder(stream);
  return nullptr;
}

int scan_at(int folder, const char* path, dirent*** to, Filter* filter, Compare* compare) {
  const ShownPath there(folder, path);
  if (!there.is_redirected()) {
    if (DIR* const stream = open_extended(folder, as_given(path)); stream != nullptr) {
      return scan(stream, to, filter, compare);
    }
  }
  static auto* const original = next<int(int, const char*, dirent***, Filter*, Compare*)>("scandirat");
  return original(folder, there, to, filter, compare);
}

// --- glob ---

void* open_for_glob(const char* path) {
  return open_folder(path);
}
void close_for_glob(void* stream) {
  close_folder(static_cast<DIR*>(stream));
}
dirent* read_for_glob(void* stream) {
  return read_folder(static_cast<DIR*>(stream));
}
// The kernel's structure is the C library's on 64 bits.
int stat_for_glob(const char* path, struct stat* to) {
  return static_cast<int>(
      syscall(SYS_newfstatat, AT_FDCWD, static_cast<const char*>(ShownPath(path)), to, 0));
}
int lstat_for_glob(const char* path, struct stat* to) {
  return static_cast<int>(
      syscall(SYS_newfstatat, AT_FDCWD, static_cast<const char*>(ShownPath(path)), to, AT_SYMLINK_NOFOLLOW));
}

using Glob = int(const char*, int, int (*)(const char*, int), glob_t*);

/// The C library's, which takes the functions above where the program brings none along.
int glob_by(Glob* original, const char* program_pattern, int flags, int (*on_error)(const char*, int),
            glob_t* program_found) {
  const char* const pattern = as_given(program_pattern);
  glob_t* const found = as_given(program_found);
  if (pattern == nullptr || found == nullptr || (flags & GLOB_ALTDIRFUNC) != 0) {
    return original(pattern, flags, on_error, found);
  }
  found->gl_opendir = open_for_glob;
  found->gl_closedir = close_for_glob;
  found->gl_readdir = read_for_glob;
  found->gl_stat = stat_for_glob;
  found->gl_lstat = lstat_for_glob;
  const int result = original(pattern, flags | GLOB_ALTDIRFUNC, on_error, found);
  found->gl_flags &= ~GLOB_ALTDIRFUNC;
  return result;
}

}  // namespace
}  // namespace urnic::paths

using urnic::paths::Compare;
using urnic::paths::Filter;
using urnic::paths::Glob;
using urnic::paths::next;
using urnic::paths::scan_at;

EXPORT DIR* opendir(const char* path) {
  return urnic::paths::open_folder(path);
}
EXPORT DIR* fdopendir(int descriptor) {
  static auto* const original = next<DIR*(int)>("fdopendir");
  return urnic::paths::extend(original(descriptor));
}
EXPORT dirent* readdir(DIR* stream) {
  return urnic::paths::read_folder(stream);
}
EXPORT dirent64* readdir64(DIR* stream) {
  return reinterpret_cast<dirent64*>(urnic::paths::read_folder(stream));
}
EXPORT void rewinddir(DIR* stream) {
  static auto* const original = next<void(DIR*)>("rewinddir");
  {
    const urnic::paths::Lock lock;
    if (auto* const open = *urnic::paths::find_open(stream); open != nullptr) open->next = 0;
  }
  original(stream);
}
EXPORT int closedir(DIR* stream) {
  return urnic::paths::close_folder(stream);
}

EXPORT int scandir(const char* path, dirent*** to, Filter* filter, Compare* compare) {
  return scan_at(AT_FDCWD, path, to, filter, compare);
}
EXPORT int scandirat(int folder, const char* path, dirent*** to, Filter* filter, Compare* compare) {
  return scan_at(folder, path, to, filter, compare);
}
EXPORT int scandir64(const char* path, dirent64*** to, int (*filter)(const dirent64*),
                     int (*compare)(const dirent64**, const dirent64**)) {
  return scandir(path, reinterpret_cast<dirent***>(to), reinterpret_cast<Filter*>(filter),
                 reinterpret_cast<Compare*>(compare));
}
EXPORT int scandirat64(int folder, const char* path, dirent64*** to, int (*filter)(const dirent64*),
                       int (*compare)(const dirent64**, const dirent64**)) {
  return scandirat(folder, path, reinterpret_cast<dirent***>(to), reinterpret_cast<Filter*>(filter),
                   reinterpret_cast<Compare*>(compare));
}

EXPORT int glob(const char* pattern, int flags, int (*on_error)(const char*, int), glob_t* found) {
  static auto* const original = next<Glob>("glob");
  return urnic::paths::glob_by(original, pattern, flags, on_error, found);
}
EXPORT int glob64(const char* pattern, int flags, int (*on_error)(const char*, int), glob64_t* found) {
  static auto* const original = next<Glob>("glob64");
  return urnic::paths::glob_by(original, pattern, flags, on_error, reinterpret_cast<glob_t*>(found));
}
