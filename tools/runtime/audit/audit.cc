// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Has the dynamic linker take urnic's libibverbs whatever name a program has for it (rtld-audit(7)). `urnic
// run` names this library in LD_AUDIT.
//
// LD_LIBRARY_PATH alone reaches programs that say "libibverbs.so.1" and let the dynamic linker search. It
// does not reach those with a DT_RPATH, which comes first (conda, Spack), those that a wrapper gives a folder
// of its own in front (cargo), those that open the library by its path, and Python wheels, which bring a
// renamed copy along: libibverbs-1de1263b.so.1.
//
// Without any other library, the C library included: the dynamic linker would load a second one of it beside
// the program's, into each process, and valgrind takes the one's memory for the other's.
#include <limits.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

#include "tools/runtime/audit/library_name.h"

namespace urnic::audit {
namespace {

constexpr const char* kOwnName = "liburnic_audit.so";
constexpr const char* kDropinName = "libibverbs.so.1";

/// The path of the drop-in, which lies beside this library; empty if LD_AUDIT does not say where that is, or
/// it is too long.
char dropin[PATH_MAX];

void set_dropin(const char* folder, std::size_t length) {
  std::size_t end = 0;
  for (; end < length; ++end) dropin[end] = folder[end];
  for (const char* name = kDropinName; *name != '\0'; ++name) dropin[end++] = *name;
  dropin[end] = '\0';
}

/// `list` is the value of LD_AUDIT: files, with colons between.
void find_dropin(const char* list) {
  constexpr std::size_t kLongestFolder = PATH_MAX - 16;
  for (const char* begin = list; *begin != '\0';) {
    const char* end = begin;
    const char* name = begin;
    for (; *end != '\0' && *end != ':'; ++end) {
      if (*end == '/') name = end + 1;
    }
    const auto folder_length = static_cast<std::size_t>(name - begin);
    if (rest_after(name, kOwnName) == end && folder_length <= kLongestFolder) {
      return set_dropin(begin, folder_length);
    }
    begin = *end == ':' ? end + 1 : end;
  }
}

/// glibc gives a library's constructors what main() gets. They run before la_version().
[[gnu::constructor]] void read_environment(int, char**, char** environment) {
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    if (const char* const list = rest_after(*entry, "LD_AUDIT=")) return find_dropin(list);
  }
}

}  // namespace
}  // namespace urnic::audit

extern "C" {

[[gnu::visibility("default")]] unsigned int la_version(unsigned int version) {
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/// Where to look for a library that something loads: by the name that it has for it, and then, if it is one
/// to search for, by each path that this may be. The first is enough.
[[gnu::visibility("default")]] char* la_objsearch(const char* name, std::uintptr_t*, unsigned int flag) {
  const bool is_ours = flag == LA_SER_ORIG && urnic::audit::is_libibverbs(name);
  return is_ours && urnic::audit::dropin[0] != '\0' ? urnic::audit::dropin : const_cast<char*>(name);
}

}  // extern "C"
