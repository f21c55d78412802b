// Shows programs the files of an RDMA device that the kernel would show them: a program that looks below the
// folders in the table gets what stands in a private folder instead ($URNIC_PATHS, made by `urnic run`; see
// path_tree.h).
//
// Some programs look there without asking libibverbs: UCX takes no device without a node in /dev/infiniband,
// NCCL wants to know the types of GIDs. This library has to be preloaded, because plugins find the C library
// before anything that they bring along.
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "tools/runtime/paths/as_given.h"
#include "tools/runtime/paths/next_function.h"
#include "tools/runtime/paths/private_folder.h"
#include "tools/runtime/paths/rdma_cm_node.h"

namespace urnic::paths {
namespace {

constexpr const char* kFolders[] = {"/sys/class/infiniband", "/sys/class/infiniband_verbs",
                                    "/sys/kernel/debug/mlx5", "/dev/infiniband"};

/// A path as the program gives it, and the one that it gets.
class Redirected {
 public:
  explicit Redirected(const char* program_path) : path_(as_given(program_path)) {
    const char* const path = path_;
    if (path == nullptr || path[0] != '/' || private_folder() == nullptr) return;
    for (const char* const folder : kFolders) {
      const size_t length = strlen(folder);
      const bool is_inside =
          strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
      if (!is_inside) continue;
      // A path that does not fit stays as it is: it does not exist.
      const int written = snprintf(changed_, sizeof(changed_), "%s%s", private_folder(), path);
      if (written > 0 && static_cast<size_t>(written) < sizeof(changed_)) path_ = changed_;
      is_sysfs_ = strncmp(path, "/sys/", 5) == 0;
      return;
    }
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

  operator const char*() const { return path_; }

  /// What opening a file of the device below /sys comes to. Sysfs lets not even root open a file for writing
  /// that has no mode for it, and makes no new one, where plain files would. What is written is the whole
  /// value there, and so it is here: the old one goes. A program that reads and writes through one descriptor
  /// would mix the two, and is refused.
  bool permits(int& flags) const {
    if (!is_sysfs_ || (flags & O_ACCMODE) == O_RDONLY) return true;
    if ((flags & O_ACCMODE) == O_RDWR && (flags & O_TRUNC) == 0) return false;
    flags = (flags & ~O_APPEND) | O_TRUNC;
    return is_writable();
  }
  /// The same of fopen(3).
  bool permits(const char* program_mode) const {
    const char* const mode = as_given(program_mode);
    if (!is_sysfs_ || mode == nullptr || (mode[0] == 'r' && strchr(mode, '+') == nullptr)) return true;
    return mode[0] == 'w' && is_writable();
  }

 private:
  bool is_writable() const {
    struct stat status;
    return stat(path_, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & S_IWUSR) != 0;
  }

  const char* path_;
  bool is_sysfs_ = false;
  char changed_[PATH_MAX];
};

/// The third argument of open(2), which is there only when a file may be made.
mode_t mode_in(int flags, va_list arguments) {
  const bool makes_file = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return makes_file ? va_arg(arguments, mode_t) : 0;
}

/// What open(2) says of a file that may not be written.
int refuse() {
  errno = EACCES;
  return -1;
}

}  // namespace
}  // namespace urnic::paths

using urnic::paths::is_rdma_cm_node;
using urnic::paths::mode_in;
using urnic::paths::next;
using urnic::paths::open_rdma_cm_node;
using urnic::paths::Redirected;
using urnic::paths::refuse;

/// A function of one path, whose other arguments are passed on.
#define REDIRECT(result, name, parameters, ...)                   \
  EXPORT result name parameters {                                 \
    static auto* const original = next<result parameters>(#name); \
    return original(__VA_ARGS__);                                 \
  }

#define REDIRECT_OPEN(name)                                                \
  EXPORT int name(const char* path, int flags, ...) {                      \
    static auto* const original = next<int(const char*, int, ...)>(#name); \
    va_list arguments;                                                     \
    va_start(arguments, flags);                                            \
    const mode_t mode = mode_in(flags, arguments);                         \
    va_end(arguments);                                                     \
    if (is_rdma_cm_node(path)) return open_rdma_cm_node(flags);            \
    const Redirected there(path);                                          \
    if (!there.permits(flags)) return refuse();                            \
    return original(there, flags, mode);                                   \
  }
#define REDIRECT_OPENAT(name)                                                   \
  EXPORT int name(int folder, const char* path, int flags, ...) {               \
    static auto* const original = next<int(int, const char*, int, ...)>(#name); \
    va_list arguments;                                                          \
    va_start(arguments, flags);                                                 \
    const mode_t mode = mode_in(flags, arguments);                              \
    va_end(arguments);                                                          \
    if (is_rdma_cm_node(path)) return open_rdma_cm_node(flags);                 \
    const Redirected there(path);                                               \
    if (!there.permits(flags)) return refuse();                                 \
    return original(folder, there, flags, mode);                                \
  }

#define REDIRECT_OPEN_2(name)                                         \
  EXPORT int name(const char* path, int flags) {                      \
    static auto* const original = next<int(const char*, int)>(#name); \
    if (is_rdma_cm_node(path)) return open_rdma_cm_node(flags);       \
    const Redirected there(path);                                     \
    if (!there.permits(flags)) return refuse();                       \
    return original(there, flags);                                    \
  }
#define REDIRECT_OPENAT_2(name)                                            \
  EXPORT int name(int folder, const char* path, int flags) {               \
    static auto* const original = next<int(int, const char*, int)>(#name); \
    if (is_rdma_cm_node(path)) return open_rdma_cm_node(flags);            \
    const Redirected there(path);                                          \
    if (!there.permits(flags)) return refuse();                            \
    return original(folder, there, flags);                                 \
  }

#define REDIRECT_FOPEN(name)                                                    \
  EXPORT FILE* name(const char* path, const char* mode) {                       \
    static auto* const original = next<FILE*(const char*, const char*)>(#name); \
    const Redirected there(path);                                               \
    if (there.permits(mode)) return original(there, mode);                      \
    refuse();                                                                   \
    return nullptr;                                                             \
  }

REDIRECT_OPEN(open)
REDIRECT_OPEN(open64)
REDIRECT_OPENAT(openat)
REDIRECT_OPENAT(openat64)
// What open becomes in programs that are compiled with _FORTIFY_SOURCE.
REDIRECT_OPEN_2(__open_2)
REDIRECT_OPEN_2(__open64_2)
REDIRECT_OPENAT_2(__openat_2)
REDIRECT_OPENAT_2(__openat64_2)
REDIRECT_FOPEN(fopen)
REDIRECT_FOPEN(fopen64)
REDIRECT(DIR*, opendir, (const char* path), Redirected(path))
REDIRECT(int, access, (const char* path, int mode), Redirected(path), mode)
REDIRECT(int, faccessat, (int folder, const char* path, int mode, int flags), folder, Redirected(path), mode,
         flags)
REDIRECT(int, euidaccess, (const char* path, int mode), Redirected(path), mode)
REDIRECT(int, stat, (const char* path, struct stat* to), Redirected(path), to)
REDIRECT(int, stat64, (const char* path, struct stat64* to), Redirected(path), to)
REDIRECT(int, lstat, (const char* path, struct stat* to), Redirected(path), to)
REDIRECT(int, lstat64, (const char* path, struct stat64* to), Redirected(path), to)
REDIRECT(int, fstatat, (int folder, const char* path, struct stat* to, int flags), folder, Redirected(path),
         to, flags)
REDIRECT(int, fstatat64, (int folder, const char* path, struct stat64* to, int flags), folder,
         Redirected(path), to, flags)
REDIRECT(int, statx, (int folder, const char* path, int flags, unsigned mask, struct statx* to), folder,
         Redirected(path), flags, mask, to)
REDIRECT(ssize_t, getxattr, (const char* path, const char* name, void* to, size_t size), Redirected(path),
         name, to, size)
REDIRECT(ssize_t, lgetxattr, (const char* path, const char* name, void* to, size_t size), Redirected(path),
         name, to, size)
REDIRECT(ssize_t, listxattr, (const char* path, char* to, size_t size), Redirected(path), to, size)
REDIRECT(ssize_t, llistxattr, (const char* path, char* to, size_t size), Redirected(path), to, size)
REDIRECT(ssize_t, readlink, (const char* path, char* to, size_t size), Redirected(path), to, size)
REDIRECT(ssize_t, readlinkat, (int folder, const char* path, char* to, size_t size), folder, Redirected(path),
         to, size)
REDIRECT(char*, realpath, (const char* path, char* to), Redirected(path), to)
REDIRECT(char*, __realpath_chk, (const char* path, char* to, size_t size), Redirected(path), to, size)
REDIRECT(char*, canonicalize_file_name, (const char* path), Redirected(path))
// What stat was before glibc 2.33, in programs from then.
REDIRECT(int, __xstat, (int version, const char* path, struct stat* to), version, Redirected(path), to)
REDIRECT(int, __xstat64, (int version, const char* path, struct stat64* to), version, Redirected(path), to)
REDIRECT(int, __lxstat, (int version, const char* path, struct stat* to), version, Redirected(path), to)
REDIRECT(int, __lxstat64, (int version, const char* path, struct stat64* to), version, Redirected(path), to)
