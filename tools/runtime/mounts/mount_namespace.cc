// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/mounts/mount_namespace.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "nic/process/descriptor.h"

namespace urnic::tools {
namespace {

/// Why a user namespace is of no use, as far as the system says so.
std::string advice() {
  const auto setting = [](const char* file) {
    std::ifstream stream(file);
    int value = -1;
    stream >> value;
    return value;
  };
  if (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1) {
    return "AppArmor keeps users without privilege from it "
           "(sysctl kernel.apparmor_restrict_unprivileged_userns)";
  }
  if (setting("/proc/sys/kernel/unprivileged_userns_clone") == 0) {
    return "sysctl kernel.unprivileged_userns_clone is 0";
  }
  if (setting("/proc/sys/user/max_user_namespaces") == 0) return "sysctl user.max_user_namespaces is 0";
  return "a container's filter of system calls usually forbids it";
}

Error error_of(const char* what) {
  const int code = errno;
  return {.code = code,
          .message = fmt::format("{}: {}; {}", what, std::generic_category().message(code), advice())};
}

bool write_file(const char* path, const std::string& text) {
  const nic::Descriptor file(open(path, O_WRONLY | O_CLOEXEC));
  return file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// What is mounted from now on stays in the namespace.
bool part_from_the_host() {
  return mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0;
}

/// Whether mounts are possible: some systems make namespaces and give no right in them.
bool may_mount() {
  constexpr const char* kFolder = "/sys/class";
  if (mount("urnic", kFolder, "tmpfs", MS_NOSUID | MS_NODEV, "size=4k") != 0) return false;
  umount2(kFolder, MNT_DETACH);
  return true;
}

/// The message of an error goes through a pipe.
constexpr std::size_t kLongestMessage = 512;

}  // namespace

Result<NamespaceWay, Error> enter_mount_namespace() {
  if (unshare(CLONE_NEWNS) == 0) {
    if (!part_from_the_host() || !may_mount()) return error_of("cannot mount in a namespace");
    return NamespaceWay::kPlain;
  }
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return error_of("cannot make a user namespace");
  if (!write_file("/proc/self/setgroups", "deny") ||
      !write_file("/proc/self/uid_map", fmt::format("{} {} 1", user, user)) ||
      !write_file("/proc/self/gid_map", fmt::format("{} {} 1", group, group))) {
    return error_of("cannot be the same user in a user namespace");
  }
  if (!part_from_the_host() || !may_mount()) return error_of("cannot mount in a user namespace");
  return NamespaceWay::kUser;
}

NamespaceProbe probe_mount_namespace() {
  std::array<int, 2> ends{};
  const auto forbidden = [](std::string why) {
    return NamespaceProbe{.way = NamespaceWay::kForbidden, .reason = std::move(why)};
  };
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return forbidden(error_of("pipe").message);
  const nic::Descriptor reader(ends[0]);
  nic::Descriptor writer(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    const auto entered = enter_mount_namespace();
    const std::string text =
        entered ? (entered.value() == NamespaceWay::kPlain ? "p" : "u") : entered.error().message;
    // The ends are closed in a child (OwnDescriptors) only where the drop-in library is; this is the tool.
    static_cast<void>(!write(ends[1], text.data(), text.size()));
    _exit(0);
  }
  writer.reset();
  if (child < 0) return forbidden(error_of("fork").message);
  std::array<char, kLongestMessage> text{};
  const ssize_t length = read(reader.get(), text.data(), text.size());
  waitpid(child, nullptr, 0);
  const std::string said(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  if (said == "p") return {.way = NamespaceWay::kPlain, .reason = {}};
  if (said == "u") return {.way = NamespaceWay::kUser, .reason = {}};
  return forbidden(said);
}

}  // namespace urnic::tools
