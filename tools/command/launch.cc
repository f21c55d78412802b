// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/launch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "drivers/af_xdp/af_xdp_port.h"
#include "drivers/bench/bench_link.h"
#include "drivers/pci/card.h"
#include "tools/command/console.h"
#include "tools/command/known_programs.h"
#include "tools/runtime/loader/program_file.h"
#include "transport/wire/address.h"
#include "verbs_api/config/environment_values.h"

namespace urnic::tools {
namespace {

constexpr const char* kLeaseVariable = "URNIC_LEASE_FD";
constexpr const char* kIdentityVariables[] = {"URNIC_IP",
                                              "URNIC_IP6",
                                              "URNIC_MAC",
                                              "URNIC_VLAN",
                                              "URNIC_MTU",
                                              "URNIC_PORT",
                                              "URNIC_PCAP",
                                              "URNIC_RECORD",
                                              "URNIC_FAULT",
                                              "URNIC_SEED",
                                              "URNIC_DEVICES",
                                              kLeaseVariable,
                                              verbs_api::kRunVariable,
                                              verbs_api::kChosenVariable};

Error system_error(const std::string& what, const char* advice = "") {
  const int code = errno;
  return Error{.code = code,
               .message = fmt::format("{}: {}{}", what, std::generic_category().message(code), advice)};
}

/// Whether an address of the NIC is one of this host's: two would answer for it.
bool host_has(const transport::wire::Gid& gid) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    transport::wire::Gid address;
    if (entry->ifa_addr == nullptr) continue;
    if (entry->ifa_addr->sa_family == AF_INET) {
      sockaddr_in ipv4{};
      transport::wire::Ipv4Address octets;
      std::memcpy(&ipv4, entry->ifa_addr, sizeof ipv4);
      std::memcpy(octets.octets.data(), &ipv4.sin_addr, octets.octets.size());
      address = transport::wire::Gid::from_ipv4(octets);
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      sockaddr_in6 ipv6{};
      std::memcpy(&ipv6, entry->ifa_addr, sizeof ipv6);
      std::memcpy(address.octets.data(), &ipv6.sin6_addr, address.octets.size());
    }
    if (!address.is_unspecified() && address == gid) return true;
  }
  return false;
}

Result<void, Error> check_interface(const verbs_api::NicEnvironment& environment) {
  const nic::DeviceConfig& device = environment.device;
  const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return system_error(fmt::format("interface {}", environment.port.target),
                        " (raw packets need CAP_NET_RAW)");
  }
  close(fd);
  const auto taken = [](const std::string& address) {
    return Error{
        .code = EADDRINUSE,
        .message = fmt::format("address {} is this host's own; give the NIC one that is free", address)};
  };
  if (device.ipv4 && host_has(transport::wire::Gid::from_ipv4(device.ipv4->address))) {
    return taken(to_string(device.ipv4->address));
  }
  if (device.ipv6 && host_has(device.ipv6->address)) return taken(to_string(device.ipv6->address));
  return success();
}

/// Of a variable that each device has for itself; see verbs_api::Variables.
std::string own_name(const char* name, unsigned device) {
  return device == 0 ? name : fmt::format("{}_{}", name, device);
}

void set(const std::string& name, const std::string& value) {
  if (value.empty()) {
    unsetenv(name.c_str());
  } else {
    setenv(name.c_str(), value.c_str(), 1);
  }
}

std::string to_text(const std::optional<nic::Ipv4Interface>& interface) {
  return interface ? fmt::format("{}/{}", to_string(interface->address), interface->prefix_length) : "";
}

std::string to_text(const std::optional<nic::Ipv6Interface>& interface) {
  return interface ? fmt::format("{}/{}", to_string(interface->address), interface->prefix_length) : "";
}

}  // namespace

void forget_outer_nic() {
  if (secure_getenv(verbs_api::kRunVariable) == nullptr) return;
  for (unsigned device = 0; device < verbs_api::kMaxDevices; ++device) {
    for (const char* const name : kIdentityVariables) unsetenv(own_name(name, device).c_str());
  }
  // The library that was preloaded for the outer run's programs is in this one, too.
  if (void* const show_nothing = dlsym(RTLD_DEFAULT, "urnic_paths_show_nothing"); show_nothing != nullptr) {
    reinterpret_cast<void (*)()>(show_nothing)();
  }
}

Result<void, Error> check_port(const verbs_api::NicEnvironment& environment) {
  const nic::PortSpec& port = environment.port;
  if (port.kind == nic::PortSpec::Kind::kAfXdp) {
    const auto checked = drivers::check_af_xdp(port.target, environment.device.link_mtu);
    if (!checked) return checked.error();
  }
  if (port.kind == nic::PortSpec::Kind::kBench) {
    if (auto checked = drivers::check_bench_path(port.target); !checked) return checked;
  }
  if (port.kind == nic::PortSpec::Kind::kPci) {
    const auto card = drivers::PciCard::find(port.target, drivers::kPciMemoryBytes);
    if (!card) return card.error();
  }
  if (port.is_interface()) {
    if (auto checked = check_interface(environment); !checked) return checked.error();
  }
  for (const std::string& file : {environment.pcap_file, environment.record_file}) {
    if (file.empty()) continue;
    const int fd =
        open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (fd < 0) return system_error(fmt::format("recording {}", file));
    close(fd);
  }
  return success();
}

