// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/stat_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "nic/diagnostics/snapshot_json.h"
#include "nic/diagnostics/snapshot_names.h"
#include "nic/host/lock_file.h"
#include "tools/command/console.h"
#include "tools/inspection/stat/processes.h"
#include "tools/inspection/stat/table.h"
#include "tools/inspection/stat/terminal.h"

namespace urnic::tools {
namespace {

using transport::wire::Gid;
using transport::wire::Ipv4Address;

constexpr const char* kStatFooter =
    R"(Shows the processes of this user that have an urnic device open: their addresses, queue pairs, ids of rdma_cm and
counters.

  urnic stat                      all of them; on a terminal again every second, until q or Ctrl-C
  urnic stat 4711 10.77.0.2       the process 4711, and whose NIC has that address
  urnic stat --json | jq .        once, for programs

Columns: sends and recvs are posted work requests that are not complete (recvs: of a receive queue of its own); flight and
reads are packets and READs or atomics that the peer has not answered; retries and RNR are attempts used of those allowed
since the last progress; lost and waits count timeouts with losses, and RNR NAKs waited out, since RESET (* waiting now);
MTU is the path MTU. A CM id is a listener or a connection of librdmacm (rdma_cm_id): the states of it and of its connection
have the names of the kernel's rdma_cm and ib_cm; backlog is how many requests may still come before the program fetches one.
Counters that are zero are not shown.

--json prints one object and ends. It is stable: within a version members are only added.
  version     1
  processes   an array, of objects with
    version, program, pid, device, port (as for 'urnic run --port'), port_is_open, mac, addresses (by GID index),
    link_mtu (bytes), uptime_ns, completion_queues, shared_receive_queues, memory_regions, memory_windows,
    counters    an object: name to number
    queue_pairs an array, of objects with number, type (RC, UC, UD, XRC_INI, XRC_TGT or RAW_PACKET), state (RESET, INIT,
                RTR, RTS, SQD, SQE or ERR), peer_qp and peer_address (null without a peer), send_psn and receive_psn (the
                next ones), msn, path_mtu, sends_posted, receives_posted, packets_in_flight, reads_in_flight,
                waits_for_receiver, retries_used, retry_count, rnr_retries_used, rnr_retry (7: no limit), ack_timeout
                (code), retries and rnr_waits (since RESET), protection_domain, shared_receive_queue (or null)
    rdma_cm_ids an array, of objects with number, service (RC, UC, UD or XRC), port_space (TCP, UDP, IB or IPOIB), state
                (IDLE, ADDR_BOUND, ADDR_QUERY, ADDR_RESOLVED, ROUTE_RESOLVED, LISTEN, CONNECT or DISCONNECT),
                connection_state (REQ_SENT, REQ_RCVD, REP_SENT, REP_RCVD, ESTABLISHED, DREQ_SENT, DREQ_RCVD, TIMEWAIT,
                SIDR_REQ_SENT, SIDR_REQ_RCVD or ANSWERED; null without a connection), local_address and local_port (null
                before it is bound), peer_address and peer_port, qp and peer_qp (null before they are known),
                backlog_left (null unless it listens); processes with an older urnic have none
    objects     an object of arrays: contexts (numbers); protection_domains (number, context, users);
                completion_queues (number, context, capacity, users); shared_receive_queues (number,
                protection_domain, completion_queue: null unless for XRC); memory_regions (key, address,
                length, protection_domain); processes with an older urnic have none
  errors      an array, of objects with socket, pid (or 0) and error, for processes that did not answer

The processes are found by sockets in $XDG_RUNTIME_DIR/urnic, or /tmp/urnic-UID without: it must be the same for both.

Exit code: 0 something was shown, 1 nothing was, 2 wrong usage.)";

/// Which processes are meant: all, or those with one of these.
struct Selection {
  std::vector<std::int64_t> pids;
  std::vector<Gid> addresses;

  bool is_all() const { return pids.empty() && addresses.empty(); }

