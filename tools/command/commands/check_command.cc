// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/check_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "tools/command/capture_advice.h"
#include "tools/command/capture_input.h"
#include "tools/command/console.h"
#include "tools/command/finding_lines.h"
#include "tools/conformance/check/capture_reader.h"
#include "tools/conformance/check/checker.h"
#include "tools/conformance/check/mirror_scout.h"
#include "tools/conformance/check/policy_text.h"
#include "tools/conformance/check/report/report.h"

namespace urnic::tools {
namespace {

constexpr std::size_t kLadderRows = 2000;  // of each direction
constexpr int kMostSilences = 1000;

constexpr const char* kCheckFooter =
    R"(Reads captures of any RoCEv2 (Ethernet, Linux cooked, raw IP or ERF), follows every queue pair in both
directions and says what breaks the rules of the InfiniBand transport. Services RC, UC, UD, XRC, and CNPs.
It looks into tunnels and mirrors: ERSPAN I, II and III, VXLAN, GENEVE, GRE, MPLS, IP in IP, VLAN tags.

  urnic check capture.pcap                    what happened, and what was wrong
  urnic check --ladder capture.pcap           and who said what, packet by packet
  urnic check --qp 0x11 --ladder a.pcap       one queue pair of many, with all that it says and hears
  urnic check --json *.pcapng | jq .          for programs
  urnic check -i eth0                         what the interface carries now, until Ctrl-C
  tcpdump -U -w - udp port 4791 | urnic check -   the same; stops with the input

What is found is one of
  violation   one side broke a rule; the line names rule, frames, connection, what was expected and what was seen
  habit       a known deviation of rdma_rxe, ConnectX or others that peers must live with; --strict counts it,
              and --like connectx counts those that no ConnectX is known to have
  unknown     this capture cannot tell: it begins in the middle, is cut, or lacks a direction
  event       nothing wrong: a loss, a repetition, a refusal, explained
A capture is taken as complete until it is proved to lack frames; if your capture tool said that it dropped some, add --lossy.
Of congestion, the report says how far apart CNPs are, which packets were marked, and which priorities were paused. What is right depends
on NIC and link: CNPs that are too near are found with --cnp-spacing only, and frames sent in spite of a pause with --link-rate only.
Times are measured at the place of capture: "answered in" is from a request passing there to its answer (least / mean / most).

With -i and - each finding is printed as it comes, and the report follows at the end (--json: the report
alone). Fragments of IP are put together. Frames that a mirror port delivers twice count once. Frames of a
file are taken in the order of their times; frames of a pipe or an interface as they come.

The longest silences are a list of their own: pauses without any packet of a connection, and waits for an
answer, from the first transmission of the oldest request that it answers. The line says what ended them.
With --qp or --ip all frames are judged as without, and what is not shown is counted: verdict and exit code
are about what is shown. Frames that belong to no connection are not shown. The capture is read twice; the
standard input is copied to a file for that.

Exit code: 0 nothing violated, 1 violations, 2 a file could not be read to its end, or wrong usage, 3 a file
has no frame of RoCEv2, or none of what was chosen; of several files the largest.)";

/// A bar on stderr while a long file is read on a terminal.
class ProgressBar {
 public:
  explicit ProgressBar(std::uint64_t size)
      : size_(size), shown_(size >= kWorthShowing && isatty(STDERR_FILENO) == 1) {}
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

  void at(std::uint64_t position) {
    const std::uint64_t percent = shown_ ? std::min<std::uint64_t>(position * 100 / size_, 100) : last_;
    if (percent != last_) {
      last_ = percent;
      std::fputs(
          fmt::format("\r[{:#<{}}{:.<{}}] {} %", "", percent / 2, "", 50 - percent / 2, percent).c_str(),
          stderr);
    }
  }