namespace {

/// The program may be in another folder when it opens it.
std::string whole_path(const std::string& file) {
  std::error_code code;
  return file.empty() ? file : std::filesystem::absolute(file, code).string();
}

/// Faults of calls are the process's, and the first device's variable has them.
verbs_api::FaultList faults_of(const verbs_api::NicEnvironment& environment) {
  verbs_api::FaultList faults = environment.faults;
  if (environment.number == 0) return faults;
  faults.calls.clear();
  faults.events.clear();
  return faults;
}

/// What one device has for itself. Returns the variables that the user left open, as kChosenVariable has
/// them.
Result<std::string, Error> export_device(const verbs_api::NicEnvironment& environment) {
  if (auto kept = environment.lease.keep_over_exec(); !kept) return kept.error();
  const nic::DeviceConfig& device = environment.device;
  const auto set_own = [&environment](const char* name, const std::string& value) {
    set(own_name(name, environment.number), value);
  };
  // The host's addresses go with the port.
  const bool has_own_addresses = device.medium == nic::Medium::kEthernet;
  set_own("URNIC_IP", has_own_addresses ? to_text(device.ipv4) : "");
  set_own("URNIC_IP6", has_own_addresses ? to_text(device.ipv6) : "");
  set_own("URNIC_MAC", to_string(device.mac));
  set_own("URNIC_MTU", std::to_string(device.link_mtu));
  set_own("URNIC_VLAN", device.vlan != 0 ? std::to_string(device.vlan) : "");
  set_own("URNIC_PORT", environment.port.to_string());
  set_own("URNIC_FAULT", faults_of(environment).to_string());
  set_own(kLeaseVariable, environment.lease.is_held() ? std::to_string(environment.lease.descriptor()) : "");
  set_own("URNIC_PCAP", whole_path(environment.pcap_file));
  set_own("URNIC_RECORD", whole_path(environment.record_file));
  std::string chosen;
  for (const char* const plain : environment.left_open) {
    const std::string name = own_name(plain, environment.number);
    if (const char* const value = secure_getenv(name.c_str())) chosen += fmt::format(" {}={}", name, value);
  }
  return chosen;
}

}  // namespace

Result<void, Error> export_environments(std::span<const verbs_api::NicEnvironment> environments) {
  std::string chosen;
  for (const verbs_api::NicEnvironment& environment : environments) {
    const auto exported = export_device(environment);
    if (!exported) return exported.error();
    chosen += exported.value();
  }
  const verbs_api::NicEnvironment& first = environments.front();
  set("URNIC_DEVICES", environments.size() > 1 ? std::to_string(environments.size()) : "");
  set("URNIC_VERBOSE", first.verbose ? "1" : "");
  set("URNIC_EXPLAIN", first.explains ? "1" : "");
  set(verbs_api::kRunVariable, std::to_string(getpid()));
  set(verbs_api::kChosenVariable, chosen.empty() ? chosen : chosen.substr(1));
  return success();
}

Result<std::string, Error> dropin_folder() {
  std::error_code code;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) {
    return Error{.code = code.value(),
                 .message = fmt::format("/proc/self/exe: {}; urnic needs /proc: mount -t proc proc /proc",
                                        code.message())};
  }
  const auto folder = executable.parent_path().parent_path() / "lib" / "urnic";
  for (const char* const name : {"libibverbs.so.1", "liburnic_audit.so"}) {
    if (std::filesystem::exists(folder / name, code)) continue;
    return Error{
        .code = ENOENT,
        .message = fmt::format("{}/{} is missing; build the project with DPDK, or install urnic as a whole",
                               folder.string(), name)};
  }
  // The loader would take the text after one of these for another folder.
  if (folder.string().find_first_of(":;") != std::string::npos) {
    return Error{
        .code = EINVAL,
        .message = fmt::format("{}: LD_LIBRARY_PATH cannot lead into a folder whose name has ':' or ';'; "
                               "move urnic to another one",
                               folder.string())};
  }
  return folder.string();
}

std::string describe(const nic::DeviceConfig& device) {
  std::string addresses = to_text(device.ipv4);
  if (device.ipv6) addresses += (addresses.empty() ? "" : ", ") + to_text(device.ipv6);
  return fmt::format("{}: {}, {}, {}, link MTU {}{}", device.name, addresses, to_string(device.mac),
                     device.port_name, device.link_mtu,
                     device.vlan != 0 ? fmt::format(", VLAN {}", device.vlan) : "");
}

int execute(const std::vector<std::string>& program) {
  std::vector<char*> arguments;
  for (const std::string& argument : program) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  int code = errno;
  if (code == EACCES && !find_program(program[0])) {
    code = ENOENT;  // what may not be searched is a folder of PATH
  }
  complain(fmt::format("cannot run {}: {}", program[0],
                       code == ENOENT ? "there is no such program" + advice_on_missing_program(program[0])
                                      : std::generic_category().message(code)));
  return code == ENOENT || code == ENOTDIR ? kExitNotFound : kExitNotExecutable;
}

}  // namespace urnic::tools
