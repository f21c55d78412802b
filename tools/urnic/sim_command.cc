#include "tools/urnic/sim_command.h"

#include <cstdio>
#include <string>

namespace urnic::tools {

SimCommand::SimCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = app.add_subcommand("sim", "Simulate NICs on a hostile network, again and again");
  command->footer(
      "Each seed draws a network, its hosts and their traffic anew; the same seed does the same, to the "
      "byte.\n"
      "A failed seed is printed with the command that repeats it. Exit code: 0 when nothing failed, else 1.");
  const CLI::Option* const seed =
      command->add_option("--seed", options_.first_seed, "Run this seed alone, twice");
  command->add_option("--seeds", options_.seeds, "How many seeds to run")
      ->excludes("--seed")
      ->check(CLI::PositiveNumber);
  command->add_option("--start", options_.first_seed, "The first of them")->excludes("--seed");
  command
      ->add_option_function<std::string>(
          "--shard",
          [this](const std::string& text) {
            const auto shard = sim::Shard::parse(text);
            if (!shard) throw CLI::ValidationError("--shard", shard.error().message);
            options_.shard = shard.value();
          },
          "Run part I of N of them alone, here or on one of many machines; tools/merge-results adds up their --json reports")
      ->type_name("I/N")
      ->excludes("--seed");
  command->add_flag("-v,--verbose", options_.verbose,
                    "Print every seed's options, and the last frames before a failure");
  command->add_option("--trace", options_.trace_file, "Write every frame of the first seed to this file")
      ->type_name("FILE");
  command->add_option("--max-failures", options_.max_failures, "Stop after so many failed seeds");
  command->add_flag("--json", options_.json, "Report as JSON");
  command->callback([this, seed, &invocation] {
    options_.regressions = seed->count() == 0;
    invocation.exit_code = sim::run(options_, stdout);
  });
}

}  // namespace urnic::tools