 private:
  static constexpr std::uint64_t kWorthShowing = 64 << 20;
  std::uint64_t size_;
  bool shown_;
  std::uint64_t last_ = UINT64_MAX;
};

using ReadPolicy = bool (*)(std::string_view text, check::CongestionPolicy& policy);

/// An option whose text `read` puts into `policy`; `form` is what it takes.
void add_policy(CLI::App& command, const char* name, ReadPolicy read, check::CongestionPolicy& policy,
                const char* form, const char* description) {
  command
      .add_option_function<std::string>(
          name,
          [=, &policy](const std::string& text) {
            if (!read(text, policy)) {
              throw CLI::ValidationError(name, fmt::format("'{}' is none; write {}", text, form));
            }
          },
          description)
      ->type_name(form);
}

/// The two options that say whose habits are no violations.
void add_makers(CLI::App& command, check::Makers& makers) {
  CLI::Option* const strict = command.add_flag_callback(
      "--strict", [&makers] { makers = check::Makers::kNone; }, "Count habits as violations");
  const std::string known = check::known_makers();
  command
      .add_option_function<std::string>(
          "--like",
          [&makers, known](const std::string& text) {
            const auto read = check::read_makers(text);
            if (!read) {
              throw CLI::ValidationError(
                  "--like",
                  fmt::format("'{}' is none; write one of {}, or several with + between them", text, known));
            }
            makers = *read;
          },
          "The packets come from such NICs: count other NICs' habits as violations")
      ->type_name(fmt::format("{}[+...]", known))
      ->excludes(strict);
}

/// Takes all frames of `reader` into `checker`, and shows findings as they come if `lines` is there. Returns
/// what kept it from the end, or nothing.
std::string read_all(check::CaptureReader& reader, check::Checker& checker, FindingLines* lines) {
  constexpr std::uint64_t kFramesPerUpdate = 4096;
  ProgressBar bar(reader.size());
  while (const auto frame = reader.next()) {
    checker.add(frame->link_type, *frame);
    if (lines != nullptr) lines->show(checker);
    if (checker.counts().frames % kFramesPerUpdate != 0) continue;
    bar.at(reader.position());
    if (reader.dropped() > 0) checker.set_lossy();
  }
  if (reader.dropped() > 0) checker.set_lossy();
  return reader.error();
}

/// What the user should know beside the report.
void complain_of_frames(const std::string& name, const check::Checker& checker, std::uint64_t dropped) {
  const auto infiniband =
      checker.counts().not_looked_into[static_cast<std::size_t>(check::Obstacle::kInfiniBand)];
  if (infiniband > 0) {
    complain(
        fmt::format("{}: {} packets of InfiniBand itself cannot be judged: only RoCE, over Ethernet, can",
                    name, infiniband));
  }
  if (dropped > 0) {
    complain(fmt::format("{}: the kernel had no room for {} frames; the rest is judged as with --lossy", name,
                         dropped));
  }
}

}  // namespace

CheckCommand::CheckCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      app.add_subcommand("check", "Judge captures of RoCEv2: urnic check [OPTIONS] FILE...");
  command->footer(kCheckFooter);
  command->add_option("files", files_, "pcap or pcapng files; - is the standard input")->type_name("FILE");
  command->add_option("-i,--interface", interface_, "Judge what this interface carries now; any: all of them")
      ->type_name("IFACE");
  command->add_flag("--json", json_, "Report as JSON: an array with one object for each file");
  command->add_flag("--ladder", ladder_,
                    fmt::format("Draw every connection, up to {} packets each way", kLadderRows));
  add_makers(*command, makers_);
  command->add_flag("--lossy", lossy_, "The captures lack frames: what is absent proves nothing");
  command
      ->add_option("--mtu", path_mtu_,
                   "Path MTU of all connections; without it, what the first full packet shows")
      ->check(CLI::IsMember({256, 512, 1024, 2048, 4096}))
      ->type_name("BYTES");
  add_choice(*command, choice_);
  add_udp_ports(*command, udp_ports_);
  command->add_option("--silences", silences_, "How many of the longest silences are listed")
      ->capture_default_str()
      ->check(CLI::Range(0, kMostSilences))
      ->type_name("N");
  add_policy(*command, "--cnp-spacing", check::read_cnp_spacing, congestion_, "TIME[:qp|address|port]",
             "CNPs are so far apart: those to one queue pair (default), to one address, or all of a sender, "
             "as 50us:port");
  add_policy(*command, "--link-rate", check::read_link_rate, congestion_, "RATE",
             "Rate of the link that was captured, as 100Gb/s: judges who goes on in spite of pause frames");
  add_policy(*command, "--link-host", check::read_link_host, congestion_, "MAC[,MAC...]",
             "Addresses of the host at one end of that link; without it, the one that all RoCE frames have");
  command->add_flag("--rules", rules_, "List the rules and leave");
  command->callback([this, &invocation] { invocation.exit_code = run(); });
}

