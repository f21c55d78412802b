// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Shows programs the files of an RDMA device that the kernel would show them: a program that looks at a path
// of shown_path.h gets what stands in a private folder instead ($URNIC_PATHS, made by `urnic run`; see
// device_files.h).
//
// Some programs look there without asking libibverbs: UCX takes no device without a node in /dev/infiniband,
// NCCL wants to know the types of GIDs. This library has to be preloaded, because plugins find the C library
// before anything that they bring along. Here are the functions of one path; listing.cc has those that list
// folders, walk.cc those that walk through trees.
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "tools/runtime/paths/next_function.h"
#include "tools/runtime/paths/private_folder.h"
#include "tools/runtime/paths/rdma_cm_node.h"
#include "tools/runtime/paths/shown_path.h"

namespace urnic::paths {
namespace {

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
using urnic::paths::move_to_shown;
using urnic::paths::next;
using urnic::paths::open_rdma_cm_node;
using urnic::paths::refuse;
using urnic::paths::ShownPath;

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
    const ShownPath there(path);                                           \
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
    const ShownPath there(folder, path);                                        \
    if (!there.permits(flags)) return refuse();                                 \
    return original(folder, there, flags, mode);                                \
  }

#define REDIRECT_OPEN_2(name)                                         \
  EXPORT int name(const char* path, int flags) {                      \
    static auto* const original = next<int(const char*, int)>(#name); \
    if (is_rdma_cm_node(path)) return open_rdma_cm_node(flags);       \
    const ShownPath there(path);                                      \
    if (!there.permits(flags)) return refuse();                       \
    return original(there, flags);                                    \
  }
#define REDIRECT_OPENAT_2(name)                                            \
  EXPORT int name(int folder, const char* path, int flags) {               \
    static auto* const original = next<int(int, const char*, int)>(#name); \
    if (is_rdma_cm_node(path)) return open_rdma_cm_node(flags);            \
    const ShownPath there(folder, path);                                   \
    if (!there.permits(flags)) return refuse();                            \
    return original(folder, there, flags);                                 \
  }

#define REDIRECT_FOPEN(name)                                                    \
  EXPORT FILE* name(const char* path, const char* mode) {                       \
    static auto* const original = next<FILE*(const char*, const char*)>(#name); \
    const ShownPath there(path);                                                \
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
REDIRECT(int, access, (const char* path, int mode), ShownPath(path), mode)
REDIRECT(int, faccessat, (int folder, const char* path, int mode, int flags), folder, ShownPath(folder, path),
         mode, flags)
REDIRECT(int, euidaccess, (const char* path, int mode), ShownPath(path), mode)
REDIRECT(int, eaccess, (const char* path, int mode), ShownPath(path), mode)
REDIRECT(int, stat, (const char* path, struct stat* to), ShownPath(path), to)
REDIRECT(int, stat64, (const char* path, struct stat64* to), ShownPath(path), to)
REDIRECT(int, lstat, (const char* path, struct stat* to), ShownPath(path), to)
REDIRECT(int, lstat64, (const char* path, struct stat64* to), ShownPath(path), to)
REDIRECT(int, fstatat, (int folder, const char* path, struct stat* to, int flags), folder,
         ShownPath(folder, path), to, flags)
REDIRECT(int, fstatat64, (int folder, const char* path, struct stat64* to, int flags), folder,
         ShownPath(folder, path), to, flags)
REDIRECT(int, statx, (int folder, const char* path, int flags, unsigned mask, struct statx* to), folder,
         ShownPath(folder, path), flags, mask, to)
REDIRECT(ssize_t, getxattr, (const char* path, const char* name, void* to, size_t size), ShownPath(path),
         name, to, size)
REDIRECT(ssize_t, lgetxattr, (const char* path, const char* name, void* to, size_t size), ShownPath(path),
         name, to, size)
REDIRECT(ssize_t, listxattr, (const char* path, char* to, size_t size), ShownPath(path), to, size)
REDIRECT(ssize_t, llistxattr, (const char* path, char* to, size_t size), ShownPath(path), to, size)
REDIRECT(ssize_t, readlink, (const char* path, char* to, size_t size), ShownPath(path), to, size)
REDIRECT(ssize_t, __readlink_chk, (const char* path, char* to, size_t size, size_t room), ShownPath(path), to,
         size, room)
REDIRECT(ssize_t, readlinkat, (int folder, const char* path, char* to, size_t size), folder,
         ShownPath(folder, path), to, size)
REDIRECT(ssize_t, __readlinkat_chk, (int folder, const char* path, char* to, size_t size, size_t room),
         folder, ShownPath(folder, path), to, size, room)
REDIRECT(int, inotify_add_watch, (int watch, const char* path, uint32_t mask), watch, ShownPath(path), mask)
// What stat was before glibc 2.33, in programs from then.
REDIRECT(int, __xstat, (int version, const char* path, struct stat* to), version, ShownPath(path), to)
REDIRECT(int, __xstat64, (int version, const char* path, struct stat64* to), version, ShownPath(path), to)
REDIRECT(int, __lxstat, (int version, const char* path, struct stat* to), version, ShownPath(path), to)
REDIRECT(int, __lxstat64, (int version, const char* path, struct stat64* to), version, ShownPath(path), to)
REDIRECT(int, __fxstatat, (int version, int folder, const char* path, struct stat* to, int flags), version,
         folder, ShownPath(folder, path), to, flags)
REDIRECT(int, __fxstatat64, (int version, int folder, const char* path, struct stat64* to, int flags),
         version, folder, ShownPath(folder, path), to, flags)

// --- For `urnic run` inside of `urnic run` ---

EXPORT void urnic_paths_show_nothing() {
  urnic::paths::shows_nothing.store(true);
}

// --- A path that the kernel says ---

/// A function that goes to a path and may return one.
#define REDIRECT_TO_PATH(name, parameters, ...)                   \
  EXPORT char* name parameters {                                  \
    static auto* const original = next<char * parameters>(#name); \
    return move_to_shown(original(__VA_ARGS__));                  \
  }

REDIRECT_TO_PATH(realpath, (const char* path, char* to), ShownPath(path), to)
REDIRECT_TO_PATH(__realpath_chk, (const char* path, char* to, size_t size), ShownPath(path), to, size)
REDIRECT_TO_PATH(canonicalize_file_name, (const char* path), ShownPath(path))

// --- The working folder ---

REDIRECT(int, chdir, (const char* path), ShownPath(path))
REDIRECT_TO_PATH(getcwd, (char* to, size_t size), to, size)
REDIRECT_TO_PATH(__getcwd_chk, (char* to, size_t size, size_t room), to, size, room)
REDIRECT_TO_PATH(getwd, (char* to), to)
REDIRECT_TO_PATH(__getwd_chk, (char* to, size_t room), to, room)
REDIRECT_TO_PATH(get_current_dir_name, (), )
