// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/path_tree.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "nic/host/lock_file.h"
#include "nic/host/status_socket.h"
#include "tools/command/device_files.h"

namespace urnic::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = "lock";
constexpr const char* kOld = ".old";
constexpr const char* kBusLink = "bus";
constexpr std::chrono::seconds kTimeToMake(10);

bool has_lock(const fs::path& tree) {
  const auto lock = nic::LockFile::open((tree / kLock).string(), nic::LockFile::Missing::kFail);
  return lock && !lock.value().try_lock();
}

/// Between the making of a folder and its lock there are microseconds, or a while on a busy host. A folder's
/// time is when something was made in it last.
bool may_be_in_the_making(const fs::path& tree) {
  std::error_code code;
  const auto made = fs::last_write_time(tree, code);
  return !code && fs::file_time_type::clock::now() - made < kTimeToMake;
}

/// Whether the program and all that it started are gone. We cannot see programs of another PID namespace;
/// these count as gone when they hold no lock and have had the time to take it.
bool is_left_behind(const fs::path& tree) {
  if (tree.extension() == kOld) return !has_lock(tree);
  const auto name = nic::ProcessName::parse(tree.filename().string());
  if (!name) return false;
  const bool can_be_seen = name->pid_namespace == nic::ProcessName::own().pid_namespace;
  if (can_be_seen && (kill(name->process, 0) == 0 || errno != ESRCH)) return false;
  if (!can_be_seen && may_be_in_the_making(tree)) return false;
  return !has_lock(tree);
}

void remove_those_left_behind(const fs::path& folder) {
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    if (is_left_behind(entry->path())) fs::remove_all(entry->path(), ignored);
  }
}

/// Moves the tree of a process that had our number, or of this process, when one `urnic run` starts another,
/// out of the way. The program may have it mounted, and mounts ours above it: so it is removed with ours,
/// when the lock, which the program has inherited, is gone.
void make_room(const fs::path& tree) {
  if (!fs::exists(tree)) return;
  fs::path old;
  int number = 0;
  do {
    old = fmt::format("{}.{}{}", tree.string(), number++, kOld);
  } while (fs::exists(old));
  fs::rename(tree, old);
}

/// What is there once, however many devices there are.
void write_shared(const fs::path& tree, const PciPlace& place) {
  std::ofstream stream;
  stream.exceptions(std::ofstream::failbit | std::ofstream::badbit);
  const fs::path version = tree / "sys/class/infiniband_verbs/abi_version";
  stream.open(version);
  stream << "6\n";
  stream.close();
  fs::permissions(version, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  fs::create_symlink("/dev/null", tree / "dev/infiniband/rdma_cm");
  // For the preloaded library, which must know which bus is ours.
  fs::create_symlink("/sys/devices/" + place.bus_name(), tree / kBusLink);
}

/// Locked until the last process that has it open ends.
Result<void, Error> lock_for_good(const fs::path& tree) {
  auto lock = nic::LockFile::open((tree / kLock).string(), nic::LockFile::Missing::kCreate);
  if (!lock) return lock.error();
  if (!lock.value().try_lock()) {
    return Error{.code = EBUSY, .message = fmt::format("{} is in use", tree.string())};
  }
  fcntl(lock.value().release().release(), F_SETFD, 0);
  return success();
}

}  // namespace

Result<std::string, Error> make_path_tree(const std::string& folder, const std::vector<TreeDevice>& devices) {
  const fs::path tree = fs::path(folder) / nic::ProcessName::own().to_string();
  try {
    fs::create_directories(folder);
    remove_those_left_behind(folder);
    make_room(tree);
    fs::create_directory(tree);
    if (auto locked = lock_for_good(tree); !locked) return locked.error();
    for (const TreeDevice& device : devices) {
      const unsigned number = device.config.number;
      write_device_files(tree, {.config = device.config,
                                .number = number,
                                .place = PciPlace::choose(number),
                                .shared_counters = device.shared_counters});
    }
    write_shared(tree, PciPlace::choose(0));
    // Without links in it, so that the preloaded library recognizes it in what the kernel says.
    return fs::canonical(tree).string();
  } catch (const std::system_error& error) {
    return Error{.code = error.code().value() > 0 ? error.code().value() : EIO,
                 .message = fmt::format(
                     "cannot show the devices' files to programs: {}; make {} writable, and room on "
                     "its disk",
                     error.what(), folder)};
  }
}

}  // namespace urnic::tools
