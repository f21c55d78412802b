// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/mounts/shown_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

#include "nic/process/descriptor.h"

namespace urnic::tools {
namespace {

namespace fs = std::filesystem;

Error error_of(const std::string& what) {
  const int code = errno;
  return {.code = code, .message = fmt::format("{}: {}", what, std::generic_category().message(code))};
}

/// All that was mounted; taken away again unless it is kept.
class Mounts {
 public:
  Mounts() = default;
  ~Mounts() {
    for (auto each = done_.rbegin(); each != done_.rend(); ++each) umount2(each->c_str(), MNT_DETACH);
  }
  Mounts(const Mounts&) = delete;
  Mounts& operator=(const Mounts&) = delete;

  bool bind(const fs::path& from, const fs::path& to) {
    if (mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) return false;
    done_.push_back(to);
    return true;
  }
  bool cover(const fs::path& folder) {
    constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    if (mount("urnic", folder.c_str(), "tmpfs", kFlags, "mode=0755,size=1m") != 0) return false;
    done_.push_back(folder);
    return true;
  }
  void keep() { done_.clear(); }

 private:
  std::vector<fs::path> done_;
};

/// Flags that a bind mount has from the file system it is of, and may not lose in a user namespace.
unsigned long inherited_flags(const fs::path& path) {
  struct statvfs status {};
  if (statvfs(path.c_str(), &status) != 0) return 0;
  unsigned long flags = 0;
  if ((status.f_flag & ST_NOSUID) != 0) flags |= MS_NOSUID;
  if ((status.f_flag & ST_NODEV) != 0) flags |= MS_NODEV;
  if ((status.f_flag & ST_NOEXEC) != 0) flags |= MS_NOEXEC;
  if ((status.f_flag & ST_NOATIME) != 0) flags |= MS_NOATIME;
  if ((status.f_flag & ST_NODIRATIME) != 0) flags |= MS_NODIRATIME;
  if ((status.f_flag & ST_RELATIME) != 0) flags |= MS_RELATIME;
  return flags;
}

bool make_read_only(const fs::path& path) {
  return mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | inherited_flags(path),
               nullptr) == 0;
}

/// The entry of a covered folder, from below it.
bool put_entry(Mounts& mounts, int below, const dirent& entry, const fs::path& folder) {
  const fs::path from = fmt::format("/proc/self/fd/{}/{}", below, entry.d_name);
  const fs::path to = folder / entry.d_name;
  struct stat status {};
  if (fstatat(below, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
  if (S_ISLNK(status.st_mode)) {
    std::error_code code;
    fs::create_symlink(fs::read_symlink(from, code), to, code);
    return !code;
  }
  const bool made = S_ISDIR(status.st_mode)
                        ? mkdir(to.c_str(), 0755) == 0
                        : nic::Descriptor(open(to.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644)).get() >= 0;
  return made && mounts.bind(from, to);
}

/// Covers `folder` with a tmpfs that has the same entries.
Result<void, Error> cover(Mounts& mounts, const fs::path& folder) {
  const nic::Descriptor below(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!below) return error_of(folder.string());
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(folder.c_str()), closedir);
  if (stream == nullptr || !mounts.cover(folder)) return error_of("tmpfs at " + folder.string());
  while (const dirent* const entry = readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (!put_entry(mounts, below.get(), *entry, folder)) return error_of((folder / name).string());
  }
  return success();
}

/// Has the folders `names` of `tree` stand in `folder`, of the same path.
Result<void, Error> show(Mounts& mounts, const fs::path& tree, const fs::path& folder,
                         const std::vector<std::string>& names) {
  std::error_code code;
  bool is_covered = false;
  for (const std::string& name : names) {
    const fs::path from = fs::canonical(fs::path(tree.string() + folder.string()) / name, code);
    if (code) continue;  // the device has no such files
    const fs::path to = folder / name;
    if (!fs::is_directory(to, code) && !is_covered) {
      if (auto covered = cover(mounts, folder); !covered) return covered;
      is_covered = true;
    }
    if (!fs::is_directory(to, code) && mkdir(to.c_str(), 0755) != 0) return error_of(to.string());
    if (!mounts.bind(from, to)) return error_of(to.string());
    if (!make_read_only(to)) return error_of(to.string() + ", to be read only");
  }
  return success();
}

/// What the owner may write in the tree can be written in place of it, too.
Result<void, Error> let_be_written(Mounts& mounts, const fs::path& tree, const fs::path& folder) {
  std::error_code code;
  std::vector<fs::path> writable;
  for (fs::recursive_directory_iterator entry(tree.string() + folder.string(), code), end; entry != end;
       entry.increment(code)) {
    const bool is_file = entry->symlink_status(code).type() == fs::file_type::regular;
    if (is_file && (entry->symlink_status(code).permissions() & fs::perms::owner_write) != fs::perms::none) {
      writable.push_back(entry->path());
    }
  }
  for (const fs::path& file : writable) {
    const fs::path to = file.string().substr(tree.string().size());
    if (!mounts.bind(file, to)) return error_of(to.string());
  }
  return success();
}

/// "/sys/class/net/IF/device", without links, of the interface that the tree says is the device's.
fs::path interface_device(const fs::path& tree) {
  std::error_code code;
  for (fs::directory_iterator entry(tree / "sys/class/net", code), end; !code && entry != end;
       entry.increment(code)) {
    const fs::path device = "/sys/class/net" / entry->path().filename() / "device";
    if (fs::path found = fs::canonical(device, code); !code) return found;
  }
  return {};
}

/// The device's folder at the network interface whose addresses it has.
Result<void, Error> show_at_interface(Mounts& mounts, const fs::path& tree, const fs::path& bus) {
  const fs::path device = interface_device(tree);
  std::error_code code;
  if (device.empty() || fs::exists(device / "infiniband", code)) return success();
  fs::path card;
  for (fs::directory_iterator entry(bus, code), end; !code && entry != end; entry.increment(code)) {
    if (fs::is_directory(entry->path() / "infiniband", code) && card.empty()) card = entry->path();
  }
  if (auto covered = cover(mounts, device); !covered) return covered;
  const fs::path to = device / "infiniband";
  if (mkdir(to.c_str(), 0755) != 0 || !mounts.bind(card / "infiniband", to)) return error_of(to.string());
  return success();
}

}  // namespace

Result<void, Error> show_files_by_mounts(const std::string& tree_name) {
  const fs::path tree = tree_name;
  std::error_code code;
  const fs::path bus = fs::read_symlink(tree / "bus", code);
  if (code) return Error{.code = code.value(), .message = fmt::format("{}: {}", tree_name, code.message())};
  Mounts mounts;
  const struct {
    fs::path folder;
    std::vector<std::string> names;
  } shown[] = {{bus.parent_path(), {bus.filename()}},
               {"/sys/class", {"infiniband", "infiniband_verbs"}},
               {"/dev", {"infiniband"}}};
  for (const auto& each : shown) {
    if (auto done = show(mounts, tree, each.folder, each.names); !done) return done;
  }
  // Most users may not look there.
  const fs::path debug = "/sys/kernel/debug";
  if (access(debug.c_str(), R_OK | X_OK) == 0) {
    if (auto done = show(mounts, tree, debug, {"mlx5"}); !done) return done;
  }
  if (auto done = let_be_written(mounts, tree, bus); !done) return done;
  if (auto done = show_at_interface(mounts, tree, bus); !done) return done;
  mounts.keep();
  return success();
}

}  // namespace urnic::tools
