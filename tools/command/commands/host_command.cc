// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/host_command.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "drivers/host/switch_connection.h"
#include "nic/host/host_files.h"
#include "nic/host/process_state.h"
#include "nic/host/udp_port_holders.h"
#include "tools/command/console.h"
#include "transport/wire/udp.h"

namespace urnic::tools {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kPatience(3000);

constexpr const char* kHostFooter =
    R"(With 'urnic run --port host' the programs of one user have one NIC, with the addresses of this host: each has a share of its
queue pairs. A process of its own, the switch of the host, has UDP port 4791 for them and the table of rdma_cm's ports, and
hands connection requests to the program that listens. The first program starts it, and it ends five seconds after the
last one has left. Each network namespace is a host. Where another user has that UDP port, and no program names --port host, the
switch has another one: then other hosts do not reach the NIC. You need this command only

  urnic host status          to see which programs there are, and who listens where
  urnic host stop            to end the switch; programs that run start another one

Exit code: 0, 2 for wrong usage, 1 for anything else, such as a host without a switch.)";

Error no_switch() {
  const auto holders = nic::udp_port_holders_and_processes(transport::wire::kRocePort);
  if (holders.empty()) {
    return {.code = ENOENT,
            .message =
                "no program of yours uses the NIC of this host: it has no switch; the first 'urnic run "
                "--port host' starts it"};
  }
  const std::string processes = nic::processes_text(holders);
  return {.code = EADDRINUSE,
          .message = fmt::format("the NIC of this host has no switch of yours, and none can start: UDP port "
                                 "4791 is taken{}{}; 'urnic doctor' says more",
                                 processes.empty() ? "" : " by ", processes)};
}

Result<drivers::SwitchConnection::Reply, Error> ask(drivers::HostRequestKind kind) {
  const auto files = nic::host_switch_files();
  if (!files) return files.error();
  auto connection = drivers::SwitchConnection::connect(files.value());
  if (!connection && connection.error().code == ENOENT) {
    return no_switch();
  }
  if (!connection) return connection.error();
  auto reply = connection.value().ask({.kind = kind}, kPatience);
  const int process = connection.value().process();
  if (reply || !nic::is_stopped(process)) return reply;
  return Error{
      .code = reply.error().code,
      .message = fmt::format("{}: it is stopped, by a signal or a debugger; 'kill -CONT {}' lets it go on",
                             reply.error().message, process)};
}

/// The whole of a file that came as a descriptor; empty when it cannot be read.
std::string read_all(int fd) {
  struct stat about {};
  if (fstat(fd, &about) != 0) return {};
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  const ssize_t bytes = pread(fd, text.data(), text.size(), 0);
  text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return text;
}

std::string describe_port(const json& port) {
  const auto address = port.at("address").get<std::string>();
  const bool is_ipv6 = address.find(':') != std::string::npos;
  return fmt::format("{} {}{}{}:{}{}", port.at("space").get<std::string>(), is_ipv6 ? "[" : "", address,
                     is_ipv6 ? "]" : "", port.at("port").get<unsigned>(),
                     port.at("listening").get<bool>() ? " listens" : "");
}

void print_members(const json& status) {
  const json& members = status.at("members");
  const json& requests = status.at("requests");
  const auto udp_port = status.at("udp_port").get<unsigned>();
  fmt::print(
      "host: process {}, UDP port {}{}, {} of 255 programs; connection requests: {} handed over, {} refused, "
      "{} dropped\n",
      status.at("process").get<int>(), udp_port,
      udp_port == transport::wire::kRocePort ? "" : " (of this host alone)", members.size(),
      requests.at("handed_over").get<std::uint64_t>(), requests.at("refused").get<std::uint64_t>(),
      requests.at("not_taken").get<std::uint64_t>() + requests.at("malformed").get<std::uint64_t>());
  fmt::print("{:<7}{:<28}{:<16}{}\n", "share", "program", "queue pairs", "rdma_cm ports");
  for (const json& member : members) {
    const auto slot = member.at("slot").get<unsigned>();
    std::string ports;
    for (const json& port : member.at("ports")) ports += (ports.empty() ? "" : ", ") + describe_port(port);
    fmt::print(
        "{:<7}{:<28}{:<16}{}\n", slot,
        fmt::format("{} ({})", member.at("program").get<std::string>(), member.at("process").get<int>()),
        fmt::format("0x{:02x}....", slot), ports.empty() ? "-" : ports);
  }
}

}  // namespace

HostCommand::HostCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      app.add_subcommand("host", "The NIC that programs share: urnic host status, urnic host stop");
  command->footer(kHostFooter);
  CLI::App* const status =
      command->add_subcommand("status", "Which programs there are, and who listens where");
  status->add_flag("--json", json_, "One JSON object");
  command->add_subcommand("stop", "End the switch");
  command->require_subcommand(1);
  command->callback(
      [this, &invocation, status] { invocation.exit_code = status->parsed() ? this->status() : stop(); });
}

int HostCommand::status() const {
  const auto reply = ask(drivers::HostRequestKind::kStatus);
  if (!reply) {
    complain(reply.error().message);
    return kExitFailure;
  }
  try {
    const json status = json::parse(
        reply.value().descriptors.empty() ? "" : read_all(reply.value().descriptors.front().get()));
    if (json_) {
      std::puts(status.dump().c_str());
    } else {
      print_members(status);
    }
  } catch (const json::exception&) {
    complain("the switch is of another version: it answers what this tool does not understand");
    return kExitFailure;
  }
  return 0;
}

int HostCommand::stop() const {
  const auto reply = ask(drivers::HostRequestKind::kStop);
  if (reply) return 0;
  complain(reply.error().message);
  return kExitFailure;
}

}  // namespace urnic::tools
