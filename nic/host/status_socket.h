// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Where a process that has a NIC can be asked what it does: sockets in the user's private folder.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "nic/process/descriptor.h"
#include "transport/result.h"

namespace urnic::nic {

/// A process, as containers that share the private folder can tell it from each other's: "PROCESS.NAMESPACE".
struct ProcessName {
  int process = 0;
  std::uint64_t pid_namespace = 0;  ///< its inode; 0 without /proc

  static ProcessName own();
  /// Nothing when `text` is no such name.
  static std::optional<ProcessName> parse(std::string_view text);
  std::string to_string() const;
};

/// The name of a socket: "status.PROCESS.NAMESPACE" for the first device of a process, and
/// "status.PROCESS.NAMESPACE.DEVICE" for further ones.
struct StatusName {
  ProcessName process;
  unsigned device = 0;

  /// Of this process.
  static StatusName own(unsigned device = 0);
  /// Nothing when no such socket can have the name.
  static std::optional<StatusName> parse(std::string_view text);
  std::string to_string() const;
};

/// The private folder (nic/host/lock_file.h), open, so that what it was checked for stays true.
class StatusFolder {
 public:
  /// The error: as private_folder().
  static Result<StatusFolder, Error> open();

  /// Its path, for those who list it.
  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }
  /// The address of a socket in it, which fits however long the folder's path is.
  sockaddr_un address_of(std::string_view name) const;
  /// Removes it, if it is there.
  void remove(std::string_view name) const;
  /// Removes the sockets that dead processes have left. A socket that a process listens at stays, also when
  /// it gets its name at this moment. The process is neither waited for nor made to do anything.
  void remove_stale_sockets() const;

 private:
  bool is_stale(std::string_view name) const;
  StatusFolder(std::string path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  Descriptor fd_;
};

/// The user at the other end of a connection, or nothing when that is not known.
std::optional<ucred> peer_of(int socket);

}  // namespace urnic::nic
