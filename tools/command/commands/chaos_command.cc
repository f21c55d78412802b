// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/chaos_command.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "drivers/network/quantity.h"
#include "tools/command/console.h"
#include "tools/command/known_programs.h"
#include "tools/command/temporary_folder.h"
#include "verbs_api/adversary/spec.h"

namespace urnic::tools {
namespace {

using nic::Behaviors;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr const char* kChaosFooter =
    R"(The program is run once without the adversary, and then with one seed after the other, until it ends
otherwise: with another exit code, by a signal, or not at all within --timeout. That seed is run again, to say
whether the failure repeats, and then with fewer behaviors, until those are left that matter. The last lines
tell how to repeat it:

  urnic chaos -- ./my_program                    for 60 seconds
  urnic chaos --for 10m -- ./my_program
  urnic chaos --seeds 1-1000 -- ./my_program
  urnic chaos --chaos only=late-payload -- ./my_program
  urnic run --chaos=seed=17,only=late-payload -- ./my_program

A server and its client are tested by a script that starts both with 'urnic run': the seed is in URNIC_CHAOS,
which they take over. The script must end as that program ends which can fail. Other options of 'urnic run'
are given as variables, e.g. URNIC_PORT=loopback.

What is drawn does not depend on time. What the threads of the program do meanwhile does: not every failure
comes back at once. CHAOS.md, below share/doc/urnic, says of each behavior by which rule it is legal.

Exit code: 0 if no seed made the program fail, 1 if one did, 2 for wrong usage or a program that fails
without the adversary.)";

constexpr std::size_t kLastLines = 15;
constexpr milliseconds kLeastLimit = 10s;
constexpr milliseconds kPlainLimit = 10min;
constexpr int kFactor = 10;
/// A race does not show each time.
constexpr int kTriesWhileNarrowing = 3;

struct Range {
  std::uint64_t first = 1;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
};

bool read_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::optional<Range> parse_range(std::string_view text) {
  Range range;
  const std::size_t sign = text.find('-');
  if (!read_number(text.substr(0, sign), range.first)) return std::nullopt;
  range.last = range.first;
  if (sign != std::string_view::npos && !read_number(text.substr(sign + 1), range.last)) return std::nullopt;
  if (range.last < range.first) return std::nullopt;
  return range;
}

std::optional<milliseconds> parse_time(std::string_view text) {
  const auto time = network::parse_duration(text);
  if (!time || *time <= transport::Duration{}) return std::nullopt;
  return std::chrono::duration_cast<milliseconds>(*time);
}

std::string check_range(const std::string& text) {
  return parse_range(text) ? std::string() : "seeds are written 1-1000 or 17";
}

std::string check_time(const std::string& text) {
  return parse_time(text) ? std::string() : "a time is written 90s or 500ms";
}

std::string check_spec(const std::string& text) {
  const auto settings = verbs_api::parse_adversary(text);
  return settings ? std::string() : settings.error().message;
}

/// A word as a shell takes it.
std::string as_shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string result = "'";
  for (const char letter : word) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return result + "'";
}

std::string command_line(const std::string& spec, const std::vector<std::string>& program) {
  std::vector<std::string> words;
  for (const std::string& word : program) words.push_back(as_shell_word(word));
  return fmt::format("urnic run --chaos={} -- {}", as_shell_word(spec), fmt::join(words, " "));
}

void list_behaviors() {
  for (const nic::BehaviorRow& row : nic::all_behaviors()) {
    fmt::print("{}{}\n  {}\n  rule:     {}\n  exposes:  {}\n", row.name,
               row.is_usual ? "" : "  (only where it is named)", row.what, row.rule, row.exposes);
  }
}

/// On a terminal a line that the next one replaces.
void show_progress(std::uint64_t seed, std::uint64_t count) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\rurnic: chaos: seed {}, {} done", seed, count);
  std::fflush(stderr);
}

void end_progress() {
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
}

nlohmann::json to_json(const TrialEnd& end) {
  const char* const kind = end.kind == TrialEnd::Kind::kExit     ? "exit"
                           : end.kind == TrialEnd::Kind::kSignal ? "signal"
                                                                 : "hang";
  return {{"kind", kind}, {"number", end.number}, {"milliseconds", end.time.count()}};
}

}  // namespace

ChaosCommand::ChaosCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = app.add_subcommand(
      "chaos", "Look for a mistake by a legal adversary: urnic chaos [OPTIONS] -- PROGRAM ARGUMENTS...");
  command->footer(kChaosFooter);
  command->add_option("--for", for_, "How long to look; 60s by default")
      ->check(check_time)
      ->type_name("TIME");
  command->add_option("--seeds", seeds_, "These seeds, however long it takes; by default 1, 2, 3 and so on")
      ->check(check_range)
      ->type_name("A-B");
  command
      ->add_option("--timeout", timeout_,
                   "How long the program may take; by default ten times as long as without the adversary, "
                   "and 10s at least")
      ->check(check_time)
      ->type_name("TIME");
  command
      ->add_option("--chaos", spec_, "As 'urnic run --chaos=SPEC' has it, without the seed: only, off, scale")
      ->check(check_spec)
      ->type_name("SPEC");
  command->add_flag("--list", is_list_, "Say what the behaviors are, by which rules, and what they expose");
  command->add_flag("--json", is_json_, "The result as one JSON object");
  command->callback([this, &invocation] { invocation.exit_code = run(invocation); });
}

