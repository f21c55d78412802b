// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/commands/sim_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "drivers/network/quantity.h"
#include "nic/recovery_text.h"
#include "tools/command/console.h"
#include "tools/command/usage_error.h"

namespace urnic::tools {
namespace {

constexpr const char* kSeedGroup = "Seeds";
constexpr const char* kExperimentGroup = "A network and a workload from files";

constexpr const char* kSimFooter =
    R"(Without --topology each seed draws a hostile network of its own, with hosts and traffic; the same seed does the same, to the byte. One seed
in three draws switches and links too, whose queues fill, mark, drop and pause. --path switched lets all seeds do so, --path direct none.
In one seed of four NICs have an adversary, which does what the rules allow and no more: CHAOS.md. --chaos all
gives one to all NICs of all seeds, --chaos none to none.
A failed seed is printed with the command that repeats it. Exit code: 0 when nothing failed, else 1.

With --topology the NICs, with all that they have on real wires, are hosts of the network that the file describes, and do what the workload
says, in virtual time: links, queues, ECN, PFC, congestion control, losses. Again the same seed does the same.

  urnic sim --topology incast --workload incast                  all send to one; pauses instead of losses
  urnic sim --topology incast --workload incast --cc dcqcn:hpcc  the same with congestion control
  urnic sim --topology dumbbell --workload two_flows --plot flows.html
  urnic sim --topology leaf_spine --workload moe --json | jq '.jobs'

A name without '/' that is no file here means one of the files that come with urnic: TOPOLOGY.md and EXPERIMENTS.md, below share/doc/urnic,
list them and describe the formats. Exit code: 0 when the workload, or its time, was over; 1 when a work request failed or nothing moved
any more; 2 wrong usage, or a file that cannot be used.)";

/// Where the files are that come with urnic.
std::filesystem::path our_folder(const std::string& folder) {
  std::error_code ignored;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return executable.parent_path().parent_path() / "share" / "urnic" / folder;
}

/// A file of the user, or one of ours.
std::string find_file(const std::string& name, const std::string& folder) {
  std::error_code ignored;
  if (name.find('/') != std::string::npos || std::filesystem::exists(name, ignored)) return name;
  const auto ours = our_folder(folder) / (name + ".json");
  return std::filesystem::exists(ours, ignored) ? ours.string() : name;
}

/// "; urnic has the topologies incast, ..." for a name that find_file() did not find; otherwise nothing.
std::string offer(const std::string& name, const std::string& folder) {
  std::error_code ignored;
  if (name.find('/') != std::string::npos || std::filesystem::exists(name, ignored)) return {};
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(our_folder(folder), ignored)) {
    names.push_back(entry.path().stem().string());
  }
  if (names.empty()) return {};
  std::sort(names.begin(), names.end());
  return fmt::format("; urnic has the {} {}", folder, fmt::join(names, ", "));
}

}  // namespace

SimCommand::SimCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command =
      app.add_subcommand("sim", "Simulate NICs on a hostile network, or on one from a file");
  command->footer(kSimFooter);
  const CLI::Option* const seed =
      command
          ->add_option("--seed", options_.first_seed,
                       "Run this seed alone, twice; of an experiment, what is drawn in it")
          ->check(whole_number());
  command->add_flag("--json", options_.json, "Report as JSON");
  command
      ->add_option_function<std::string>(
          "--recovery",
          [this](const std::string& name) {
            options_.forced.recovery = experiment_.recovery = nic::parse_recovery(name).value();
          },
          "How RC connections repeat what is lost, instead of what the seeds draw or the workload says")
      ->check(CLI::IsMember({"go-back-n", "selective-repeat"}));
  add_seed_options(*command);
  add_experiment_options(*command);
  command->callback([this, seed, &invocation] {
    if (experiment_.topology_file.empty()) {
      options_.regressions = seed->count() == 0 && !options_.forced.any();
      invocation.exit_code = sim::run(options_, stdout);
      return;
    }
    experiment_.topology_file = find_file(experiment_.topology_file, "topologies");
    experiment_.workload_file = find_file(experiment_.workload_file, "workloads");
    experiment_.seed = options_.first_seed;
    experiment_.json = options_.json;
    const auto code = experiment::run(experiment_, stdout);
    if (!code) {
      complain(code.error().message + offer(experiment_.topology_file, "topologies") +
               offer(experiment_.workload_file, "workloads"));
    }
    invocation.exit_code = code ? code.value() : kExitUsage;
  });
}

