// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// urnic_switch: the switch of a fabric, which `urnic fabric` and the drop-in start, or the switch of the
// host, which the drop-in starts. People use `urnic fabric`.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "drivers/descriptor.h"
#include "drivers/fabric/join.h"
#include "drivers/fabric/start_switch.h"
#include "drivers/host/host_switch.h"
#include "nic/host/fabric_folder.h"
#include "nic/host/fabric_slots.h"
#include "nic/host/host_files.h"
#include "nic/host/interface_mtu.h"
#include "nic/host/port_spec.h"
#include "tools/runtime/switch/fabric_server.h"
#include "tools/runtime/switch/network_file.h"
#include "tools/runtime/switch/own_conditions.h"

namespace urnic::tools {
namespace {

/// A switch that was started on demand ends when no program has been there for so long.
constexpr std::chrono::seconds kLinger(5);

/// For the packet buffers of all ports; what no port uses stays address space.
constexpr unsigned kMemoryMib = 512;

/// Carries an RDMA MTU of 4096.
constexpr std::uint16_t kLinkMtu = 4200;

struct Arguments {
  bool is_for_host = false;  ///< then the fabric's arguments do not count
  bool may_be_elsewhere = false;
  std::string name{nic::kDefaultFabric};
  unsigned number = 0;
  std::uint16_t link_mtu = 0;  ///< 0: kLinkMtu, or the uplink's when that is less
  std::string uplink;
  std::string topology;
  bool on_demand = false;
  int ready_fd = -1;
};

Result<nic::SwitchFiles, Error> files_for(const Arguments& arguments) {
  if (arguments.is_for_host) return nic::host_switch_files();
  const auto folder = nic::FabricFolder::open(arguments.name);
  if (!folder) return folder.error();
  return folder.value().files_of_switch(arguments.number);
}

/// Goes on as a process that no parent waits for, which says what it has to say in a file.
Result<void, Error> become_daemon(const Arguments& arguments) {
  const auto files = files_for(arguments);
  if (!files) return files.error();
  const int log =
      open(files.value().log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (log >= 0) {
    dup2(log, STDERR_FILENO);
    close(log);
  }
  if (chdir("/") != 0) _exit(0);
  const pid_t child = fork();
  if (child > 0) _exit(0);
  if (child < 0) {
    const int code = errno;
    return Error{.code = code,
                 .message = fmt::format(
                     "the switch cannot go into the background: {}; perhaps there are too many processes "
                     "of this user (ulimit -u)",
                     std::generic_category().message(code))};
  }
  take_own_conditions();
  return success();
}

void say_last(int ready_fd, std::string_view text) {
  if (ready_fd < 0) return;
  [[maybe_unused]] const auto written = write(ready_fd, text.data(), text.size());
  close(ready_fd);
}

/// Tells the process that started us, see start_switch(), that requests are taken.
void report_ready(int ready_fd) {
  say_last(ready_fd, drivers::kSwitchIsReady);
}

/// Tells it why they will never be.
void report(int ready_fd, const Error& trouble) {
  say_last(ready_fd, fmt::format("{} {}", trouble.code, trouble.message));
}

/// Readable when the process shall end: at Ctrl-C, kill, and the end of its terminal, which is no concern of
/// a switch in the background. Threads that are made from now on have the signals blocked as well.
int end_signals(bool in_background) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  if (in_background) signal(SIGHUP, SIG_IGN);
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

/// Whether the variable says 1; 0 and nothing say no, as they do to programs.
bool is_set(const char* name) {
  const char* const value = secure_getenv(name);
  return value != nullptr && std::string(value) == "1";
}

/// Has the first switch make the trunk to this one, which then carries as much.
Result<void, Error> join_first(FabricServer::Options& options) {
  std::error_code code;
  options.program = std::filesystem::read_symlink("/proc/self/exe", code);
  auto trunk = drivers::join_first_switch(options.name, options.number, options.program);
  if (!trunk) return trunk.error();
  options.link_mtu = trunk.value().link_mtu;
  options.uplink = nic::PortSpec{.kind = nic::PortSpec::Kind::kVhost,
                                 .side = nic::PortSpec::VhostSide::kBack,
                                 .target = std::move(trunk.value().socket)};
  return success();
}

std::string in_words(const network::Topology& network) {
  return fmt::format("{} of {} hosts", network.name, network.hosts.size());
}

Result<void, Error> serve(const Arguments& arguments) {
  FabricServer::Options options{
      .name = arguments.name,
      .number = arguments.number,
      .program = {},
      .link_mtu = arguments.link_mtu != 0 ? arguments.link_mtu : kLinkMtu,
      .uplink = {},
      .network = {},
      .dpdk = {.verbose = is_set("URNIC_VERBOSE"), .memory_mib = kMemoryMib},
      .start = arguments.on_demand ? drivers::SwitchStart::kOnDemand : drivers::SwitchStart::kByHand};
  if (!arguments.uplink.empty()) {
    const auto uplink = nic::PortSpec::parse(arguments.uplink);
    if (!uplink) return uplink.error();
    options.uplink = uplink.value();
    if (arguments.link_mtu == 0 && uplink.value().kind == nic::PortSpec::Kind::kAfPacket) {
      const auto carried = nic::interface_mtu(uplink.value().target);
      if (!carried) return carried.error();
      options.link_mtu = std::min(kLinkMtu, carried.value());
    }
  }
  if (!arguments.topology.empty()) {
    auto network = read_network(arguments.topology, {options.link_mtu, options.uplink.has_value()});
    if (!network) return network.error();
    options.network = std::move(network.value());
  }
  if (arguments.number != 0) {
    if (const auto joined = join_first(options); !joined) return joined.error();
  }
  const drivers::Descriptor end(end_signals(arguments.on_demand));
  auto server = FabricServer::open(options);
  if (!server) return server.error();
  report_ready(arguments.ready_fd);
  if (!arguments.on_demand) {
    fmt::print("fabric {}: process {}, packets of up to {} bytes{}{}; Ctrl-C ends it\n", arguments.name,
               getpid(), options.link_mtu, options.uplink ? ", uplink " + options.uplink->to_string() : "",
               options.network ? ", network " + in_words(*options.network) : "");
    std::fflush(stdout);
  }
  server.value()->serve(end.get(), arguments.on_demand ? std::optional(kLinger) : std::nullopt);
  for (const std::string& line : server.value()->fault_report()) fmt::print(stderr, "urnic: {}\n", line);
  return success();
}

/// Each process of the host takes some.
void allow_all_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Result<void, Error> serve_host(const Arguments& arguments) {
  const auto files = nic::host_switch_files();
  if (!files) return files.error();
  allow_all_descriptors();
  const drivers::Descriptor end(end_signals(arguments.on_demand));
  auto host = drivers::HostSwitch::open(
      {.files = files.value(),
       .start = arguments.on_demand ? drivers::SwitchStart::kOnDemand : drivers::SwitchStart::kByHand,
       .may_be_elsewhere = arguments.may_be_elsewhere});
  if (!host) return host.error();
  report_ready(arguments.ready_fd);
  if (!arguments.on_demand) {
    fmt::print("the NIC of the host: process {}; Ctrl-C ends it\n", getpid());
    std::fflush(stdout);
  }
  host.value()->serve(end.get(), arguments.on_demand ? std::optional(kLinger) : std::nullopt);
  return success();
}

int main_of(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("The switch of a fabric, which 'urnic fabric' starts, or of the host.", "urnic_switch");
  app.add_flag("--host", arguments.is_for_host, "Be the switch of the host, for programs with --port host");
  app.add_flag("--or-elsewhere", arguments.may_be_elsewhere,
               "Where another user has UDP port 4791, be a switch for programs of this host alone");
  app.add_option("--name", arguments.name, "The fabric");
  app.add_option("--number", arguments.number, "Which of its switches; all but 0 join that one")
      ->check(CLI::Range(nic::kFabricSwitches - 1));
  app.add_option("--mtu", arguments.link_mtu, "Largest IP packet, bytes");
  app.add_option("--uplink", arguments.uplink, "A port to the world, as urnic run --port has it");
  app.add_option("--topology", arguments.topology, "The file of the network between its programs");
  app.add_flag("--on-demand", arguments.on_demand,
               "Go into the background, and end when no program needs it");
  app.add_option("--ready-fd", arguments.ready_fd, "Where to say that it is ready, or what is wrong");
  CLI11_PARSE(app, argc, argv);

  if (arguments.on_demand) {
    if (const auto done = become_daemon(arguments); !done) {
      report(arguments.ready_fd, done.error());
      return 1;
    }
  }
  const auto served = arguments.is_for_host ? serve_host(arguments) : serve(arguments);
  if (served) return 0;
  // The process that started us on demand can use another one's switch.
  const bool is_content = arguments.on_demand && served.error().code == EBUSY;
  if (is_content) {
    report_ready(arguments.ready_fd);
    return 1;
  }
  report(arguments.ready_fd, served.error());
  fmt::print(stderr, "urnic: {}\n", served.error().message);
  return 1;
}

}  // namespace
}  // namespace urnic::tools

int main(int argc, char** argv) {
  return urnic::tools::main_of(argc, argv);
}
