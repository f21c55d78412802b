// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/view_command.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/command/capture_advice.h"
#include "tools/command/capture_input.h"
#include "tools/command/console.h"
#include "tools/command/usage_error.h"
#include "tools/inspection/view/page.h"
#include "tools/inspection/view/trace_builder.h"
#include "tools/inspection/view/trace_json.h"

namespace urnic::tools {
namespace {

constexpr const char* kViewFooter =
    R"(Makes one HTML file, which needs no server and no network: a ladder for each connection with real time, every field of
every packet, which packet answers or repeats which, what 'urnic check' says of it, and how much was in flight.

  urnic run --record server.pcapng -- ibv_rc_pingpong -d urnic0 -g 1 &
  urnic run --record client.pcapng --fault loss=0.01 -- ibv_rc_pingpong -d urnic0 -g 1 localhost
  urnic view server.pcapng client.pcapng      both ends on one time line
  urnic view capture.pcap                     what any other NIC sent and received
  urnic view --qp 0x11 capture.pcap           one queue pair of many, with all that it says and hears
  tcpdump -w - udp port 4791 | urnic view -   when tcpdump has ended
  urnic view --json capture.pcap | jq .       for programs

Recordings of 'urnic run --record' have besides what programs posted, what completed, timers, states, and why packets were sent
again. Of two recordings a packet is one arrow, from when it was sent to when it came, or to where it was lost.

Exit code: 0 the page was made, 2 a file could not be read or written, or wrong usage.)";

constexpr const char* kStandardInput = "standard input";

std::string title_of(const std::vector<std::string>& files) {
  std::string title;
  for (const std::string& file : files) {
    title += (title.empty() ? "" : ", ") +
             (file == "-" ? std::string(kStandardInput) : file.substr(file.rfind('/') + 1));
  }
  return title;
}

}  // namespace

ViewCommand::ViewCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      app.add_subcommand("view", "Show captures in a browser: urnic view [OPTIONS] FILE...");
  command->footer(kViewFooter);
  command->add_option("files", files_, "pcap or pcapng files; - is the standard input")->type_name("FILE");
  command->add_option("-o,--output", output_, "Where the page goes; - is the standard output")
      ->capture_default_str()
      ->type_name("FILE");
  command->add_flag(
      "--json", json_,
      "Print what the page has as JSON, for programs: tools/inspection/view/DATA.md says what that is");
  command->add_option("--packets", range_.most, "How many packets of each file the page has")
      ->capture_default_str()
      ->check(whole_number(1))
      ->type_name("N");
  command
      ->add_option("--skip", range_.skipped,
                   "How many packets of each file come before the first that the page has")
      ->capture_default_str()
      ->check(whole_number())
      ->type_name("N");
  add_choice(*command, choice_);
  add_udp_ports(*command, range_.udp_ports);
  command->callback([this, &invocation] { invocation.exit_code = run(); });
}

int ViewCommand::run() const {
  if (files_.empty()) {
    complain(which_capture("view"));
    return kExitUsage;
  }
  std::vector<RereadableCapture> inputs;
  for (const std::string& file : files_) {
    std::string why;
    auto input = RereadableCapture::open(file, why);
    if (!input) {
      complain(file + ": " + why);
      return kExitUsage;
    }
    inputs.push_back(*std::move(input));
  }
  check::FlowSet chosen;
  view::Range range = range_;
  if (!choice_.takes_all()) {
    for (const RereadableCapture& input : inputs) {
      view::add_chosen_flows(input.path(), choice_, range.udp_ports, chosen);
    }
    range.shown = &chosen;
  }
  view::Layouts layouts;
  std::vector<view::Capture> captures;
  std::string sightings;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const std::string& file = files_[i];
    std::string why;
    auto capture = view::read_capture(inputs[i].path(), static_cast<std::uint32_t>(i), range, layouts, why);
    if (!capture) {
      complain(file + ": " + why + advice_on_capture(file));
      return kExitUsage;
    }
    capture->file.name = file == "-" ? kStandardInput : file;
    if (range.shown != nullptr && capture->packets.empty()) complain_of_empty_choice(file, choice_);
    if (!capture->file.error.empty()) {
      complain(file + ": " + capture->file.error + "; the page has what comes before");
    }
    if (!capture->sightings.empty()) {
      sightings += fmt::format("{}:\n{}", capture->file.name, capture->sightings);
    }
    captures.push_back(std::move(*capture));
  }
  const view::Trace trace = view::build_trace(std::move(captures));
  const nlohmann::ordered_json data = view::trace_json(trace, layouts);
  if (json_) {
    std::puts(data.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
    return 0;
  }
  const std::string page = view::page_of(title_of(files_), data);
  if (output_ == "-") return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() ? 0 : kExitUsage;
  std::ofstream out(output_, std::ios::binary | std::ios::trunc);
  if (!out.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    complain(fmt::format("cannot write {}: {}; -o FILE names another file", output_, std::strerror(errno)));
    return kExitUsage;
  }
  fmt::print("{}: {} packets of {} connections{}; open it in a browser\n", output_, trace.packets.size(),
             trace.connections.size(),
             trace.omitted > 0 ? fmt::format(", without {} others", trace.omitted) : "");
  std::fputs(sightings.c_str(), stdout);
  for (const view::TraceFile& file : trace.files) {
    if (!file.is_part) continue;
    fmt::print("{}: {} connections of others not shown, with {} packets and {} findings\n", file.name,
               file.other_connections, file.other_packets, file.other_findings);
  }
  return 0;
}

}  // namespace urnic::tools
