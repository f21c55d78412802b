// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/fabric_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "nic/host/fabric_slots.h"
#include "nic/host/lock_file.h"

namespace urnic::nic {
namespace {

constexpr std::size_t kMaxNameBytes = 24;

bool may_be_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

}  // namespace

Result<void, Error> check_fabric_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes || !std::all_of(name.begin(), name.end(), may_be_in_name)) {
    return Error{.code = EINVAL,
                 .message = fmt::format("'{}' is no name of a fabric: 1 to {} letters, digits, '-' and '_'",
                                        name, kMaxNameBytes)};
  }
  return success();
}

/// Whether the longest names in it fit socket addresses.
Result<void, Error> FabricFolder::check_socket_paths_in(const FabricFolder& folder) {
  constexpr std::size_t kMaxBytes = sizeof(sockaddr_un::sun_path) - 1;
  const std::size_t bytes =
      std::max({folder.files_of_switch(kFabricSwitches - 1).control_socket.size(),
                folder.port_socket(kFabricPorts - 1).size(), folder.link_socket({}).size()});
  if (bytes > kMaxBytes) {
    return Error{
        .code = ENAMETOOLONG,
        .message = fmt::format("folder {}: sockets in it would have a path of {} bytes, and at most {} fit a "
                               "socket address; set XDG_RUNTIME_DIR to a shorter path",
                               folder.path(), bytes, kMaxBytes)};
  }
  return success();
}

Result<FabricFolder, Error> FabricFolder::open(std::string_view name) {
  if (auto fine = check_fabric_name(name); !fine) return fine.error();
  const auto folder = private_folder();
  if (!folder) return folder.error();
  std::string path = fmt::format("{}/fabric-{}", folder.value(), name);
  if (auto fine = check_socket_paths_in(FabricFolder(path)); !fine) return fine.error();
  // No other user can make anything in the private folder, so what is there already is ours.
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    const int code = errno;
    return Error{
        .code = code,
        .message = fmt::format("cannot make the folder {}: {}", path, std::generic_category().message(code))};
  }
  return FabricFolder(std::move(path));
}

std::string FabricFolder::link_socket(const transport::wire::Mac& mac) const {
  return fmt::format("{}/{:02x}.nic", path_, fmt::join(mac.octets, ""));
}

SwitchFiles FabricFolder::files_of_switch(unsigned number) const {
  const std::string suffix = number == 0 ? "" : fmt::format(".{}", number);
  return {.control_socket = fmt::format("{}/control{}.sock", path_, suffix),
          .lock = fmt::format("{}/switch{}.lock", path_, suffix),
          .log = fmt::format("{}/switch{}.log", path_, suffix)};
}

std::optional<FabricSwitch> running_switch(const SwitchFiles& files) {
  const auto file = LockFile::open(files.lock, LockFile::Missing::kFail);
  if (!file || file.value().try_lock()) return std::nullopt;
  std::array<char, 64> text{};
  FabricSwitch found;
  if (pread(file.value().fd(), text.data(), text.size() - 1, 0) <= 0 ||
      std::sscanf(text.data(), "process %d mtu %hu", &found.process, &found.link_mtu) != 2) {
    return std::nullopt;  // it has just started
  }
  return found;
}

}  // namespace urnic::nic
