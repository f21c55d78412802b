// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Functions that walk through a tree by calls inside of the C library, which no library can take: they are
// led to the private folder where they begin, and what they say is put
// right. A walk from a relative path shows paths from the root.
#include <fts.h>
#include <ftw.h>
#include <pthread.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tools/runtime/paths/next_function.h"
#include "tools/runtime/paths/shown_path.h"

namespace urnic::paths {
namespace {

static_assert(sizeof(FTSENT) == sizeof(FTSENT64) && sizeof(struct stat) == sizeof(struct stat64));

// --- ftw, nftw ---

using FtwVisit = int(const char*, const struct stat*, int);
using NftwVisit = int(const char*, const struct stat*, int, FTW*);

/// The program's function, for the walk that this thread is in.
thread_local FtwVisit* ftw_visit = nullptr;
thread_local NftwVisit* nftw_visit = nullptr;

int visit_ftw(const char* path, const struct stat* status, int kind) {
  return ftw_visit(as_shown(const_cast<char*>(path)), status, kind);
}

int visit_nftw(const char* path, const struct stat* status, int kind, FTW* where) {
  const char* const shown = as_shown(const_cast<char*>(path));
  FTW moved = *where;
  moved.base -= static_cast<int>(shown - path);
  return nftw_visit(shown, status, kind, &moved);
}

int walk(const char* name, const char* path, FtwVisit* visit, int descriptors) {
  using Function = int(const char*, FtwVisit*, int);
  Function* const original = next<Function>(name);
  const ShownPath there(path);
  if (!there.is_redirected()) return original(path, visit, descriptors);
  FtwVisit* const outer = ftw_visit;
  ftw_visit = visit;
  const int result = original(there, visit_ftw, descriptors);
  ftw_visit = outer;
  return result;
}

int walk(const char* name, const char* path, NftwVisit* visit, int descriptors, int flags) {
  using Function = int(const char*, NftwVisit*, int, int);
  Function* const original = next<Function>(name);
  const ShownPath there(path);
  if (!there.is_redirected()) return original(path, visit, descriptors, flags);
  NftwVisit* const outer = nftw_visit;
  nftw_visit = visit;
  const int result = original(there, visit_nftw, descriptors, flags);
  nftw_visit = outer;
  return result;
}

// --- fts ---

/// A walk that was led to the private folder, and what was put right in the entry that the program has now:
/// fts itself needs it as it was.
struct Walk {
  FTS* stream;
  FTSENT* entry;
  char* path;
  char* access_path;
  unsigned short path_length;
  Walk* following;
};

pthread_mutex_t walks_mutex = PTHREAD_MUTEX_INITIALIZER;
Walk* walks = nullptr;

class WalksLock {
 public:
  WalksLock() { pthread_mutex_lock(&walks_mutex); }
  ~WalksLock() { pthread_mutex_unlock(&walks_mutex); }
  WalksLock(const WalksLock&) = delete;
  WalksLock& operator=(const WalksLock&) = delete;
};

/// Under the lock.
Walk** find(FTS* stream) {
  Walk** at = &walks;
  while (*at != nullptr && (*at)->stream != stream) at = &(*at)->following;
  return at;
}

Walk* walk_of(FTS* stream) {
  const WalksLock lock;
  return *find(stream);
}

void put_back(Walk* walk) {
  if (walk == nullptr || walk->entry == nullptr) return;
  walk->entry->fts_path = walk->path;
  walk->entry->fts_accpath = walk->access_path;
  walk->entry->fts_pathlen = walk->path_length;
  walk->entry = nullptr;
}

FTSENT* show(Walk* walk, FTSENT* entry) {
  if (walk == nullptr || entry == nullptr) return entry;
  walk->entry = entry;
  walk->path = entry->fts_path;
  walk->access_path = entry->fts_accpath;
  walk->path_length = entry->fts_pathlen;
  entry->fts_path = as_shown(entry->fts_path);
  entry->fts_accpath = as_shown(entry->fts_accpath);
  const auto moved = static_cast<unsigned short>(entry->fts_path - walk->path);
  entry->fts_pathlen = static_cast<unsigned short>(entry->fts_pathlen - moved);
  return entry;
}

using FtsCompare = int(const FTSENT**, const FTSENT**);
using Open = FTS*(char* const*, int, FtsCompare*);
using Read = FTSENT*(FTS*);
using Children = FTSENT*(FTS*, int);
using Close = int(FTS*);

size_t count_of(char* const* paths) {
  size_t count = 0;
  while (paths[count] != nullptr) ++count;
  return count;
}

void free_all(char** paths, size_t count) {
  for (size_t i = 0; i < count; ++i) free(paths[i]);
  free(paths);
}

/// When no path is ours, the walk is the C library's alone.
FTS* open_walk(Open* original, char* const* paths, int options, FtsCompare* compare) {
  const size_t count = count_of(paths);
  auto** const led = static_cast<char**>(calloc(count + 1, sizeof(char*)));
  bool is_redirected = false;
  for (size_t i = 0; led != nullptr && i < count; ++i) {
    const ShownPath there(paths[i]);
    is_redirected = is_redirected || there.is_redirected();
    led[i] = strdup(there);
    if (led[i] == nullptr) is_redirected = false;
  }
  auto* const walk = is_redirected ? static_cast<Walk*>(calloc(1, sizeof(Walk))) : nullptr;
  FTS* const stream = original(walk != nullptr ? led : paths, options, compare);
  const int error = errno;
  if (led != nullptr) free_all(led, count);
  if (stream == nullptr || walk == nullptr) {
    free(walk);
    errno = error;
    return stream;
  }
  walk->stream = stream;
  const WalksLock lock;
  walk->following = walks;
  walks = walk;
  return stream;
}

FTSENT* read_walk(Read* original, FTS* stream) {
  Walk* const walk = walk_of(stream);
  put_back(walk);
  return show(walk, original(stream));
}

/// The list of the children is as fts has it: programs use the names in it.
FTSENT* children_of_walk(Children* original, FTS* stream, int options) {
  put_back(walk_of(stream));
  return original(stream, options);
}

int close_walk(Close* original, FTS* stream) {
  Walk* gone = nullptr;
  {
    const WalksLock lock;
    Walk** const at = find(stream);
    gone = *at;
    if (gone != nullptr) *at = gone->following;
  }
  put_back(gone);
  free(gone);
  return original(stream);
}

}  // namespace
}  // namespace urnic::paths

