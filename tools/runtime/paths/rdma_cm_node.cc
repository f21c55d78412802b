// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The distribution's librdmacm opens the node, looks whether it is a character device, writes commands to it,
// and closes it: here it gets a descriptor of the drop-in library (verbs_api/rdma_cm/entry_points.h), which
// carries the commands out.
//
// All that a program writes and closes goes through these functions. Until the first channel is opened they
// cost one look at a pointer; for other descriptors they are as safe in signal handlers as the C library's
// functions.
#include "tools/runtime/paths/rdma_cm_node.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tools/runtime/paths/as_given.h"
#include "tools/runtime/paths/next_function.h"
#include "tools/runtime/paths/private_folder.h"
#include "tools/runtime/paths/rdma_netlink.h"

namespace urnic::paths {
namespace {

// --- The drop-in library's side ---

struct RdmaCm {
  int (*open)(int flags);
  int (*owns)(int descriptor);
  ssize_t (*write)(int descriptor, const void* bytes, size_t size, int* handled);
  void (*close)(int descriptor);
};

/// Null until a channel is opened.
std::atomic<const RdmaCm*> rdma_cm{nullptr};

/// Null when the program's libibverbs is another.
const RdmaCm* find_rdma_cm() {
  static RdmaCm functions;
  static const bool is_there = [] {
    // librdmacm has it already; a plugin's is not in sight of RTLD_DEFAULT.
    void* const library = dlopen("libibverbs.so.1", RTLD_LAZY);
    return library != nullptr && find(library, "urnic_rdma_cm_open", functions.open) &&
           find(library, "urnic_rdma_cm_owns", functions.owns) &&
           find(library, "urnic_rdma_cm_write", functions.write) &&
           find(library, "urnic_rdma_cm_close", functions.close);
  }();
  return is_there ? &functions : nullptr;
}

// --- The C library's ---

struct Originals {
  ssize_t (*write)(int, const void*, size_t);
  int (*close)(int);
  int (*fstat)(int, struct stat*);
  int (*fstat64)(int, struct stat64*);
  int (*fxstat)(int, int, struct stat*);
  int (*fxstat64)(int, int, struct stat64*);
};

Originals originals;

/// When the library is loaded: not in a signal handler.
[[gnu::constructor(101)]] void look_up_originals() {
  originals = {.write = next<ssize_t(int, const void*, size_t)>("write"),
               .close = next<int(int)>("close"),
               .fstat = next<int(int, struct stat*)>("fstat"),
               .fstat64 = next<int(int, struct stat64*)>("fstat64"),
               .fxstat = next<int(int, int, struct stat*)>("__fxstat"),
               .fxstat64 = next<int(int, int, struct stat64*)>("__fxstat64")};
}

const Originals& original() {
  // What the constructors of other libraries call may come before ours.
  if (originals.write == nullptr) look_up_originals();
  return originals;
}

// --- What the node looks like ---

/// Whether it is a channel.
bool is_ours(int descriptor) {
  const RdmaCm* const functions = rdma_cm.load(std::memory_order_acquire);
  return functions != nullptr && functions->owns(descriptor) != 0;
}

/// Returns `result` after making a character device of `shown` if it describes a channel.
template <typename Stat>
int show_node(int result, int descriptor, Stat* shown) {
  if (result != 0 || !is_ours(descriptor)) return result;
  constexpr mode_t kAllMayReadAndWrite = 0666;
  shown->st_mode = S_IFCHR | kAllMayReadAndWrite;
  const int before = errno;
  shown->st_rdev = rdma_cm_device();
  errno = before;
  return result;
}

}  // namespace

// librdmacm asks for it, the kernel or by netlink, and compares.
dev_t rdma_cm_device() {
  constexpr unsigned kMiscellaneous = 10;
  constexpr unsigned kNoMinor = 255;
  static const dev_t number = [] {
    unsigned major_number = kMiscellaneous;
    unsigned minor_number = kNoMinor;
    char text[32] = {};
    const int file = open("/sys/class/misc/rdma_cm/dev", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
      const ssize_t length = read(file, text, sizeof(text) - 1);
      close(file);
      if (length <= 0 || sscanf(text, "%u:%u", &major_number, &minor_number) != 2) {
        return makedev(kMiscellaneous, kNoMinor);
      }
    }
    return makedev(major_number, minor_number);
  }();
  return number;
}

bool is_rdma_cm_node(const char* program_path) {
  const char* const path = as_given(program_path);
  return private_folder() != nullptr && path != nullptr && strcmp(path, "/dev/infiniband/rdma_cm") == 0;
}

int open_rdma_cm_node(int flags) {
  const RdmaCm* const functions = find_rdma_cm();
  if (functions == nullptr) {
    errno = ENODEV;
    return -1;
  }
  rdma_cm.store(functions, std::memory_order_release);
  return functions->open(flags);
}

}  // namespace urnic::paths

using urnic::paths::close_rdma_netlink;
using urnic::paths::original;
using urnic::paths::rdma_cm;
using urnic::paths::show_node;
using urnic::paths::write_rdma_netlink;

EXPORT ssize_t write(int descriptor, const void* bytes, size_t size) {
  if (const auto* const functions = rdma_cm.load(std::memory_order_acquire); functions != nullptr) {
    int handled = 0;
    const ssize_t written = functions->write(descriptor, bytes, size, &handled);
    if (handled != 0) return written;
  }
  if (ssize_t written = 0; write_rdma_netlink(descriptor, bytes, size, written)) return written;
  return original().write(descriptor, bytes, size);
}

EXPORT int close(int descriptor) {
  if (const auto* const functions = rdma_cm.load(std::memory_order_acquire); functions != nullptr) {
    functions->close(descriptor);
  }
  close_rdma_netlink(descriptor);
  return original().close(descriptor);
}

EXPORT int fstat(int descriptor, struct stat* to) {
  return show_node(original().fstat(descriptor, to), descriptor, to);
}
EXPORT int fstat64(int descriptor, struct stat64* to) {
  return show_node(original().fstat64(descriptor, to), descriptor, to);
}
// What fstat was before glibc 2.33, in programs from then.
EXPORT int __fxstat(int version, int descriptor, struct stat* to) {
  return show_node(original().fxstat(version, descriptor, to), descriptor, to);
}
EXPORT int __fxstat64(int version, int descriptor, struct stat64* to) {
  return show_node(original().fxstat64(version, descriptor, to), descriptor, to);
}
