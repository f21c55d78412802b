// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/version.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <string_view>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "nic/memory/crc_copy.h"
#include "nic/memory/fault_guard.h"

namespace urnic::tools {
namespace {

std::vector<std::string> processor_features() {
  std::vector<std::string> found;
  [[maybe_unused]] const auto add = [&found](const char* name, bool has) {
    if (has) found.emplace_back(name);
  };
#if defined(__x86_64__)
  add("pclmulqdq", __builtin_cpu_supports("pclmul") != 0);
  add("vpclmulqdq", __builtin_cpu_supports("vpclmulqdq") != 0);
  add("avx", __builtin_cpu_supports("avx") != 0);
  add("avx2", __builtin_cpu_supports("avx2") != 0);
  add("avx512f", __builtin_cpu_supports("avx512f") != 0);
#elif defined(__aarch64__)
  const unsigned long has = getauxval(AT_HWCAP);
  add("pmull", (has & HWCAP_PMULL) != 0);
  add("crc32", (has & HWCAP_CRC32) != 0);
#endif
  return found;
}

std::vector<std::string> private_nodes(const BuildFacts& build) {
  std::istringstream words(build.private_nodes);
  std::vector<std::string> nodes;
  for (std::string node; words >> node;) nodes.push_back(node);
  return nodes;
}

bool has_dropin(const BuildFacts& build) {
  return !std::string_view(build.dpdk).empty();
}

std::string text_of(const BuildFacts& build) {
  std::vector<std::string> words{build.type};
  if (build.has_lto) words.emplace_back("LTO");
  words.push_back(has_dropin(build) ? fmt::format("DPDK {}", build.dpdk)
                                    : "no DPDK, and so no libibverbs for programs");
  if (!std::string_view(build.sanitizers).empty()) {
    words.push_back(fmt::format("-fsanitize={}", build.sanitizers));
  }
  words.emplace_back(build.compiler);
  words.emplace_back(build.machine);
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string or_none(const std::string& text) {
  return text.empty() ? "none of those that urnic asks about" : text;
}

nlohmann::ordered_json or_null(std::string_view text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

}  // namespace

Version this_version() {
  const auto copies = nic::crc_copies();
  return {.number = URNIC_VERSION,
          .commit = kCommit,
          .build = kBuildFacts,
          .processor = processor_features(),
          .crc_copy = copies.empty() ? "" : copies.front().name,
          .catches_faults = nic::kCatchesFaults};
}

std::string text_of(const Version& version) {
  const BuildFacts& build = version.build;
  const std::string crc = version.crc_copy.empty() ? "ISA-L, after a packet has been copied"
                                                   : "ISA-L; while a packet is copied " + version.crc_copy;
  const char* const loss =
      version.catches_faults ? "fails the work request that uses it" : "ends the program that uses it";
  std::vector<std::string> lines{"urnic " + version.number, "commit       " + version.commit,
                                 "build        " + text_of(build)};
  if (has_dropin(build)) {
    lines.push_back(fmt::format("libibverbs   {} to {}, IBVERBS_PRIVATE_{}", build.first_node,
                                build.last_node, fmt::join(private_nodes(build), ", ")));
  }
  lines.push_back("processor    " + or_none(fmt::format("{}", fmt::join(version.processor, ", "))));
  lines.push_back("CRC-32       " + crc);
  lines.push_back(fmt::format("lost memory  {}", loss));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

nlohmann::ordered_json json_of(const Version& version) {
  const BuildFacts& build = version.build;
  nlohmann::ordered_json libibverbs;
  if (has_dropin(build)) {
    auto numbers = nlohmann::ordered_json::array();
    for (const std::string& node : private_nodes(build)) numbers.push_back(std::stoi(node));
    libibverbs = {{"first", build.first_node}, {"last", build.last_node}, {"private", numbers}};
  }
  return {{"version", version.number},
          {"commit", version.commit},
          {"build",
           {{"type", build.type},
            {"lto", build.has_lto},
            {"dpdk", or_null(build.dpdk)},
            {"sanitizers", or_null(build.sanitizers)},
            {"compiler", build.compiler},
            {"machine", build.machine}}},
          {"libibverbs", libibverbs},
          {"processor", version.processor},
          {"crc_copy", or_null(version.crc_copy)},
          {"catches_faults", version.catches_faults}};
}

}  // namespace urnic::tools
