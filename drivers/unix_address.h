// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Unix socket addresses by their names, as ss(8) writes them.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

namespace urnic::drivers {

/// A path or, after a '@', a name of the network namespace (unix(7): an abstract socket address). Such a name
/// needs no folder and is free again when its socket is closed. Other users may have it: check which user the
/// peer belongs to.
class UnixAddress {
 public:
  /// Nothing when the name is too long.
  static std::optional<UnixAddress> of(const std::string& name) {
    UnixAddress made;
    made.address_.sun_family = AF_UNIX;
    if (name.size() >= sizeof made.address_.sun_path) return std::nullopt;
    std::memcpy(made.address_.sun_path, name.data(), name.size());
    made.bytes_ = sizeof made.address_;
    if (!is_abstract(name)) return made;
    made.address_.sun_path[0] = '\0';
    made.bytes_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    return made;
  }
  static bool is_abstract(const std::string& name) { return name.starts_with('@'); }

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t bytes() const { return bytes_; }

 private:
  UnixAddress() = default;

  sockaddr_un address_{};
  socklen_t bytes_ = 0;
};

}  // namespace urnic::drivers