  bool has(const NicProcess& process) const {
    if (is_all()) return true;
    const auto has_pid = [this](std::int64_t pid) {
      return std::find(pids.begin(), pids.end(), pid) != pids.end();
    };
    if (has_pid(process.pid)) return true;
    if (!process.snapshot) return false;
    const auto& gids = process.snapshot->gids;
    return has_pid(process.snapshot->pid) || std::any_of(gids.begin(), gids.end(), [this](const Gid& gid) {
             return std::find(addresses.begin(), addresses.end(), gid) != addresses.end();
           });
  }
};

std::optional<Selection> selection_of(const std::vector<std::string>& words) {
  Selection selection;
  for (const std::string& word : words) {
    std::int64_t pid = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), pid);
    if (error == std::errc() && end == word.data() + word.size() && pid > 0) {
      selection.pids.push_back(pid);
    } else if (const auto ipv4 = Ipv4Address::parse(word)) {
      selection.addresses.push_back(Gid::from_ipv4(*ipv4));
    } else if (const auto ipv6 = Gid::parse(word)) {
      selection.addresses.push_back(*ipv6);
    } else {
      complain(fmt::format("stat: '{}' is neither a process number nor the address of a NIC", word));
      return std::nullopt;
    }
  }
  return selection;
}

/// Nothing, after complaining, when not even the folder could be looked at.
std::optional<std::vector<NicProcess>> ask(const Selection& selection) {
  auto processes = ask_processes();
  if (!processes) {
    complain(processes.error().message);
    return std::nullopt;
  }
  std::erase_if(processes.value(), [&](const NicProcess& process) { return !selection.has(process); });
  return std::move(processes.value());
}

bool has_answer(const std::vector<NicProcess>& processes) {
  return std::any_of(processes.begin(), processes.end(),
                     [](const NicProcess& process) { return process.snapshot.has_value(); });
}

int exit_code_for(const std::vector<NicProcess>& processes) {
  return has_answer(processes) ? 0 : kExitFailure;
}

void complain_of_nobody(const Selection& selection) {
  if (!selection.is_all()) {
    complain(
        "no such process of this user has an urnic device open; 'urnic stat' alone shows those that have");
    return;
  }
  const auto folder = nic::private_folder();
  complain(
      fmt::format("no process of this user has an urnic device open; 'urnic run -- PROGRAM' starts one, with "
                  "the same XDG_RUNTIME_DIR: programs are found in {}",
                  folder ? folder.value() : "its folder urnic"));
}

int print_json(const std::vector<NicProcess>& processes) {
  std::string snapshots;
  auto errors = nlohmann::ordered_json::array();
  for (const NicProcess& process : processes) {
    if (!process.snapshot) {
      errors.push_back({{"socket", process.socket}, {"pid", process.pid}, {"error", process.error}});
      continue;
    }
    nic::DeviceSnapshot snapshot = *process.snapshot;
    if (process.pid != 0) snapshot.pid = process.pid;
    snapshots += (snapshots.empty() ? "" : ",") + nic::to_json(snapshot);
  }
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  fmt::print("{{\"version\":{},\"processes\":[{}],\"errors\":{}}}\n", nic::kSnapshotVersion, snapshots,
             errors.dump(-1, ' ', false, kReplace));
  return exit_code_for(processes);
}

/// Draws until the person has seen enough or no process is left to look at; what was seen last stays.
int watch(const Selection& selection, std::vector<NicProcess> processes, std::chrono::milliseconds interval) {
  std::vector<NicProcess> before;
  {
    const Terminal terminal;
    do {
      terminal.draw(table_of(processes, before, terminal.height()));
      if (!terminal.wait(interval)) break;
      auto next = ask(selection);
      if (!next || next->empty()) break;
      before = std::exchange(processes, std::move(*next));
    } while (true);
  }
  std::fputs(table_of(processes, before, std::nullopt).c_str(), stdout);
  return exit_code_for(processes);
}

}  // namespace

StatCommand::StatCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = app.add_subcommand(
      "stat", "Show what programs with a NIC are doing: urnic stat [PID|DEVICE ADDRESS...]");
  command->footer(kStatFooter);
  command->add_option("which", wanted_, "Processes, or addresses of NICs; all of this user's by default")
      ->type_name("PID|ADDRESS");
  command->add_flag("--json", json_, "Print one JSON object and end, see below");
  command->add_option("--interval", interval_s_, "Seconds between two looks, on a terminal")
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("S")
      ->capture_default_str();
  command->callback([this, &invocation] { invocation.exit_code = run(); });
}

int StatCommand::run() const {
  const auto selection = selection_of(wanted_);
  if (!selection) return kExitUsage;
  auto processes = ask(*selection);
  if (!processes) return kExitFailure;
  if (json_) return print_json(*processes);
  if (processes->empty()) {
    complain_of_nobody(*selection);
    return kExitFailure;
  }
  if (isatty(STDOUT_FILENO) == 1) {
    const auto interval =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(interval_s_));
    return watch(*selection, std::move(*processes), interval);
  }
  std::fputs(table_of(*processes, {}, std::nullopt).c_str(), stdout);
  return exit_code_for(*processes);
}

}  // namespace urnic::tools
