// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/doctor_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/command/console.h"
#include "tools/command/launch.h"
#include "tools/inspection/doctor/host_facts.h"
#include "tools/inspection/doctor/judgement.h"
#include "tools/inspection/doctor/path_probe.h"
#include "tools/inspection/doctor/program_facts.h"
#include "tools/inspection/doctor/program_judgement.h"
#include "transport/wire/udp.h"

namespace urnic::tools {
namespace {

constexpr const char* kDoctorFooter =
    R"(Looks at this host as urnic will find it, in the order in which a user meets things: the drop-in and the
folder where programs meet, system calls that a sandbox may forbid, memory, cores and clock, other RDMA
devices, UDP port 4791, and the networks. Run it where the programs will run: in the container, as the same
user. It changes nothing.

  urnic doctor               this host
  urnic doctor --answer      on another host: answers the one below, until Ctrl-C
  urnic doctor --peer HOST   the way there as well: whether UDP port 4791 gets through, and how large packets
                             may be that no router may cut into fragments, each way, up to 9600 bytes
  urnic doctor -- PROGRAM    what the dynamic linker would give PROGRAM below 'urnic run', without running it:
                             which libibverbs and librdmacm, whether its libraries (UCX, libfabric, Open MPI,
                             NCCL) are built with verbs, and what makes them take urnic's device. The answer
                             to "why did it fall back to TCP?"

Each line says whether it matters: 'ok' does not; with a 'note' urnic works, but something is slower or other
than expected; a 'problem' keeps programs from using urnic. Indented below stands what that means and what to
do.

--json prints one object and ends. It is stable: within a version members are only added.
  version     1
  findings    an array, of objects with check, verdict ("ok", "note" or "problem"), found, and remedy (null
              where there is nothing to do). The finding about the peer has address, bytes_there, bytes_back
              and round_trip_us as well, and where it sees another address and port than ours (NAT), both:
              sent_from, seen_as; null otherwise

Exit code: 0 no problem, 1 a problem, 2 wrong usage.)";

nlohmann::json json_of(const PathFacts& path) {
  const auto or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::json() : nlohmann::json(text);
  };
  return {{"address", path.address},
          {"bytes_there", path.bytes_there},
          {"bytes_back", path.bytes_back},
          {"round_trip_us", path.round_trip_us},
          {"sent_from", or_null(path.sent_from)},
          {"seen_as", or_null(path.seen_as)}};
}

/// `path`, if any, is what the last finding is about.
void print_json(const std::vector<Finding>& findings, const std::optional<PathFacts>& path) {
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    const nlohmann::json remedy = finding.remedy.empty() ? nlohmann::json() : nlohmann::json(finding.remedy);
    list.push_back({{"check", finding.check},
                    {"verdict", name_of(finding.verdict)},
                    {"found", finding.found},
                    {"remedy", remedy}});
  }
  if (path) list.back().update(json_of(*path));
  std::puts(nlohmann::json{{"version", 1}, {"findings", list}}.dump().c_str());
}

void print_lines(const std::vector<Finding>& findings) {
  std::size_t widest = 0;
  for (const Finding& finding : findings) widest = std::max(widest, finding.check.size());
  for (const Finding& finding : findings) {
    fmt::print("{:<7}  {:<{}}  {}\n", name_of(finding.verdict), finding.check, widest, finding.found);
    if (!finding.remedy.empty()) fmt::print("{:<{}}  {}\n", "", widest + 9, finding.remedy);
  }
}

}  // namespace

DoctorCommand::DoctorCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = app.add_subcommand("doctor", "What stands in the way of urnic on this host");
  command->footer(kDoctorFooter);
  CLI::Option* const peer =
      command->add_option("--peer", peer_, "Look at the way to this host, too")->type_name("HOST");
  CLI::Option* const json = command->add_flag("--json", json_, "One JSON object");
  command->add_flag("--answer", answers_, "Answer 'urnic doctor --peer' of other hosts")
      ->excludes(peer)
      ->excludes(json);
  command->callback(
      [this, &invocation] { invocation.exit_code = answers_ ? answer() : run(invocation.program); });
}

int DoctorCommand::run(const std::vector<std::string>& program) const {
  const auto dropin = dropin_folder();
  std::vector<Finding> findings = judge(read_host_facts(dropin));
  if (!program.empty() && dropin) {
    for (Finding& finding : judge(read_program_facts(program.front(), dropin.value()))) {
      findings.push_back(std::move(finding));
    }
  }
  std::optional<PathFacts> path;
  if (!peer_.empty()) {
    path = probe_path(peer_);
    findings.push_back(judge(*path));
  }
  if (json_) {
    print_json(findings, path);
  } else {
    print_lines(findings);
  }
  const bool has_problem = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.verdict == Verdict::kProblem;
  });
  return has_problem ? kExitFailure : 0;
}

int DoctorCommand::answer() const {
  const Error error = answer_probes([] {
    fmt::print("answering on UDP port {}; Ctrl-C ends it\n", transport::wire::kRocePort);
    std::fflush(stdout);
  });
  const bool is_taken = error.code == EADDRINUSE;
  complain(error.message + (is_taken ? "; 'urnic doctor' tells who has it" : ""));
  return kExitFailure;
}

}  // namespace urnic::tools
