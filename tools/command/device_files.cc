// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/device_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <vector>

#include "nic/congestion/mainline_names.h"
#include "nic/congestion/parameter_files.h"
#include "nic/diagnostics/kernel_counters.h"
#include "nic/diagnostics/shown_counters.h"
#include "nic/path/gid_table.h"
#include "nic/process/descriptor.h"
#include "verbs_api/abi/vendor.h"
#include "verbs_api/config/sysfs_text.h"

namespace urnic::tools {
namespace {

namespace fs = std::filesystem;

/// An Ethernet controller.
constexpr std::uint32_t kPciClass = 0x020000;
/// The device number of /dev/null, to which the nodes are links.
constexpr const char* kNodeNumber = "1:3";

enum class Mode : std::uint8_t { kReadOnly, kWritable };

[[noreturn]] void fail(const fs::path& file) {
  throw std::system_error(errno, std::generic_category(), file.string());
}

/// There are some two hundred files, and each start of a program waits for them: so each takes four system
/// calls.
void write(const fs::path& file, const std::string& text, Mode mode = Mode::kReadOnly) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  nic::Descriptor descriptor(open(file.c_str(), kFlags, S_IRUSR));
  if (!descriptor && errno == ENOENT) {
    fs::create_directories(file.parent_path());
    descriptor = nic::Descriptor(open(file.c_str(), kFlags, S_IRUSR));
  }
  const std::string line = text + '\n';
  const mode_t permissions = S_IRUSR | S_IRGRP | S_IROTH | (mode == Mode::kWritable ? S_IWUSR : 0);
  const bool is_written =
      descriptor &&
      ::write(descriptor.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
      fchmod(descriptor.get(), permissions) == 0;
  if (!is_written) fail(file);
}

/// Writes the parameters under the names that OFED's driver of mlx5 has for them, and links to them under
/// the names of mainline Linux. The links' folder bears the name of the device.
void write_parameters(const fs::path& sys, const fs::path& folder, const nic::DeviceConfig& device) {
  const fs::path links = sys / "kernel/debug/mlx5" / device.name / "cc_params";
  fs::create_directories(links);
  for (const nic::ParameterFile& file :
       nic::parameter_files(device.congestion, device.congestion_notifications)) {
    const fs::path path = folder / file.name;
    write(path, std::to_string(file.value), Mode::kWritable);
    const std::string_view name = nic::mainline_name(file.name);
    if (!name.empty()) fs::create_symlink(path.lexically_relative(links), links / name);
  }
}

/// Has `file` be the one at `total`, which is made where it is missing. False: this file system has no such
/// links, and the run counts for itself. One that is there has what was counted until now. Two runs may make
/// it at once: both link to the one that is there in the end.
bool share(const fs::path& total, const fs::path& file) {
  if (::link(total.c_str(), file.c_str()) == 0) return true;
  fs::create_directories(file.parent_path());
  if (::link(total.c_str(), file.c_str()) == 0) return true;
  const fs::path made = fmt::format("{}.{}", total.string(), getpid());
  std::error_code code;
  fs::remove(made, code);
  write(made, "0");
  fs::create_hard_link(made, total, code);
  fs::remove(made, code);
  return ::link(total.c_str(), file.c_str()) == 0;
}

/// Each process that has the device adds to them (nic/diagnostics/counter_files.h).
void write_counters(const fs::path& port, nic::CounterNames names, const fs::path& shared) {
  for (const nic::KernelCounter& counter : nic::kernel_counters(names)) {
    const fs::path file = port / counter.file;
    if (shared.empty() || !share(shared / counter.file, file)) write(file, "0");
  }
  // Milliseconds for which the preloaded library shows a value before it asks the programs again.
  write(port / "hw_counters/lifespan", "10", Mode::kWritable);
}

/// As the kernel writes a set of processors: groups of 32 bits, the highest first.
std::string cpu_mask() {
  const auto count = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
  std::string text;
  for (unsigned end = count; end > 0;) {
    const unsigned first = (end - 1) / 32 * 32;
    const unsigned bits = end - first;
    const std::uint32_t mask = bits == 32 ? UINT32_MAX : (std::uint32_t{1} << bits) - 1;
    text += fmt::format("{}{:0{}x}", text.empty() ? "" : ",", mask, text.empty() ? (bits + 3) / 4 : 8);
    end = first;
  }
  return text;
}

std::string cpu_list() {
  const long count = std::max(1L, sysconf(_SC_NPROCESSORS_CONF));
  return count == 1 ? "0" : fmt::format("0-{}", count - 1);
}

/// The card. It is near no NUMA node, as processors do its work wherever they are.
void write_card(const fs::path& card, const ShownDevice& device) {
  constexpr unsigned kVendor = verbs_api::kPciVendorId;
  constexpr unsigned kDevice = verbs_api::kPciDeviceId;
  const std::pair<const char*, std::string> files[] = {
      {"vendor", fmt::format("{:#06x}", kVendor)},
      {"device", fmt::format("{:#06x}", kDevice)},
      {"subsystem_vendor", fmt::format("{:#06x}", kVendor)},
      {"subsystem_device", fmt::format("{:#06x}", kDevice)},
      {"class", fmt::format("{:#08x}", kPciClass)},
      {"revision", "0x00"},
      {"numa_node", "-1"},
      {"local_cpus", cpu_mask()},
      {"local_cpulist", cpu_list()},
      {"uevent", fmt::format("PCI_CLASS={:X}\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\n"
                             "PCI_SLOT_NAME={}",
                             kPciClass, kVendor, kDevice, kVendor, kDevice, device.place.address())}};
  for (const auto& [name, text] : files) write(card / name, text);
}

/// As the kernel has it: the name at its end is the address.
void link_to_card(const fs::path& card, const fs::path& from) {
  fs::create_symlink("../../.." / card.filename(), from);
}

void link(const fs::path& target, const fs::path& from) {
  fs::create_directories(from.parent_path());
  fs::create_symlink(target.lexically_relative(from.parent_path()), from);
}

/// The card and the interface of the host whose addresses the device has, if any, lead to each other. Of all
/// its interfaces the first one: programs expect an adapter to have one for each port. An interface that is
/// no device, as the loopback, leads nowhere.
void join_interface(const fs::path& sys, const fs::path& card, const nic::DeviceConfig& device) {
  if (device.host_addresses.empty()) return;
  const fs::path interface = fs::path("/sys/class/net") / device.host_addresses.front().interface;
  fs::create_directories(card / "net");
  fs::create_directory_symlink(interface, card / "net" / interface.filename());
  std::error_code code;
  const fs::path back = sys / "class/net" / interface.filename() / "device/infiniband";
  if (fs::exists(interface / "device", code) && !fs::exists(interface / "device/infiniband", code) &&
      !fs::is_symlink(back, code)) {
    link(card / "infiniband", back);
  }
}

}  // namespace

PciPlace PciPlace::choose(unsigned device, const fs::path& bus) {
  std::vector<std::string> taken;
  std::error_code code;
  for (fs::directory_iterator entry(bus, code), end; !code && entry != end; entry.increment(code)) {
    taken.push_back(entry->path().filename().string());
  }
  PciPlace place{.domain = verbs_api::kPciVendorId, .slot = static_cast<std::uint8_t>(device)};
  const auto is_taken = [&place](const std::string& name) {
    return name.starts_with(fmt::format("{:04x}:", place.domain));
  };
  while (std::any_of(taken.begin(), taken.end(), is_taken)) ++place.domain;
  return place;
}

std::string PciPlace::address() const {
  return fmt::format("{:04x}:00:{:02x}.0", domain, slot);
}

std::string PciPlace::bus_name() const {
  return fmt::format("pci{:04x}:00", domain);
}

void write_device_files(const fs::path& tree, const ShownDevice& device) {
  const fs::path sys = tree / "sys";
  const fs::path card = sys / "devices" / device.place.bus_name() / device.place.address();
  const std::string& name = device.config.name;
  const fs::path folder = card / "infiniband" / name;
  const nic::GidTable gids(device.config);
  for (const std::string& file : verbs_api::sysfs_names(gids, device.config)) {
    write(folder / file, *verbs_api::sysfs_text(gids, device.config, file));
  }
  write(folder / "uevent", "NAME=" + name);
  const nic::Personality& like = *device.config.personality;
  write_counters(folder / "ports/1", like.counter_names, device.shared_counters);
  write(nic::counter_names_file(tree, name), std::string(nic::name_of(like.counter_names)));
  if (like.driver_files == nic::DriverFiles::kMlx5) write_parameters(sys, folder, device.config);
  write_card(card, device);
  link_to_card(card, folder / "device");
  link(folder, sys / "class/infiniband" / name);
  join_interface(sys, card, device.config);

  const std::string node = fmt::format("uverbs{}", device.number);
  const fs::path verbs = card / "infiniband_verbs" / node;
  write(verbs / "ibdev", name);
  write(verbs / "abi_version", "1");
  write(verbs / "dev", kNodeNumber);
  write(verbs / "uevent", fmt::format("MAJOR=1\nMINOR=3\nDEVNAME=infiniband/{}", node));
  link_to_card(card, verbs / "device");
  link(verbs, sys / "class/infiniband_verbs" / node);
  for (const std::string& each : {node, name}) {
    fs::create_directories(tree / "dev/infiniband");
    fs::create_symlink("/dev/null", tree / "dev/infiniband" / each);
  }
}

}  // namespace urnic::tools
