// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/conform_command.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "tools/command/console.h"
#include "tools/command/temporary_folder.h"
#include "tools/conformance/conform/agent/agent_reply.h"
#include "tools/conformance/conform/agent/agent_source.h"
#include "tools/conformance/conform/campaign.h"
#include "tools/conformance/conform/cases/cases.h"
#include "tools/conformance/conform/html/html_report.h"
#include "tools/conformance/conform/results/report.h"
#include "tools/conformance/conform/results/result_log.h"

namespace urnic::tools {
namespace {

using conform::Case;
using conform::CaseResult;
using transport::wire::Gid;

constexpr int kExitNothingJudged = 3;

constexpr const char* kConformFooter =
    R"(Plays the protocol scripts of urnic's own tests against the RDMA NIC of another machine, packet by
packet. PEER is its IP address. There, an agent does what the scripts' programs do: post, receive, look at
memory. It is one C file over libibverbs, or one Python file over pyverbs. The cases cm/* are about
connections: they need a listener instead, which is one C file over librdmacm.

  urnic conform --agent-source > agent.c            on this machine; copy the file to the peer's
  cc -o agent agent.c -libverbs                     there
  CONFORM_TOKEN=secret ./agent 192.0.2.2 7900       there
  urnic conform --agent-source=python > agent.py    where there is no compiler; python3 agent.py runs it
  urnic conform --agent-source=listener > listener.c
  cc -o listener listener.c -lrdmacm -libverbs      there
  CONFORM_TOKEN=secret ./listener 192.0.2.2 7901    there
  CONFORM_TOKEN=secret urnic conform 192.0.2.2      here
  urnic conform --list --filter 'rc/nak/*'          which cases there are, without a peer
  urnic conform --html report.html 192.0.2.2        with the packets of what failed, for a browser
  urnic conform --pcap packets --junit result.xml 192.0.2.2
  urnic conform --resume today 192.0.2.2            goes on where an interrupted run of this line was

Each case ends with
  PASS      the peer did what the script says
  FAIL      it did not; with the line, the rule, its source, and what went by
  HABIT     it did not, in a way that NICs of a known kind have and peers live with
  UNKNOWN   agent, listener, NIC or link cannot do what the case wants
A peer may acknowledge more often or less often than urnic, and may answer late. Lines about what no agent
can tell are not judged, and named.

Exit code: 0 nothing failed, 1 a case failed, 2 wrong usage, or no packets can be sent, 3 no case could be
judged.)";

std::optional<Gid> read_address(const std::string& text) {
  if (const auto ipv4 = transport::wire::Ipv4Address::parse(text)) return Gid::from_ipv4(*ipv4);
  return Gid::parse(text);
}

std::string_view source_of(const std::string& program) {
  if (program == "listener") return conform::c_listener();
  return program == "python" ? conform::python_agent() : conform::c_agent();
}

int list(const std::vector<Case>& cases, bool is_json) {
  auto all = nlohmann::json::array();
  for (const Case& each : cases) {
    if (is_json) {
      all.push_back({{"name", each.name}, {"rule", each.rule()}, {"source", each.source()}});
    } else {
      std::fputs(fmt::format("{}\n    {} -- {}\n", each.name, each.rule(), each.source()).c_str(), stdout);
    }
  }
  if (is_json) std::puts(all.dump(2).c_str());
  return 0;
}

/// False, after a complaint, if it cannot be written.
bool write_file(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  bool is_written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) is_written = std::fclose(file) == 0 && is_written;
  if (!is_written) complain("conform: cannot write " + path);
  return is_written;
}

std::string token_or_variable(const std::string& token) {
  if (!token.empty()) return token;
  const char* const variable = secure_getenv("CONFORM_TOKEN");
  return variable == nullptr ? "" : variable;
}

}  // namespace

ConformCommand::ConformCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = app.add_subcommand(
      "conform", "Test the RDMA NIC of another machine on the wire: urnic conform [OPTIONS] PEER");
  command->footer(kConformFooter);
  command->add_option("peer", peer_, "The IP address of the NIC under test, where its agent listens, too")
      ->type_name("PEER");
  command
      ->add_option("--port", port_,
                   "From where to send: a port as 'urnic run --port' takes it, such as udp:ADDRESS, host, "
                   "fabric:NAME, af_xdp:INTERFACE or bench:PATH")
      ->type_name("PORT");
  command
      ->add_option("--ip", own_ip_,
                   "The tester's own address, where the port does not bring one: ADDRESS[/PREFIX]")
      ->type_name("ADDRESS");
  command
      ->add_option("--mtu", mtu_, "The largest IP packet there, in bytes; without it, as 'urnic run' has it")
      ->type_name("N");
  command->add_option("--agent", agent_, "Where agent and listener are, if not at PEER")
      ->type_name("ADDRESS");
  command->add_option("--token", token_, "What the agent wants to hear; without it, $CONFORM_TOKEN")
      ->type_name("TOKEN");
  command->add_option("--agent-port", agent_port_, fmt::format("The agent's TCP port ({})", agent_port_))
      ->type_name("N")
      ->check(CLI::Range(1u, 65535u));
  command
      ->add_option("--listener-port", listener_port_,
                   fmt::format("The listener's TCP port ({})", listener_port_))
      ->type_name("N")
      ->check(CLI::Range(1u, 65535u));
  command->add_option("--device", device_, "The RDMA device under test; without it, the first one there")
      ->type_name("NAME");
  command->add_option("--device-port", device_port_, "The port of that device (1)")
      ->type_name("N")
      ->check(CLI::Range(1u, 255u));
  command->add_option("--gid", gid_, "The GID's index at that port; without it, the one of PEER")
      ->type_name("N");
  command
      ->add_option("--filter", filters_, "Only the cases whose names fit, such as 'rc/nak/*'; several times")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
  command
      ->add_option("--settle", settle_ms_,
                   fmt::format("After so many ms without a packet, none comes any more ({})", settle_ms_))
      ->type_name("MS")
      ->check(CLI::Range(1u, 1000u));
  command->add_option("--pcap", captures_, "Keep the packets of each case that fails, in this folder")
      ->type_name("FOLDER");
  command->add_option("--html", html_, "Write a page for a browser, too, with the packets of what failed")
      ->type_name("FILE");
  command->add_option("--junit", junit_, "Write the results as JUnit's XML, too")->type_name("FILE");
  command
      ->add_option("--resume", resume_,
                   "Keep each result in this file at once; cases that it has are not played again, unless "
                   "they are UNKNOWN")
      ->type_name("FILE");
  command->add_flag("--json", json_, "Report as JSON, at the end");
  command->add_flag("--list", list_, "List the cases, with rule and source");
  command
      ->add_option_function<std::vector<std::string>>(
          "--agent-source",
          [this](const std::vector<std::string>& text) {
            agent_source_ = text.empty() || text[0].empty() ? "c" : text[0];
          },
          "Print the agent, a C program or a Python program, or the listener, and do nothing else")
      ->expected(0, 1)
      ->check(CLI::IsMember({"c", "python", "listener"}))
      ->type_name("[=c|python|listener]");
  command->callback([this, &invocation] { invocation.exit_code = run(); });
}

int ConformCommand::run() const {
  if (!agent_source_.empty()) {
    const std::string_view source = source_of(agent_source_);
    std::fwrite(source.data(), 1, source.size(), stdout);
    return 0;
  }
  const std::vector<Case> cases = conform::cases_of(conform::all_cases(), filters_);
  if (cases.empty()) {
    complain("conform: no case has such a name; 'urnic conform --list' shows all");
    return kExitUsage;
  }
  if (list_) return list(cases, json_);
  const auto peer = read_address(peer_);
  if (!peer) {
    complain(peer_.empty() ? "conform: name a peer, such as: urnic conform 192.0.2.2"
                           : fmt::format("conform: '{}' is no IP address", peer_));
    return kExitUsage;
  }
  const auto agent = agent_.empty() ? peer : read_address(agent_);
  if (!agent) {
    complain(fmt::format("conform: --agent {}: that is no IP address", agent_));
    return kExitUsage;
  }
  const std::string token = token_or_variable(token_);
  if (token.empty()) {
    complain("conform: what does the agent want to hear? Set CONFORM_TOKEN, or --token");
    return kExitUsage;
  }
  const std::optional<Tester> tester = open_tester(*peer);
  if (!tester) return kExitUsage;
  std::unique_ptr<conform::ResultLog> log;
  if (!resume_.empty()) {
    auto opened = conform::ResultLog::open(resume_, peer_, cases);
    if (!opened) {
      complain("conform: --resume " + opened.error().message);
      return kExitUsage;
    }
    log = std::move(opened.value());
  }
  const auto gid = std::as_bytes(std::span(peer->octets));
  // The page shows packets, which are files until then.
  std::optional<TemporaryFolder> folder;
  std::string captures = captures_;
  if (captures.empty() && !html_.empty()) captures = folder.emplace("urnic-conform").path();
  std::error_code code;
  if (!captures.empty()) std::filesystem::create_directories(captures, code);
  conform::Campaign campaign({.agent = {*agent, static_cast<std::uint16_t>(agent_port_), token},
                              .listener = {*agent, static_cast<std::uint16_t>(listener_port_), token},
                              .address = *peer,
                              .peer = {.device = device_,
                                       .port = device_port_,
                                       .gid = gid_.empty() ? conform::to_hex(gid.data(), gid.size()) : gid_,
                                       .settle = std::chrono::milliseconds(settle_ms_)},
                              .captures = captures},
                             *tester->wire);
  std::vector<CaseResult> results;
  for (const Case& next : cases) {
    const CaseResult* const earlier = log == nullptr ? nullptr : log->find(next.name);
    results.push_back(earlier != nullptr ? *earlier : campaign.run(next));
    if (log != nullptr && earlier == nullptr && !log->add(results.back())) {
      complain("conform: cannot write " + resume_);
      return kExitUsage;
    }
    if (json_) continue;
    std::fputs(text_of(results.back()).c_str(), stdout);
    std::fflush(stdout);
  }
  return report(results, folder.has_value());
}

std::optional<Tester> ConformCommand::open_tester(const Gid& peer) const {
  auto tester = tools::open_tester({.port = port_, .ip = own_ip_, .mtu = mtu_, .peer = peer});
  if (tester) return std::move(tester.value());
  complain("conform: " + tester.error().message);
  return std::nullopt;
}

int ConformCommand::report(std::vector<CaseResult>& results, bool are_captures_temporary) const {
  if (!html_.empty() && !write_file(html_, conform::html_report(peer_, results))) return kExitUsage;
  if (are_captures_temporary) {
    for (CaseResult& result : results) result.capture.clear();
  }
  const conform::Counts counts = conform::count(results);
  std::fputs(json_ ? json_text_of(peer_, results).c_str() : summary_of(counts).c_str(), stdout);
  if (!junit_.empty() && !write_file(junit_, junit_of(peer_, results))) return kExitUsage;
  if (counts.failed > 0) return kExitFailure;
  return counts.passed + counts.habits > 0 ? 0 : kExitNothingJudged;
}

}  // namespace urnic::tools
