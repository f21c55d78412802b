// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/doctor/judgement.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "nic/config.h"

namespace urnic::tools {
namespace {

constexpr std::uint64_t kMebibyte = 1u << 20;
/// Two programs that talk and the switch have 39 MiB (PSS, measured with ib_write_bw).
constexpr std::uint64_t kLeastMemory = 64 * kMebibyte;
/// What Docker gives by default.
constexpr std::uint64_t kSmallShm = 64 * kMebibyte;

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{} MiB", bytes / kMebibyte);
}

/// The Debian package of a library that the drop-in needs.
std::string_view package_of(std::string_view loader_says) {
  struct Library {
    std::string_view name, package;
  };
  constexpr Library kLibraries[] = {{"libnuma.so", "libnuma1"}, {"libbsd.so", "libbsd0"}};
  for (const Library& library : kLibraries) {
    if (loader_says.find(library.name) != std::string_view::npos) return library.package;
  }
  return "";
}

Finding judge_dropin(const HostFacts& facts) {
  if (facts.dropin_error.empty()) return good("drop-in", facts.dropin + " can be loaded");
  const std::string_view package = package_of(facts.dropin_error);
  return problem("drop-in", facts.dropin_error,
                 package.empty() ? "install urnic as a whole: bin/urnic and lib/urnic beside each other"
                                 : fmt::format("install that library; Debian's package is {}", package));
}

Finding judge_runtime_folder(const HostFacts& facts) {
  if (facts.runtime_folder_error.empty()) return good("runtime folder", facts.runtime_folder);
  return problem("runtime folder", facts.runtime_folder_error,
                 "programs meet by sockets in it: set XDG_RUNTIME_DIR to a folder of yours, mode 0700, the "
                 "same for all");
}

Finding judge_files(const HostFacts& facts) {
  const std::string preload = "by functions of the C library (preload)";
  switch (facts.mounts.way) {
    case NamespaceWay::kPlain:
      return good("device files", preload + "; for static programs and Go by mounts of their own");
    case NamespaceWay::kUser:
      return good("device files",
                  preload + "; for static programs and Go by mounts in a user namespace of their own");
    case NamespaceWay::kForbidden:
      break;
  }
  return note("device files", fmt::format("{}; mounts are not possible: {}", preload, facts.mounts.reason),
              "static programs and programs in Go do not see the device below /sys and /dev");
}

void judge_system_calls(const HostFacts& facts, std::vector<Finding>& findings) {
  bool all_work = true;
  for (const ProbedSystemCall& call : facts.system_calls) {
    if (call.error == 0) continue;
    all_work = false;
    const std::string found = fmt::format("{}: {}", call.name, std::strerror(call.error));
    const std::string remedy = fmt::format(
        "without it {}; a seccomp filter or security module of this sandbox forbids it, or the kernel is "
        "older than 5.3",
        call.loss);
    findings.push_back(call.is_needed ? problem("system calls", found, remedy)
                                      : note("system calls", found, remedy));
  }
  if (all_work) findings.push_back(good("system calls", "all that urnic uses are allowed"));
}

Finding judge_memory(const HostFacts& facts) {
  if (!facts.available_memory) return good("memory", "not known");
  const std::string found = megabytes(*facts.available_memory) + " available";
  if (*facts.available_memory >= kLeastMemory) return good("memory", found);
  return problem("memory", found,
                 fmt::format("two programs that talk, and the switch, want {}: end other programs, or raise "
                             "the limit of the control group",
                             megabytes(kLeastMemory)));
}

Finding judge_shm(const HostFacts& facts) {
  if (!facts.shm_bytes) {
    return note("/dev/shm", "there is none", "urnic does not use it; Open MPI and UCX do");
  }
  const std::string found = megabytes(*facts.shm_bytes);
  if (*facts.shm_bytes > kSmallShm) return good("/dev/shm", found);
  return note("/dev/shm", found,
              "urnic does not use it; Open MPI and UCX may want more: docker run --shm-size=1g");
}

Finding judge_locked_memory(const HostFacts& facts) {
  if (!facts.locked_memory) return good("locked memory", "no limit");
  return good("locked memory", fmt::format("{} KiB; urnic locks no memory, however much is registered",
                                           *facts.locked_memory / 1024));
}

Finding judge_cores(const HostFacts& facts) {
  const double usable = std::min<double>(facts.cores, facts.core_quota.value_or(facts.cores));
  const std::string found =
      facts.core_quota ? fmt::format("{} of {} cores, by the quota of the control group", usable, facts.cores)
                       : fmt::format("{}", facts.cores);
  if (usable >= 2) return good("cores", found);
  return note("cores", found,
              "two programs that poll share a core, and wait for each other's turn: milliseconds instead of "
              "microseconds; let them sleep in events (perftest -e)");
}

Finding judge_clock(const HostFacts& facts) {
  constexpr std::string_view kFast[] = {"tsc", "arch_sys_counter", "kvm-clock",
                                        "hyperv_clocksource_tsc_page"};
  if (facts.clock_source.empty()) return good("clock", "not known");
  if (std::find(std::begin(kFast), std::end(kFast), facts.clock_source) != std::end(kFast)) {
    return good("clock", facts.clock_source);
  }
  return note("clock", facts.clock_source,
              "reading it is a system call, once per message: small messages are slower");
}

Finding judge_processor(const HostFacts& facts) {
  const auto has = [&facts](std::string_view flag) {
    return std::find(facts.cpu_flags.begin(), facts.cpu_flags.end(), flag) != facts.cpu_flags.end();
  };
  if (facts.cpu_flags.empty()) return good("processor", "not known");
  if (has("vpclmulqdq") && has("avx512f")) return good("processor", "ICRC with VPCLMULQDQ");
  if (has("pclmulqdq") || has("pmull")) {
    return good("processor", has("pmull") ? "ICRC with PMULL" : "ICRC with PCLMULQDQ");
  }
  return note("processor", "no carry-less multiplication",
              "the ICRC takes several times as long: large messages are slower");
}

std::string text_of(const RdmaDeviceFacts& device) {
  return device.driver.empty() ? device.name + " (software)"
                               : fmt::format("{} ({})", device.name, device.driver);
}

Finding judge_rdma_devices(const HostFacts& facts) {
  if (facts.rdma_devices.empty() && !facts.has_rxe_module) return good("other RDMA devices", "none");
  if (facts.rdma_devices.empty()) {
    return note("other RDMA devices", "rdma_rxe is loaded and has no device",
                "programs of 'urnic run' do not see it; its UDP socket is in the line of port 4791");
  }
  std::string found;
  bool is_connectx = false;
  for (const RdmaDeviceFacts& device : facts.rdma_devices) {
    found += (found.empty() ? "" : ", ") + text_of(device);
    is_connectx |= device.driver.starts_with("mlx");
  }
  return note(
      "other RDMA devices", found,
      is_connectx
          ? "programs of 'urnic run' see urnic0 instead; a ConnectX with RoCE enabled takes all frames to "
            "UDP port 4791 of its addresses: give a NIC on that interface an address of its own"
          : "programs of 'urnic run' see urnic0 instead");
}

/// A member of the switch has some of its sockets, too.
bool is_shared_by_a_switch(const std::vector<nic::UdpPortHolder>& holders) {
  return std::ranges::any_of(holders, [](const nic::UdpPortHolder& holder) {
    return std::ranges::find(holder.processes, "urnic_switch", &nic::UdpPortHolder::Process::program) !=
           holder.processes.end();
  });
}

Finding judge_roce_port(const HostFacts& facts) {
  constexpr const char* kCheck = "UDP port 4791";
  constexpr const char* kOwnAddress =
      "it answers on the host's addresses, so a NIC of --port af_packet needs an address of its own (--ip)";
  constexpr const char* kWithoutIt =
      "your programs that name no port still talk to each other on this host; --port host and udp, which "
      "other hosts reach, cannot have it";
  if (facts.roce_port_holders.empty()) return good(kCheck, "free");
  const auto kernel = std::ranges::find(facts.roce_port_holders, true, &nic::UdpPortHolder::is_kernel);
  if (kernel != facts.roce_port_holders.end()) {
    return note(kCheck, "the kernel has it: rdma_rxe, most likely",
                fmt::format("{}: 'rmmod rdma_rxe', as root; {}", kWithoutIt, kOwnAddress));
  }
  const unsigned uid = facts.roce_port_holders.front().uid;
  const std::string processes = nic::processes_text(facts.roce_port_holders);
  if (uid != facts.uid) {
    return note(kCheck,
                processes.empty() ? fmt::format("a process of user {} has it, which only root sees", uid)
                                  : fmt::format("user {} has it: {}", uid, processes),
                fmt::format("{} while that runs; {}", kWithoutIt, kOwnAddress));
  }
  if (processes.empty()) {
    return note(kCheck,
                "a process of yours has it that does not show here: one of another container, most likely",
                "programs that name no port, or --port host, share it if they find its switch; otherwise end "
                "that container");
  }
  if (!is_shared_by_a_switch(facts.roce_port_holders)) {
    return note(kCheck, fmt::format("{} of yours has it alone", processes),
                "programs that name no port, or --port host, cannot have it while that runs: end it, if it "
                "is no NIC of --port udp and no 'urnic doctor --answer'");
  }
  return good(kCheck, fmt::format("the switch of your programs has it, and they share it: {}", processes));
}

/// What may have rules against packets to RoCE's port, and how an administrator lets them in, or sees.
Finding judge_firewall(const HostFacts& facts) {
  constexpr const char* kCheck = "firewall";
  struct Firewall {
    std::string_view name, remedy;
  };
  constexpr Firewall kFirewalls[] = {
      {"ufw", "as root, 'ufw allow 4791/udp' lets them in"},
      {"firewalld", "as root, 'firewall-cmd --add-port=4791/udp' lets them in"},
      {"nftables", "as root, 'nft list ruleset' shows the rules"},
      {"iptables", "as root, 'iptables -S' shows the rules"}};
  const auto* const found = std::ranges::find(kFirewalls, facts.firewall, &Firewall::name);
  if (found == std::end(kFirewalls)) return good(kCheck, "none shows");
  return note(
      kCheck, fmt::format("{} is in use", found->name),
      fmt::format(
          "other machines' packets to UDP port 4791 must get in ('urnic doctor --peer HOST' finds out): {}",
          found->remedy));
}

Finding judge_raw_sockets(const HostFacts& facts) {
  if (facts.may_use_raw_sockets) {
    return good("CAP_NET_RAW", "yes: --port af_packet:IFACE reaches other machines");
  }
  return note("CAP_NET_RAW", "no",
              "neither programs on this machine nor the way to others by --port host, the default, need it; "
              "--port af_packet, where the NIC has an address of its own there, needs it: docker run "
              "--cap-add NET_RAW, or root");
}

/// The largest path MTU of a NIC on such an interface.
unsigned path_mtu(std::size_t packet_bytes) {
  nic::DeviceConfig config;
  config.link_mtu = static_cast<std::uint16_t>(packet_bytes);
  return bytes(nic::max_path_mtu(config));
}

/// What people look for.
Finding judge_gid_index(const HostFacts& facts) {
  constexpr const char* kCheck = "GID index";
  const auto has = [&](std::size_t index) {
    return std::ranges::find(facts.host_gids, index, &HostGid::index) != facts.host_gids.end();
  };
  if (!has(1) && has(2)) {
    return good(kCheck,
                "2 of urnic0 is this host's IPv6 address (perftest -x 2, ibv_rc_pingpong -g 2), and 1 is "
                "empty, as it has no IPv4 address; on a fabric 1 is an IPv4 address, and 0 is link-local");
  }
  return good(kCheck,
              "1 of urnic0 is its IPv4 address (perftest -x 1, ibv_rc_pingpong -g 1), 0 is link-local, 2 is "
              "an IPv6 address that was given");
}

Finding judge_host_gids(const HostFacts& facts) {
  constexpr const char* kCheck = "GIDs of --port host";
  if (facts.host_gids.empty()) {
    return note(kCheck, "no interface is up and has an address", "--port host needs one: ip link set lo up");
  }
  std::string found;
  for (const HostGid& gid : facts.host_gids) {
    found += fmt::format("{}{} {} ({})", found.empty() ? "" : ", ", gid.index, gid.address, gid.interface);
  }
  return good(kCheck, found);
}

Finding judge_silence(const PathFacts& facts) {
  const std::string check = "way to " + facts.peer;
  if (!facts.error.empty()) {
    return problem(check, facts.error, "name a host that this one has a route to, or its address");
  }
  if (facts.is_refused) {
    return problem(check, fmt::format("{} is there, and no socket has its UDP port 4791", facts.address),
                   "run 'urnic doctor --answer' there meanwhile");
  }
  return problem(check, fmt::format("{} does not answer on UDP port 4791", facts.address),
                 "run 'urnic doctor --answer' there meanwhile; if it runs, something between drops UDP port "
                 "4791: a firewall, a security group of the cloud, or a ConnectX with RoCE enabled, which "
                 "takes those frames to itself");
}

void judge_interfaces(const HostFacts& facts, std::vector<Finding>& findings) {
  for (const InterfaceFacts& interface : facts.interfaces) {
    findings.push_back(good("interface " + interface.name,
                            fmt::format("{}; MTU {}: path MTU up to {}", fmt::join(interface.addresses, ", "),
                                        interface.mtu, path_mtu(interface.mtu))));
  }
  if (facts.interfaces.empty()) {
    findings.push_back(note("interfaces", "none is up but the loopback",
                            "programs on this machine meet; no other is reached"));
  }
}

}  // namespace

