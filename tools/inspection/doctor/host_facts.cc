// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/doctor/host_facts.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>

#include "drivers/descriptor.h"
#include "nic/config.h"
#include "nic/host/host_addresses.h"
#include "nic/host/interface_mtu.h"
#include "nic/host/lock_file.h"
#include "nic/host/udp_port_holders.h"
#include "nic/path/gid_table.h"
#include "transport/wire/udp.h"

namespace urnic::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kKibibyte = 1024;

/// The file's text; empty where it cannot be read.
std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <typename Number>
std::optional<Number> number_in(std::string_view text, int base = 10) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end != text.data() ? std::optional(number) : std::nullopt;
}

/// The text after `key` on the first line that begins with it.
std::optional<std::string> value_of(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key)) return line.substr(key.size());
  }
  return std::nullopt;
}

/// Our control group's folder, of version 2; empty where there is none.
fs::path control_group(const fs::path& root) {
  const auto path = value_of(text_of(root / "proc/self/cgroup"), "0::/");
  return path ? root / "sys/fs/cgroup" / *path : fs::path();
}

std::optional<std::uint64_t> smaller(std::optional<std::uint64_t> one, std::optional<std::uint64_t> other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

std::optional<std::uint64_t> memory_left_in(const fs::path& group) {
  const auto most = number_in<std::uint64_t>(text_of(group / "memory.max"));
  const auto used = number_in<std::uint64_t>(text_of(group / "memory.current"));
  if (!most || !used) return std::nullopt;
  return *most - std::min(*most, *used);
}

std::optional<std::uint64_t> size_of_file_system(const fs::path& path) {
  struct statvfs found {};
  if (statvfs(path.c_str(), &found) != 0) return std::nullopt;
  return std::uint64_t{found.f_blocks} * found.f_frsize;
}

std::optional<std::uint64_t> locked_memory_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

unsigned allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

std::vector<RdmaDeviceFacts> rdma_devices(const fs::path& root) {
  std::vector<RdmaDeviceFacts> devices;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(root / "sys/class/infiniband", code)) {
    const fs::path driver = fs::read_symlink(entry.path() / "device/driver", code);
    devices.push_back({.name = entry.path().filename().string(), .driver = driver.filename().string()});
  }
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return devices;
}

std::string text_of(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = address.sa_family == AF_INET
                          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
                          : &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return inet_ntop(address.sa_family, bytes, text.data(), text.size()) != nullptr ? text.data() : "";
}

std::vector<InterfaceFacts> interfaces_up() {
  std::vector<InterfaceFacts> interfaces;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return interfaces;
  for (const ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
    const bool is_up = (it->ifa_flags & IFF_UP) != 0 && (it->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_up || it->ifa_addr == nullptr) continue;
    if (it->ifa_addr->sa_family != AF_INET && it->ifa_addr->sa_family != AF_INET6) continue;
    const std::string name = it->ifa_name;
    auto known = std::find_if(interfaces.begin(), interfaces.end(),
                              [&name](const InterfaceFacts& interface) { return interface.name == name; });
    if (known == interfaces.end()) {
      const auto mtu = nic::interface_mtu(name);
      known = interfaces.insert(known,
                                {.name = name, .addresses = {}, .mtu = mtu ? mtu.value() : std::uint16_t{0}});
    }
    known->addresses.push_back(text_of(*it->ifa_addr));
  }
  freeifaddrs(list);
  return interfaces;
}

/// As --port host has them; none where the host has no address.
std::vector<HostGid> gids_of_host() {
  const auto host = nic::find_all_host_addresses(nic::AddressWait::kNone);
  if (!host) return {};
  nic::DeviceConfig device;
  device.medium = nic::Medium::kIp;
  device.host_addresses = host.value().all;
  const nic::GidTable table(device);
  std::vector<HostGid> gids;
  for (std::size_t index = 0; index < table.size(); ++index) {
    const auto gid = table.at(index);
    if (!gid) continue;
    gids.push_back({.index = index,
                    .address = gid->is_ipv4_mapped() ? to_string(gid->ipv4()) : to_string(*gid),
                    .interface = std::string(table.interface_at(index))});
  }
  return gids;
}

