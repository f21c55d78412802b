#include "tools/command/path_tree.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "nic/congestion/mainline_names.h"
#include "nic/congestion/parameter_files.h"
#include "nic/host/lock_file.h"
#include "nic/host/status_socket.h"
#include "nic/path/gid_table.h"
#include "verbs_api/config/sysfs_text.h"

namespace urnic::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = "lock";

/// Whether the program and all that it started are gone. We cannot see programs of another PID namespace;
/// these count as gone when they hold no lock.
bool is_left_behind(const fs::path& tree) {
  const auto name = nic::ProcessName::parse(tree.filename().string());
  if (!name) return false;
  const bool can_be_seen = name->pid_namespace == nic::ProcessName::own().pid_namespace;
  if (can_be_seen && (kill(name->process, 0) == 0 || errno != ESRCH)) return false;
  const auto lock = nic::LockFile::open((tree / kLock).string(), nic::LockFile::Missing::kFail);
  return !lock || lock.value().try_lock();
}

void remove_those_left_behind(const fs::path& folder) {
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    if (is_left_behind(entry->path())) fs::remove_all(entry->path(), ignored);
  }
}

enum class Mode : std::uint8_t { kReadOnly, kWritable };

void write(const fs::path& file, const std::string& text, Mode mode = Mode::kReadOnly) {
  fs::create_directories(file.parent_path());
  std::ofstream stream;
  stream.exceptions(std::ofstream::failbit | std::ofstream::badbit);
  stream.open(file);
  stream << text << '\n';
  stream.close();
  const fs::perms writable = mode == Mode::kWritable ? fs::perms::owner_write : fs::perms::none;
  fs::permissions(file, writable | fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
}

/// Writes the parameters under the names that OFED's driver of mlx5 has for them, and links to them under the
/// names of mainline Linux. The links' folder bears the name of the device.
void write_parameters(const fs::path& sys, const nic::DeviceConfig& device) {
  const fs::path links = sys / "kernel/debug/mlx5" / device.name / "cc_params";
  fs::create_directories(links);
  for (const nic::ParameterFile& file :
       nic::parameter_files(device.congestion, device.congestion_notifications)) {
    const fs::path path = sys / "class/infiniband" / device.name / file.name;
    write(path, std::to_string(file.value), Mode::kWritable);
    const std::string_view name = nic::mainline_name(file.name);
    if (!name.empty()) fs::create_symlink(path.lexically_relative(links), links / name);
  }
}

void add_node(const fs::path& tree, const std::string& name) {
  fs::create_directories(tree / "dev/infiniband");
  fs::create_symlink("/dev/null", tree / "dev/infiniband" / name);
}

void write_device(const fs::path& tree, const nic::DeviceConfig& device) {
  const nic::GidTable gids(device);
  for (const std::string& name : verbs_api::sysfs_names(gids)) {
    write(tree / "sys/class/infiniband" / device.name / name, *verbs_api::sysfs_text(gids, name));
  }
  write_parameters(tree / "sys", device);
  if (!device.host_addresses.empty()) {
    // Of all its interfaces the first one: programs expect an adapter to have one for each port.
    const std::string& interface = device.host_addresses.front().interface;
    const fs::path net = tree / "sys/class/infiniband" / device.name / "device/net";
    fs::create_directories(net);
    fs::create_directory_symlink("/sys/class/net/" + interface, net / interface);
  }
  const std::string uverbs = fmt::format("uverbs{}", device.number);
  write(tree / "sys/class/infiniband_verbs" / uverbs / "ibdev", device.name);
  write(tree / "sys/class/infiniband_verbs" / uverbs / "abi_version", "1");
  for (const std::string& node : {uverbs, device.name}) add_node(tree, node);
}

void write_tree(const fs::path& tree, const std::vector<nic::DeviceConfig>& devices) {
  for (const nic::DeviceConfig& device : devices) write_device(tree, device);
  write(tree / "sys/class/infiniband_verbs/abi_version", "6");
  add_node(tree, "rdma_cm");
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

Result<std::string, Error> make_path_tree(const std::string& folder,
                                          const std::vector<nic::DeviceConfig>& devices) {
  const fs::path tree = fs::path(folder) / nic::ProcessName::own().to_string();
  try {
    fs::create_directories(folder);
    remove_those_left_behind(folder);
    fs::remove_all(tree);  // of a process that had our number
    fs::create_directory(tree);
    if (auto locked = lock_for_good(tree); !locked) return locked.error();
    write_tree(tree, devices);
  } catch (const std::system_error& error) {
    return Error{.code = error.code().value() > 0 ? error.code().value() : EIO,
                 .message = fmt::format(
                     "cannot show the devices' files to programs: {}; make {} writable, and room on "
                     "its disk",
                     error.what(), folder)};
  }
  return tree.string();
}

}  // namespace urnic::tools
