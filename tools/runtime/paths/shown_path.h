// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Paths that the kernel would have for a device, and where the files for them are.
#pragma once

#include <fcntl.h>
#include <limits.h>

namespace urnic::paths {

/// The path `path`, relative to the open folder `folder` or AT_FDCWD, as the program gives it (null
/// included), and the one that it gets: below the private folder (private_folder.h) where the system has no
/// such files. A program may give a path from the root, or one that is relative to a folder of the system.
/// One that is relative to a private folder, to which another function of this library has led it, is right
/// as it is.
class ShownPath {
 public:
  ShownPath(int folder, const char* path);
  explicit ShownPath(const char* path) : ShownPath(AT_FDCWD, path) {}
  ShownPath(const ShownPath&) = delete;
  ShownPath& operator=(const ShownPath&) = delete;

  operator const char*() const { return path_; }
  /// Whether it is another path than the program's.
  bool is_redirected() const { return path_ == changed_; }

  /// What opening a file of the device below /sys comes to. Sysfs lets not even root open a file for writing
  /// that has no mode for it, and makes no new one, where plain files would. What is written is the whole
  /// value there, and so it is here: the old one goes. A program that reads and writes through one
  /// descriptor would mix the two, and is refused.
  bool permits(int& flags) const;
  /// The same of fopen(3).
  bool permits(const char* mode) const;

 private:
  bool is_writable() const;

  const char* path_;
  bool is_sysfs_ = false;
  char changed_[PATH_MAX];
};

/// The path that a program expects for `path` below the private folder: a later place in the same text.
/// `path` itself, when it is elsewhere.
char* as_shown(char* path);

/// The same, with the text moved to the beginning of `path`, which may be null.
char* move_to_shown(char* path);

/// The n-th name (from 0) that the folder of the system at `folder` has in addition, as the private folder
/// has it and the system does not; null when there is no further one. `folder` is without links.
const char* additional_entry(const char* folder, unsigned n);

/// The path of an open folder, without links; false when the kernel does not say it.
bool path_of(int folder, char (&to)[PATH_MAX]);

}  // namespace urnic::paths
