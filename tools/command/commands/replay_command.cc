// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/replay_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/command/capture_advice.h"
#include "tools/command/console.h"
#include "tools/conformance/check/capture_reader.h"
#include "tools/conformance/check/choice.h"
#include "tools/conformance/replay/replay.h"

namespace urnic::tools {
namespace {

constexpr const char* kReplayFooter =
    R"(Gives the captured requests to our responder, which must answer as the captured one did; and gives our requester the
work requests that the captured one must have had, and the captured answers: it must send the same packets. Services RC,
UC and UD. What the capture does not show (posted receives, rights, memory, timers) is inferred; tools/conformance/replay/README.md
has the rules, and the deviations that it allows.

  urnic replay capture.pcap                           both sides of everything in it
  urnic replay --side responder --qp 0x11 a.pcap      what our responder says to the peers of queue pair 0x11
  urnic replay --ladder capture.pcap                  with every packet, captured and ours side by side
  urnic replay --json *.pcap | jq .                   for programs

Exit code: 0 all that was played is equal, 1 a mismatch, 2 a file cannot be read to its end, or wrong usage,
3 nothing, or less than half of the packets, could be played (verdict: hardly played); of several files the
largest.)";

/// Reads all of `file`; what kept it from the end is returned, or nothing.
std::string read_all(const std::string& file, replay::Capture& capture) {
  std::string why;
  auto reader = check::CaptureReader::open(file == "-" ? "/dev/stdin" : file, why);
  if (!reader) return file + ": " + why;
  while (const auto frame = reader->next()) {
    if (capture.is_full()) {
      return fmt::format("{}: too long to be played: cut it to {} frames at most", file,
                         replay::Capture::kMostFrames);
    }
    capture.add(frame->link_type, *frame);
  }
  return reader->error().empty() ? "" : file + ": " + reader->error();
}

}  // namespace

ReplayCommand::ReplayCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = app.add_subcommand(
      "replay", "Play captured connections against our own stack: urnic replay [OPTIONS] FILE...");
  command->footer(kReplayFooter);
  command->add_option("files", files_, "pcap or pcapng files; - is the standard input")->type_name("FILE");
  command->add_option("--side", side_, "What our stack plays: requester, responder or both")
      ->type_name("SIDE")
      ->check(CLI::IsMember({"requester", "responder", "both"}));
  command
      ->add_option("--qp", queue_pairs_,
                   "Only what this queue pair says or hears; A:B: only between these two")
      ->type_name("QPN");
  command->add_flag("--json", json_, "Report as JSON: an array with one object for each file");
  command->add_flag("--ladder", ladder_, "Draw what is equal, too");
  command->add_flag("--memory-changes", memory_changes_,
                    "The responder's program changed what peers wrote: believe what READs and atomics found");
  command->add_flag("--deviations", deviations_, "List where two implementations may differ and leave");
  command->callback([this, &invocation] { invocation.exit_code = run(); });
}

int ReplayCommand::run() const {
  if (deviations_) {
    std::fputs(replay::list_of_allowed_deviations().c_str(), stdout);
    return 0;
  }
  if (files_.empty()) {
    complain(which_capture("replay"));
    return kExitUsage;
  }
  replay::ReplayOptions options{.requester = side_ != "responder",
                                .responder = side_ != "requester",
                                .keep_ladder = ladder_,
                                .memory_changes = memory_changes_};
  if (!queue_pairs_.empty()) {
    const auto numbers = check::read_queue_pairs(queue_pairs_);
    if (!numbers) {
      complain(fmt::format(
          "replay: --qp {}: one number up to 0xffffff, or two with a colon (see 'urnic replay --help')",
          queue_pairs_));
      return kExitUsage;
    }
    options.queue_pairs = *numbers;
  }
  int exit_code = 0;
  auto reports = nlohmann::json::array();
  for (const std::string& file : files_) {
    replay::Capture capture;
    const std::string damage = read_all(file, capture);
    replay::Report report = replay::replay(file, capture, options);
    report.damage = damage;
    if (json_) {
      reports.push_back(replay::json_report(report));
    } else if (damage.empty() || report.frames > 0) {
      std::fputs(replay::text_report(report).c_str(), stdout);
    }
    if (!damage.empty()) complain(damage + advice_on_capture(file));
    exit_code = std::max(exit_code, static_cast<int>(replay::judgement_of(report)));
  }
  if (json_) {
    constexpr auto kReplace = nlohmann::json::error_handler_t::replace;  // names of files are any bytes
    std::puts(reports.dump(2, ' ', false, kReplace).c_str());
  }
  return exit_code;
}

}  // namespace urnic::tools
