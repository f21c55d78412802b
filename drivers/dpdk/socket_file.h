// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// SocketFile: the name in the file system under which a vhost-user front is found.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

#include "drivers/descriptor.h"
#include "transport/result.h"

namespace urnic::drivers {

/// The longest path that fits a Unix socket address, in bytes.
inline constexpr std::size_t kMaxSocketPathBytes = 107;

/// Fine when `path` can be the name of a socket; else an error that says why not.
Result<void, Error> check_socket_path(const std::string& path);

/// A listening stream socket, close-on-exec, at a path where nothing is. Only this user may connect.
Result<Descriptor, Error> listen_at(const std::string& path);

/// The name in the folder of `path` to which its server's socket is bound before it gets its real one. This
/// is what a client sees as the address of the other end.
std::string private_socket_name(const std::string& path);

/// Claims a path for a server, in two steps, so that no client connects before the server is ready and no two
/// servers take the same path: claim() it, prepare, publish(). The file of a server that died is
/// replaced. Processes of a user take turns, from claim() to publish(), by a lock that no other
/// user can hold: on the folder if it is closed to others, or else on the user's private one.
class SocketFile {
 public:
  /// Errors: no such folder, no permission, path served by another process, path taken by something not a
  /// socket.
  static Result<SocketFile, Error> claim(const std::string& path);

  SocketFile(SocketFile&&) = default;
  SocketFile& operator=(SocketFile&&) = delete;
  ~SocketFile();

  /// A second path, free until publish() and for this process alone.
  const std::string& private_path() const { return private_path_; }
  /// Returns the socket that listens at the claimed path.
  Result<Descriptor, Error> publish();
  /// Removes the path, unless another server has it by now.
  void remove();

 private:
  SocketFile() = default;
  void unlock();

  Descriptor folder_;  // none: moved from
  Descriptor turn_;    // the folder to lock
  bool locked_ = false;
  ino_t inode_ = 0;  // of the published socket; 0: none
  std::string path_;
  std::string name_;          // in the folder
  std::string private_name_;  // in the folder
  std::string private_path_;
};

}  // namespace urnic::drivers
