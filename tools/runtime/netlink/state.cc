// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/runtime/netlink/state.h"

#include <net/if.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "nic/diagnostics/shown_counters.h"

namespace urnic::netlink {
namespace {

namespace fs = std::filesystem;

/// The first line; "" for a file that is not there.
std::string line_of(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    entries.push_back(entry->path());
  }
  std::sort(entries.begin(), entries.end(), [](const fs::path& a, const fs::path& b) {
    const std::string one = a.filename();
    const std::string other = b.filename();
    return std::pair(one.size(), one) < std::pair(other.size(), other);
  });
  return entries;
}

/// The number that `text` begins with; 0 where it is none.
std::uint64_t number_in(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// "0200:c0ff:fe00:0202"
std::uint64_t guid_in(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ':'), text.end());
  std::uint64_t guid = 0;
  std::from_chars(text.data(), text.data() + text.size(), guid, 16);
  return guid;
}

std::optional<Node> verbs_node_of(const fs::path& tree, const std::string& device) {
  for (const fs::path& entry : entries_of(tree / "sys/class/infiniband_verbs")) {
    if (line_of(entry / "ibdev") != device) continue;
    Node node{.name = entry.filename(), .abi = number_in(line_of(entry / "abi_version"))};
    struct stat status {};
    if (stat((tree / "dev/infiniband" / node.name).c_str(), &status) != 0) return std::nullopt;
    node.device = status.st_rdev;
    return node;
  }
  return std::nullopt;
}

Device read_device(const fs::path& tree, const fs::path& folder) {
  const fs::path port = folder / "ports/1";
  Device device{.name = folder.filename(),
                .firmware = line_of(folder / "fw_ver"),
                .node_guid = guid_in(line_of(folder / "node_guid")),
                .system_guid = guid_in(line_of(folder / "sys_image_guid")),
                .port_state = static_cast<std::uint8_t>(number_in(line_of(port / "state"))),
                .port_physical_state = static_cast<std::uint8_t>(number_in(line_of(port / "phys_state"))),
                .interface = {}};
  const auto interfaces = entries_of(folder / "device/net");
  if (!interfaces.empty()) {
    // Of another network namespace it has no index here, and the kernel does not tell of it then.
    device.interface_index = if_nametoindex(interfaces.front().filename().c_str());
    if (device.interface_index != 0) device.interface = interfaces.front().filename();
  }
  device.verbs_node = verbs_node_of(tree, device.name);
  device.counter_names = nic::shown_counter_names(tree, device.name);
  for (const fs::path& file : entries_of(port / "hw_counters")) {
    device.counters.emplace(file.filename(), number_in(line_of(file)));
  }
  return device;
}

}  // namespace

std::vector<Device> ShownState::devices() {
  std::vector<Device> devices;
  for (const fs::path& folder : entries_of(fs::path(folder_) / "sys/class/infiniband")) {
    devices.push_back(read_device(folder_, folder));
  }
  return devices;
}

std::vector<tools::NicProcess> ShownState::processes() {
  auto asked = tools::ask_processes();
  std::vector<tools::NicProcess> answering;
  if (!asked) return answering;
  for (tools::NicProcess& process : asked.value()) {
    if (process.snapshot) answering.push_back(std::move(process));
  }
  return answering;
}

}  // namespace urnic::netlink