/// The capability alone does not say it: it must be of the user namespace that our network namespace belongs
/// to.
bool can_open_raw_socket() {
  const drivers::Descriptor raw(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  return static_cast<bool>(raw);
}

/// Its rules can be read by an administrator alone.
std::string firewall_of(const fs::path& root) {
  std::error_code code;
  if (value_of(text_of(root / "etc/ufw/ufw.conf"), "ENABLED=yes")) return "ufw";
  if (fs::exists(root / "run/firewalld", code)) return "firewalld";
  return packet_filter_of(text_of(root / "proc/modules"));
}

/// As the program's own loader will, which says what is missing.
void load_dropin(const Result<std::string, Error>& folder, HostFacts& facts) {
  if (!folder) {
    facts.dropin_error = folder.error().message;
    return;
  }
  facts.dropin = folder.value() + "/libibverbs.so.1";
  if (dlopen(facts.dropin.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) facts.dropin_error = dlerror();
}

void read_runtime_folder(HostFacts& facts) {
  const auto folder = nic::private_folder();
  (folder ? facts.runtime_folder : facts.runtime_folder_error) =
      folder ? folder.value() : folder.error().message;
}

}  // namespace

std::optional<std::uint64_t> available_memory_of(const std::string& meminfo) {
  const auto kibibytes = number_in<std::uint64_t>(value_of(meminfo, "MemAvailable:").value_or(""));
  return kibibytes ? std::optional(*kibibytes * kKibibyte) : std::nullopt;
}

// "nf_tables 323584 42 nft_ct,nft_chain_nat, Live 0x0000000000000000": name, bytes, and by how many it is
// used. Each table is a use.
std::string packet_filter_of(const std::string& modules) {
  std::istringstream lines(modules);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t bytes = 0, uses = 0;
    if (!(words >> name >> bytes >> uses) || uses == 0) continue;
    if (name == "nf_tables") return "nftables";
    if (name == "ip_tables" || name == "ip6_tables") return "iptables";
  }
  return "";
}

std::vector<std::string> cpu_flags_of(const std::string& cpuinfo) {
  std::string line = value_of(cpuinfo, "flags").value_or(value_of(cpuinfo, "Features").value_or(""));
  std::istringstream words(line.substr(std::min(line.size(), line.find(':') + 1)));
  return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
}

std::optional<double> core_quota_of(const std::string& cpu_max) {
  std::istringstream words(cpu_max);
  double quota = 0;
  double period = 0;
  if (!(words >> quota >> period) || period <= 0) return std::nullopt;
  return quota / period;
}

HostFacts read_host_facts(const Result<std::string, Error>& dropin, const std::string& root_folder) {
  const fs::path root = root_folder;
  HostFacts facts;
  load_dropin(dropin, facts);
  read_runtime_folder(facts);
  facts.system_calls = probe_system_calls();
  facts.mounts = probe_mount_namespace();
  const fs::path group = control_group(root);
  facts.available_memory =
      smaller(available_memory_of(text_of(root / "proc/meminfo")), memory_left_in(group));
  facts.shm_bytes = size_of_file_system(root / "dev/shm");
  facts.locked_memory = locked_memory_limit();
  facts.cores = allowed_cores();
  facts.core_quota = core_quota_of(text_of(group / "cpu.max"));
  std::istringstream(text_of(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")) >>
      facts.clock_source;
  facts.cpu_flags = cpu_flags_of(text_of(root / "proc/cpuinfo"));
  facts.may_use_raw_sockets = can_open_raw_socket();
  facts.has_rxe_module = fs::exists(root / "sys/module/rdma_rxe");
  facts.rdma_devices = rdma_devices(root);
  facts.roce_port_holders = nic::udp_port_holders_and_processes(transport::wire::kRocePort, root_folder);
  facts.uid = geteuid();
  facts.firewall = firewall_of(root);
  facts.host_gids = gids_of_host();
  facts.interfaces = interfaces_up();
  return facts;
}

}  // namespace urnic::tools
