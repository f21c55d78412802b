// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/lock_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace urnic::nic {
namespace {

/// With the reason that errno gives.
Error system_error(const std::string& what) {
  const int code = errno;
  return Error{.code = code, .message = fmt::format("{}: {}", what, std::generic_category().message(code))};
}

/// Whether it is a folder of this user.
bool is_own_folder(const std::string& path) {
  struct stat status {};
  return path.starts_with('/') && stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid();
}

std::string variable_of(const char* name) {
  const char* const value = secure_getenv(name);
  return value != nullptr ? value : "";
}

/// Makes the folder, unless it is there. The error says why it cannot be trusted.
Result<std::string, Error> make_private(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_error(fmt::format("cannot make the folder {}", path));
  }
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    return system_error(fmt::format("cannot look at the folder {}", path));
  }
  const auto refused = [&path](int code, std::string_view why) {
    return Error{.code = code,
                 .message = fmt::format(
                     "folder {} {}; remove it, or set XDG_RUNTIME_DIR to a folder of your own", path, why)};
  };
  if (!S_ISDIR(status.st_mode)) return refused(ENOTDIR, "is a link or a file");
  if (status.st_uid != geteuid()) return refused(EPERM, "belongs to another user");
  if ((status.st_mode & 0077u) != 0) return refused(EPERM, "is open to other users");
  return path;
}

/// In a folder of this user; nothing where that is not.
std::optional<std::string> make_private_in(const std::string& parent) {
  if (!is_own_folder(parent)) return std::nullopt;
  auto made = make_private(parent + "/urnic");
  return made ? std::optional(std::move(made.value())) : std::nullopt;
}

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Result<std::string, Error> private_folder() {
  // Under sudo and su the variable may name another user's folder.
  const std::string runtime = variable_of("XDG_RUNTIME_DIR");
  if (is_own_folder(runtime)) return make_private(runtime + "/urnic");
  const std::string usual_path = fmt::format("/tmp/urnic-{}", geteuid());
  auto usual = make_private(usual_path);
  // Any user can take a name in /tmp, and keep it.
  struct stat status {};
  const bool is_taken = !usual && lstat(usual_path.c_str(), &status) == 0 && status.st_uid != geteuid();
  if (!is_taken) return usual;
  if (auto folder = make_private_in(fmt::format("/run/user/{}", geteuid()))) return std::move(*folder);
  if (auto folder = make_private_in(variable_of("HOME") + "/.cache")) return std::move(*folder);
  return usual;
}

Result<LockFile, Error> LockFile::open(const std::string& path, Missing missing) {
  const int flags =
      O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (missing == Missing::kCreate ? O_CREAT : 0);
  LockFile file(Descriptor(::open(path.c_str(), flags, 0600)));
  struct stat status {};
  if (file.fd() < 0 || fstat(file.fd(), &status) != 0) return system_error(fmt::format("lock file {}", path));
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
    return Error{.code = EPERM,
                 .message = fmt::format("lock file {}: it is not a plain file of this user", path)};
  }
  return file;
}

bool LockFile::try_lock() const {
  return flock(fd(), LOCK_EX | LOCK_NB) == 0;
}

bool LockFile::try_claim() const {
  struct flock lock = whole_file();
  return fcntl(fd(), F_OFD_SETLK, &lock) == 0;
}

bool LockFile::is_claimed() const {
  struct flock lock = whole_file();
  return fcntl(fd(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace urnic::nic