void SimCommand::add_seed_options(CLI::App& command) {
  command.add_option("--seeds", options_.seeds, "How many seeds to run")
      ->excludes("--seed")
      ->check(whole_number(1))
      ->group(kSeedGroup);
  command.add_option("--start", options_.first_seed, "The first of them")
      ->excludes("--seed")
      ->check(whole_number())
      ->group(kSeedGroup);
  command
      .add_option_function<std::string>(
          "--shard",
          [this](const std::string& text) {
            const auto shard = sim::Shard::parse(text);
            if (!shard) throw CLI::ValidationError("--shard", shard.error().message);
            options_.shard = shard.value();
          },
          "Run part I of N of them alone, here or on one of many machines; tools/development/merge-results "
          "adds up their --json reports")
      ->type_name("I/N")
      ->excludes("--seed")
      ->group(kSeedGroup);
  command
      .add_option_function<std::string>(
          "--path", [this](const std::string& name) { options_.forced.path = sim::parse_path(name).value(); },
          "How frames travel, instead of what the seeds draw: over one switch that only delays, or through "
          "random topologies")
      ->check(CLI::IsMember({"direct", "switched"}))
      ->group(kSeedGroup);
  command
      .add_option_function<std::string>(
          "--chaos", [this](const std::string& which) { options_.forced.adversaries = which == "all"; },
          "Which NICs have an adversary, as with 'urnic run --chaos', instead of what the seeds draw")
      ->check(CLI::IsMember({"all", "none"}))
      ->group(kSeedGroup);
  command
      .add_flag("-v,--verbose", options_.verbose,
                "Print every seed's options, and the last frames before a failure")
      ->group(kSeedGroup);
  command.add_option("--trace", options_.trace_file, "Write every frame of the first seed to this file")
      ->type_name("FILE")
      ->group(kSeedGroup);
  command.add_option("--max-failures", options_.max_failures, "Stop after so many failed seeds")
      ->check(whole_number())
      ->group(kSeedGroup);
}

void SimCommand::add_experiment_options(CLI::App& command) {
  CLI::Option* const topology =
      command.add_option("--topology", experiment_.topology_file, "The network")->type_name("FILE");
  CLI::Option* const workload =
      command.add_option("--workload", experiment_.workload_file, "What its hosts do")
          ->type_name("FILE")
          ->needs(topology);
  topology->needs(workload);
  const auto add_duration = [&command](const char* name, auto set, const char* description) {
    return command
        .add_option_function<std::string>(
            name,
            [name, set](const std::string& text) {
              const auto time = network::parse_duration(text);
              if (!time || *time <= transport::Duration{}) {
                throw CLI::ValidationError(name,
                                           "write a number with ns, us, ms or s, such as 10us, not " + text);
              }
              set(*time);
            },
            description)
        ->type_name("TIME");
  };
  for (CLI::Option* const option :
       {topology, workload,
        command.add_option("--cc", experiment_.congestion,
                           "Congestion control, as of 'urnic run', instead of the workload's"),
        command
            .add_option(
                "--fault", experiment_.faults,
                "Faults of a host, as of 'urnic run', or with LEFT/RIGHT=SPEC of a link; may be repeated")
            ->type_name("HOST=SPEC"),
        add_duration(
            "--until", [this](transport::Duration time) { experiment_.until = time; },
            "End then, over or not, instead of when the workload says"),
        command
            .add_option("--plot", experiment_.plot_file,
                        "Draw queues, rates, marks, pauses and losses over time: a page for a browser")
            ->type_name("FILE"),
        command
            .add_option("--series", experiment_.series_file,
                        "Write the same as JSON lines, or as CSV if it ends in .csv")
            ->type_name("FILE"),
        add_duration(
            "--interval", [this](transport::Duration time) { experiment_.interval = time; },
            "Between samples of both [10us]"),
        command
            .add_option("--pcap", experiment_.captures,
                        "Write what is on the link of a host; may be repeated")
            ->type_name("HOST=FILE")}) {
    option->group(kExperimentGroup);
    if (option != topology) option->needs(topology);
  }
}

}  // namespace urnic::tools