Finding judge(const PathFacts& facts) {
  if (!facts.is_answered) return judge_silence(facts);
  const std::string check = "way to " + facts.peer;
  if (!facts.seen_as.empty()) {
    return problem(
        check,
        fmt::format("{} sees {} as {}: something between translates addresses (NAT)", facts.address,
                    facts.sent_from, facts.seen_as),
        "RoCEv2 cannot pass it, as its ICRC covers addresses and UDP source port: give both ends addresses "
        "that reach each other unchanged (docker run --network host, a macvlan or routed network, a tunnel)");
  }
  const unsigned bytes = std::min(facts.bytes_there, facts.bytes_back);
  const std::string found =
      fmt::format("{}, {:.0f} us: packets of up to {} bytes there and {} back: path MTU up to {}",
                  facts.address, facts.round_trip_us, facts.bytes_there, facts.bytes_back, path_mtu(bytes));
  if (facts.bytes_back < facts.bytes_there) {
    return note(check, found, fmt::format("give both NICs an MTU that both ways carry: --mtu {}", bytes));
  }
  if (path_mtu(bytes) < 1024) {
    return note(check, found, "messages take more packets than usual: raise the MTU of the network between");
  }
  return good(check, found);
}

std::vector<Finding> judge(const HostFacts& facts) {
  std::vector<Finding> findings{judge_dropin(facts), judge_runtime_folder(facts)};
  judge_system_calls(facts, findings);
  findings.push_back(judge_files(facts));
  for (const auto judge_one : {judge_memory, judge_shm, judge_locked_memory, judge_cores, judge_clock,
                               judge_processor, judge_rdma_devices, judge_roce_port, judge_firewall,
                               judge_gid_index, judge_host_gids, judge_raw_sockets}) {
    findings.push_back(judge_one(facts));
  }
  judge_interfaces(facts, findings);
  return findings;
}

}  // namespace urnic::tools
