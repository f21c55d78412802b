// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Whose process is at the other end of a Unix socket.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <optional>

namespace urnic::drivers {

/// What the kernel noted of the other process when the connected Unix socket was made: of a server, when it
/// began to listen. Nothing when the descriptor is not such a socket.
inline std::optional<ucred> peer_of(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return std::nullopt;
  return peer;
}

/// Whether the other process may share our memory: it belongs to this process's user, or to root, which may
/// do anything anyway. Permissions of files alone do not tell: another user may have made the folder, or the
/// socket.
inline bool is_trusted_peer(int socket) {
  const auto peer = peer_of(socket);
  return peer && (peer->uid == geteuid() || peer->uid == 0);
}

}  // namespace urnic::drivers