using urnic::paths::Children;
using urnic::paths::children_of_walk;
using urnic::paths::Close;
using urnic::paths::close_walk;
using urnic::paths::FtsCompare;
using urnic::paths::FtwVisit;
using urnic::paths::next;
using urnic::paths::NftwVisit;
using urnic::paths::Open;
using urnic::paths::open_walk;
using urnic::paths::Read;
using urnic::paths::read_walk;
using urnic::paths::walk;

EXPORT int ftw(const char* path, FtwVisit* visit, int descriptors) {
  return walk("ftw", path, visit, descriptors);
}
EXPORT int ftw64(const char* path, int (*visit)(const char*, const struct stat64*, int), int descriptors) {
  return walk("ftw64", path, reinterpret_cast<FtwVisit*>(visit), descriptors);
}
EXPORT int nftw(const char* path, NftwVisit* visit, int descriptors, int flags) {
  return walk("nftw", path, visit, descriptors, flags);
}
EXPORT int nftw64(const char* path, int (*visit)(const char*, const struct stat64*, int, FTW*),
                  int descriptors, int flags) {
  return walk("nftw64", path, reinterpret_cast<NftwVisit*>(visit), descriptors, flags);
}

EXPORT FTS* fts_open(char* const* paths, int options, FtsCompare* compare) {
  static auto* const original = next<Open>("fts_open");
  return open_walk(original, paths, options, compare);
}
EXPORT FTSENT* fts_read(FTS* stream) {
  static auto* const original = next<Read>("fts_read");
  return read_walk(original, stream);
}
EXPORT FTSENT* fts_children(FTS* stream, int options) {
  static auto* const original = next<Children>("fts_children");
  return children_of_walk(original, stream, options);
}
EXPORT int fts_close(FTS* stream) {
  static auto* const original = next<Close>("fts_close");
  return close_walk(original, stream);
}

// The types are the same on 64 bits.
EXPORT FTS64* fts64_open(char* const* paths, int options,
                         int (*compare)(const FTSENT64**, const FTSENT64**)) {
  static auto* const original = next<Open>("fts64_open");
  return reinterpret_cast<FTS64*>(
      open_walk(original, paths, options, reinterpret_cast<FtsCompare*>(compare)));
}
EXPORT FTSENT64* fts64_read(FTS64* stream) {
  static auto* const original = next<Read>("fts64_read");
  return reinterpret_cast<FTSENT64*>(read_walk(original, reinterpret_cast<FTS*>(stream)));
}
EXPORT FTSENT64* fts64_children(FTS64* stream, int options) {
  static auto* const original = next<Children>("fts64_children");
  return reinterpret_cast<FTSENT64*>(children_of_walk(original, reinterpret_cast<FTS*>(stream), options));
}
EXPORT int fts64_close(FTS64* stream) {
  static auto* const original = next<Close>("fts64_close");
  return close_walk(original, reinterpret_cast<FTS*>(stream));
}
