// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// LockFile: a file that is there to be locked, and the private folder where such files live.
#pragma once

#include <string>
#include <utility>

#include "nic/process/descriptor.h"
#include "transport/result.h"

namespace urnic::nic {

/// The user's folder for locks and sockets: `$XDG_RUNTIME_DIR/urnic`, or `/tmp/urnic-<uid>` where there is no
/// runtime folder, or `urnic` in /run/user/UID or ~/.cache where another user has taken that name. Made when
/// missing. The error says why it cannot be trusted: it is a link, belongs to another user or is open to
/// others.
Result<std::string, Error> private_folder();

/// An open file to lock with flock(). The lock belongs to the open file: a program that exec starts with its
/// descriptor shares it, and it ends when the last descriptor is closed, however the process ended. The file
/// itself stays.
class LockFile {
 public:
  enum class Missing { kFail, kCreate };

  /// Opens `path` in a folder where other users may make files too: a link, a device or another user's file
  /// is refused (EPERM, ELOOP). Readable and writable by its owner only, closed by exec.
  static Result<LockFile, Error> open(const std::string& path, Missing missing);

  LockFile() = default;  ///< no file

  int fd() const { return fd_.get(); }  ///< -1 without a file
  /// Gives the descriptor away.
  Descriptor release() { return std::move(fd_); }

  /// Takes the lock if no other open file has it; does not wait.
  bool try_lock() const;

  /// Takes a second lock, which belongs to the open file as well and is independent of the first. False when
  /// another open file has it; does not wait.
  bool try_claim() const;
  /// Whether another open file has that second lock.
  bool is_claimed() const;

 private:
  explicit LockFile(Descriptor fd) : fd_(std::move(fd)) {}

  Descriptor fd_;
};

}  // namespace urnic::nic
