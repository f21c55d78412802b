// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// urnic_scripts: runs protocol scripts.
//
//   urnic_scripts [--verbose] FILE|FOLDER...
//
// Exit code 0: all passed, 1: one failed, 2: one could not be read or asks for what cannot be done.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/scripts/connections/rdma_cm_stage.h"
#include "tests/scripts/transport_stage.h"
#include "tools/conformance/script/connections/dialect.h"
#include "tools/conformance/script/parser.h"

namespace urnic::scripts {
namespace {

namespace fs = std::filesystem;

enum Exit { kPassed = 0, kFailed = 1, kUnreadable = 2 };

/// The kinds of scripts, by the ends of their names.
struct Kind {
  std::string_view extension;
  Result<Script, ScriptError> (*parse)(std::string_view text);
  Outcome (*run)(const Script& script);
};
constexpr auto kKinds =
    std::to_array<Kind>({{".rdma", parse_script, run_script},
                         {".cm", connections::parse_connection_script, connections::run_connection_script}});

const Kind* kind_of(const fs::path& path) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const Kind& kind) { return path.extension() == kind.extension; });
  return found == kKinds.end() ? nullptr : &*found;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_ladder(const Outcome& outcome) {
  for (const std::string& line : outcome.ladder) print(fmt::format("    {}\n", line));
}

Exit run_file(const fs::path& path, bool is_verbose) {
  const Kind* const kind = kind_of(path);
  std::ifstream file(path, std::ios::binary);
  if (kind == nullptr || !file) {
    print(fmt::format("{}: cannot be opened, or is no script\n", path.string()));
    return kUnreadable;
  }
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto script = kind->parse(text);
  if (!script) {
    print(fmt::format("{}:{}: {}\n", path.string(), script.error().line, script.error().message));
    return kUnreadable;
  }
  const Outcome outcome = kind->run(script.value());
  if (!outcome.failure) {
    if (is_verbose) {
      print(fmt::format("{}: passed: {}\n", path.string(), script.value().verifies));
      print_ladder(outcome);
    }
    return kPassed;
  }
  const Failure& failure = *outcome.failure;
  const bool is_script_error = failure.kind == Trouble::Kind::kScriptError;
  print(fmt::format("{}:{}: {}{}\n  line: {}\n  verifies: {}\n", path.string(), failure.line,
                    is_script_error ? "cannot be done: " : "", failure.message, failure.statement,
                    script.value().verifies));
  print_ladder(outcome);
  return is_script_error ? kUnreadable : kFailed;
}

std::vector<fs::path> files_of(const std::vector<std::string>& arguments) {
  std::vector<fs::path> files;
  for (const std::string& argument : arguments) {
    if (!fs::is_directory(argument)) {
      files.emplace_back(argument);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(argument)) {
      if (kind_of(entry.path()) != nullptr) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

int main_of(int argc, char** argv) {
  CLI::App app("Runs protocol scripts: *.rdma against the transport, *.cm against the connection manager.",
               "urnic_scripts");
  std::vector<std::string> arguments;
  bool is_verbose = false;
  app.add_option("path", arguments, "Scripts, or folders of them")->required()->check(CLI::ExistingPath);
  app.add_flag("-v,--verbose", is_verbose, "Show what happened in scripts that pass, too");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kPassed : kUnreadable;
  }
  Exit worst = kPassed;
  std::size_t failed = 0;
  const std::vector<fs::path> files = files_of(arguments);
  for (const fs::path& file : files) {
    const Exit exit = run_file(file, is_verbose);
    if (exit != kPassed) ++failed;
    worst = std::max(worst, exit);
  }
  print(fmt::format("{} of {} scripts passed\n", files.size() - failed, files.size()));
  return files.empty() ? kUnreadable : worst;
}

}  // namespace
}  // namespace urnic::scripts

int main(int argc, char** argv) {
  return urnic::scripts::main_of(argc, argv);
}