int ChaosCommand::run(const Invocation& invocation) const {
  if (is_list_) {
    list_behaviors();
    return 0;
  }
  if (invocation.program.empty()) {
    complain(fmt::format(
        "chaos: which program? Write it after '--', for example: urnic chaos -- {} (see 'urnic chaos "
        "--help')",
        example_command()));
    return kExitUsage;
  }
  if (spec_.find("seed=") != std::string::npos || spec_.find("log=") != std::string::npos) {
    complain("chaos: seed= and log= of --chaos are this command's own; --seeds says which seeds");
    return kExitUsage;
  }
  const TemporaryFolder folder("urnic-chaos");
  if (folder.path().empty()) {
    complain("chaos: cannot make a folder for what the program prints");
    return kExitFailure;
  }
  Trials trials(invocation.program, folder.path());
  return search(trials, invocation.program);
}

int ChaosCommand::search(Trials& trials, const std::vector<std::string>& program) const {
  const auto plain = trials.run("", timeout_.empty() ? kPlainLimit : *parse_time(timeout_));
  if (!plain) {
    complain(plain.error().message);
    return kExitFailure;
  }
  const TrialEnd& good = plain.value();
  if (good.kind != TrialEnd::Kind::kExit || good.number != 0) {
    for (const std::string& line : trials.last_output(kLastLines)) complain("  " + line);
    complain(fmt::format("chaos: the program {} without the adversary", describe(good)));
    return kExitUsage;
  }
  const milliseconds limit =
      timeout_.empty() ? std::max(kLeastLimit, good.time * kFactor) : *parse_time(timeout_);
  const Range seeds = seeds_.empty() ? Range() : *parse_range(seeds_);
  const auto end = steady_clock::now() + *parse_time(for_);
  std::uint64_t count = 0;
  for (std::uint64_t seed = seeds.first; seeds_.empty() ? steady_clock::now() < end : true; ++seed) {
    show_progress(seed, count);
    const auto trial = trials.run(spec_of(seed, {}), limit);
    if (!trial) {
      complain(trial.error().message);
      return kExitFailure;
    }
    ++count;
    if (!trial.value().is_like(good)) {
      end_progress();
      return report_failure(trials, program, seed, good, trial.value(), limit);
    }
    if (seed == seeds.last) break;
  }
  end_progress();
  if (is_json_) {
    fmt::print("{}\n",
               nlohmann::json({{"seeds", count}, {"plain", to_json(good)}, {"failure", nullptr}}).dump(2));
  } else {
    fmt::print("urnic: chaos: {} seeds, and the program {} with each\n", count, describe(good));
  }
  return 0;
}

/// With `behaviors`, where there are any; otherwise as the user or the seed has it.
std::string ChaosCommand::spec_of(std::uint64_t seed, const Behaviors& behaviors) const {
  std::string spec = fmt::format("seed={}", seed);
  if (behaviors.none()) return spec_.empty() ? spec : fmt::format("{},{}", spec, spec_);
  spec += ",only=" + names_of(behaviors);
  const std::size_t scale = spec_.find("scale=");
  if (scale == std::string::npos) return spec;
  return fmt::format("{},{}", spec, std::string_view(spec_).substr(scale, spec_.find(',', scale) - scale));
}

int ChaosCommand::report_failure(Trials& trials, const std::vector<std::string>& program, std::uint64_t seed,
                                 const TrialEnd& plain, const TrialEnd& failed, milliseconds limit) const {
  const std::vector<std::string> output = trials.last_output(kLastLines);
  const std::vector<std::string> acts = trials.last_acts(kLastLines);
  const auto say = [this](const std::string& text) {
    if (!is_json_) fmt::print("{}\n", text);
  };
  say(fmt::format("urnic: chaos: with seed {} the program {}; without the adversary it {}", seed,
                  describe(failed), describe(plain)));
  for (const std::string& line : output) say("  | " + line);
  if (!acts.empty()) say("urnic: chaos: last unusual acts:");
  for (const std::string& act : acts) say("  " + act);
  std::fflush(stdout);

  const auto fails = [&](const Behaviors& behaviors, int tries) {
    for (int i = 0; i < tries; ++i) {
      const auto trial = trials.run(spec_of(seed, behaviors), limit);
      if (trial && !trial.value().is_like(plain)) return true;
    }
    return false;
  };
  const bool repeats = fails({}, kTriesWhileNarrowing);
  say(repeats ? "urnic: chaos: it fails again with this seed"
              : "urnic: chaos: it did not fail with this seed again: a race, which shows now and then");
  const Behaviors all = verbs_api::parse_adversary(spec_of(seed, {})).value().behaviors;
  // Where the failure does not come back, it cannot be said what it needs.
  const Behaviors least =
      repeats ? narrow(all, [&](const Behaviors& part) { return fails(part, kTriesWhileNarrowing); }) : all;
  const std::string spec = spec_of(seed, least);
  say(!repeats             ? "urnic: chaos: the seed has these behaviors:"
      : least.count() == 1 ? "urnic: chaos: this behavior is enough:"
                           : "urnic: chaos: these behaviors are enough:");
  for (const nic::BehaviorRow& row : nic::all_behaviors()) {
    if (!least.test(static_cast<std::size_t>(row.behavior))) continue;
    say(fmt::format("  {}: {}\n    rule:     {}\n    exposes:  {}", row.name, row.what, row.rule,
                    row.exposes));
  }
  say("urnic: chaos: to repeat it:\n  " + command_line(spec, program));
  if (is_json_) {
    const nlohmann::json failure = {{"seed", seed},
                                    {"end", to_json(failed)},
                                    {"repeats", repeats},
                                    {"behaviors", names_of(least)},
                                    {"command", command_line(spec, program)},
                                    {"output", output},
                                    {"acts", acts}};
    fmt::print("{}\n", nlohmann::json({{"plain", to_json(plain)}, {"failure", failure}}).dump(2));
  }
  return kExitFailure;
}

}  // namespace urnic::tools