int CheckCommand::run() const {
  if (rules_) {
    std::fputs(check::list_of_rules().c_str(), stdout);
    return 0;
  }
  const bool is_live = !interface_.empty();
  if (is_live && (!files_.empty() || !choice_.takes_all())) {
    complain("check: -i takes neither files nor --qp and --ip, which need a file: tcpdump -w FILE");
    return kExitUsage;
  }
  if (files_.empty() && !is_live) {
    complain(which_capture("check"));
    return kExitUsage;
  }
  int exit_code = 0;
  auto reports = nlohmann::json::array();
  if (is_live) exit_code = judge_interface(reports);
  for (const std::string& file : files_) exit_code = std::max(exit_code, judge(file, reports));
  if (json_) {
    constexpr auto kReplace = nlohmann::json::error_handler_t::replace;  // names of files are any bytes
    std::puts(reports.dump(2, ' ', false, kReplace).c_str());
  }
  return exit_code;
}

check::CheckOptions CheckCommand::options() const {
  return {.policy = {.makers = makers_, .lossy = lossy_, .path_mtu = path_mtu_},
          .congestion = congestion_,
          .keeping = {.ladder_rows = ladder_ ? kLadderRows : 0, .silences = silences_},
          .udp_ports = udp_ports_};
}

int CheckCommand::judge(const std::string& file, nlohmann::json& reports) const {
  check::CheckOptions how = options();
  std::string path = file == "-" ? "/dev/stdin" : file;
  std::optional<RereadableCapture> copy;
  check::FlowSet chosen;
  std::string why;
  if (!choice_.takes_all()) {
    copy = RereadableCapture::open(file, why);
    if (!copy) {
      complain(file + ": " + why);
      return kExitUsage;
    }
    path = copy->path();
    check::CheckOptions whole = how;
    whole.is_mirrored = check::has_doubled_frames(path, udp_ports_);
    check::Checker first(whole);
    if (auto reader = check::CaptureReader::open(path, why)) read_all(*reader, first, nullptr);
    check::add_chosen_flows(first.connections(), choice_, chosen);
    how.keeping.shown = &chosen;
  }
  how.is_mirrored = check::has_doubled_frames(path, udp_ports_);
  check::Checker checker(how);
  auto reader = check::CaptureReader::open(path, why);
  std::string damage = why;
  if (reader) {
    FindingLines lines;
    const bool comes_live = file == "-" && reader->size() == 0 && !json_;
    std::optional<CaptureEnd> end;
    if (comes_live) end.emplace(nullptr);
    damage = read_all(*reader, checker, comes_live ? &lines : nullptr);
  }
  if (!damage.empty()) damage = file + ": " + damage;
  const int exit_code = report(file, checker, damage, reports);
  if (!damage.empty()) complain(damage + advice_on_capture(file));
  complain_of_frames(file, checker, 0);
  if (checker.is_choice() && chosen.empty() && checker.counts().roce() > 0) {
    complain_of_empty_choice(file, choice_);
  }
  return exit_code;
}

int CheckCommand::judge_interface(nlohmann::json& reports) const {
  std::string why;
  auto reader = check::CaptureReader::open_live(interface_, why);
  if (!reader) {
    complain(fmt::format("{}: cannot capture: {}", interface_, why));
    return kExitUsage;
  }
  check::Checker checker(options());
  std::string damage;
  {
    FindingLines lines;
    const CaptureEnd end(&*reader);
    damage = read_all(*reader, checker, json_ ? nullptr : &lines);
  }
  if (!damage.empty()) damage = interface_ + ": " + damage;
  const int exit_code = report(interface_, checker, damage, reports);
  if (!damage.empty()) complain(damage);
  complain_of_frames(interface_, checker, reader->dropped());
  return exit_code;
}

int CheckCommand::report(const std::string& name, check::Checker& checker, const std::string& damage,
                         nlohmann::json& reports) const {
  checker.finish();
  if (json_) {
    reports.push_back(check::json_report(name, checker, damage));
  } else if (damage.empty() || checker.counts().frames > 0) {
    std::fputs(check::text_report(name, checker, damage, ladder_).c_str(), stdout);
  }
  return static_cast<int>(check::verdict_of(checker, damage));
}

}  // namespace urnic::tools
