// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/doctor/program_judgement.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace urnic::tools {
namespace {

constexpr std::string_view kRuntimeAdvice =
    "what a program opens while it runs is not seen here: 'urnic run -v' says when the program has a NIC";

Finding judge_file(const ProgramFacts& facts) {
  if (facts.file.empty()) {
    return problem("program", facts.program + ": there is no such program",
                   "write it as a shell would find it, or with its folder");
  }
  const std::string file = facts.file.string();
  const std::string what =
      facts.interpreter.empty() ? file : fmt::format("{}, a script for {}", file, facts.interpreter.string());
  const bool may_want_files_only = facts.is_go && facts.obstacle == Obstacle::kStatic;
  if (may_want_files_only && facts.mounts.way != NamespaceWay::kForbidden) {
    return note("program", what, describe(facts.obstacle, facts.program));
  }
  if (facts.obstacle != Obstacle::kNone) {
    const std::string& concerned = facts.interpreter.empty() ? facts.program : facts.interpreter.string();
    return problem("program", what, describe(facts.obstacle, concerned));
  }
  if (!facts.is_program) {
    return problem("program", what + ": neither a script nor a 64-bit program of Linux",
                   "name the program that opens the device");
  }
  if (!facts.error.empty()) {
    return problem("program", what + ": " + facts.error,
                   "it does not start without urnic either, or a library of it is for another system");
  }
  return good("program", what);
}

Finding judge_files(const ProgramFacts& facts) {
  if (!facts.calls_kernel_itself) return good("device files", "by functions of the C library (preload)");
  const std::string why = facts.is_go ? "as programs in Go call the kernel themselves"
                                      : "as it has no C library that 'urnic run' could lead";
  switch (facts.mounts.way) {
    case NamespaceWay::kPlain:
      return good("device files", "by mounts of its own, " + why);
    case NamespaceWay::kUser:
      return good("device files", "by mounts in a user namespace of its own, " + why);
    case NamespaceWay::kForbidden:
      break;
  }
  return note("device files", "not seen, " + why,
              "it would need mounts of its own, which are not possible: " + facts.mounts.reason);
}

Finding judge_libibverbs(const ProgramFacts& facts) {
  const LoadedLibrary* const library = find_library(facts.libraries, "libibverbs");
  const bool is_below =
      std::any_of(facts.frameworks.begin(), facts.frameworks.end(), [&](const FrameworkFacts& framework) {
        const LoadedLibrary* const later = find_library(framework.loads, "libibverbs");
        return later != nullptr && later->path == facts.dropin;
      });
  if (library == nullptr && is_below) {
    return good("libibverbs", "a library of the program loads urnic's later, see below");
  }
  if (library == nullptr) {
    return note("libibverbs", "the program loads none when it starts", std::string(kRuntimeAdvice));
  }
  if (library->path == facts.dropin) return good("libibverbs", fmt::format("{}, urnic's", facts.dropin));
  return problem(
      "libibverbs",
      fmt::format("{}, not urnic's", library->path.empty() ? library->name : library->path.string()),
      "the program was given that one although 'urnic run' names urnic's: it sees no device of urnic");
}

Finding judge_framework(const FrameworkFacts& facts, const std::string& dropin) {
  const std::string check(facts.framework->name);
  const std::string advice(facts.framework->advice);
  if (facts.part.empty()) {
    return problem(
        check,
        fmt::format("built without verbs: no {} in {}", facts.framework->plugin, facts.searched.string()),
        fmt::format("it can use TCP alone; install a {} that is built with verbs", facts.framework->name));
  }
  const std::string part = facts.part.string();
  if (!facts.error.empty()) {
    return problem(check, fmt::format("{}: {}", part, facts.error),
                   "it cannot be loaded, so the program falls back to TCP");
  }
  const LoadedLibrary* const library = find_library(facts.loads, "libibverbs");
  if (library == nullptr && find_library(facts.loads, "libucs") != nullptr) {
    return good(check, fmt::format("{} uses UCX; {}", part, advice));
  }
  if (library == nullptr && facts.framework->name == "NCCL") {
    return good(check, part + ", which opens libibverbs by itself; " + advice);
  }
  if (library == nullptr) {
    return note(check, part + " does not load libibverbs",
                fmt::format("this build of {} may reach verbs by another library, or not at all",
                            facts.framework->name));
  }
  if (library->path == dropin) {
    return good(check, fmt::format("{} uses verbs, and gets urnic's; {}", part, advice));
  }
  return problem(check, fmt::format("{} loads {}", part, library->path.string()),
                 "it sees no device of urnic");
}

}  // namespace

std::vector<Finding> judge(const ProgramFacts& facts) {
  std::vector<Finding> findings{judge_file(facts)};
  const bool has_files = !facts.file.empty() && facts.is_program && facts.error.empty();
  if (has_files) findings.push_back(judge_files(facts));
  if (findings.front().verdict == Verdict::kProblem || facts.obstacle != Obstacle::kNone) return findings;
  findings.push_back(judge_libibverbs(facts));
  if (const LoadedLibrary* const library = find_library(facts.libraries, "librdmacm")) {
    findings.push_back(good("librdmacm", library->path.empty() ? "not found" : library->path.string()));
  }
  for (const FrameworkFacts& framework : facts.frameworks) {
    findings.push_back(judge_framework(framework, facts.dropin));
  }
  return findings;
}

}  // namespace urnic::tools
