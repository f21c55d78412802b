// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/sanitizer.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "verbs_api/sanitizer/checks/pin_limit.h"

namespace urnic::verbs_api {
namespace {

/// Of one finding. A program with a thousand queue pairs makes each mistake a thousand times.
constexpr std::size_t kMostTold = 10;

std::string text_of(Finding finding, const std::string& object, const std::string& what,
                    const CallPath& calls) {
  const FindingRow& row = row_of(finding);
  std::string text = fmt::format("urnic: {}: {}: {}: {}\n", name_of(row.level), row.name, object, what);
  text += fmt::format("urnic:   rule: {}\n", row.rule);
  text += fmt::format("urnic:   shows on: {}\n", row.shows_on);
  text += fmt::format("urnic:   do: {}\n", row.advice);
  if (calls.is_empty()) return text;
  text += "urnic:   called from:\n";
  for (const std::string& call : calls.lines()) text += fmt::format("urnic:     {}\n", call);
  return text;
}

/// Whatever folder the program goes to.
std::string complete(std::string file) {
  constexpr std::string_view kProcess = "%p";
  if (file.empty()) return file;
  if (const auto place = file.find(kProcess); place != std::string::npos) {
    file.replace(place, kProcess.size(), std::to_string(getpid()));
  }
  std::error_code ignored;
  const auto whole = std::filesystem::absolute(file, ignored);
  return whole.empty() ? file : whole.string();
}

void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

void Sanitizer::use(const SanitizerSettings& settings) {
  settings_ = settings;
  settings_.json_file = complete(settings.json_file);
  is_on_.store(true, std::memory_order_release);
}

void Sanitizer::use_accounts() {
  settings_ = SanitizerSettings::for_accounts();
  has_accounts_.store(true, std::memory_order_release);
}

DeviceLedger& Sanitizer::device(unsigned number) {
  const std::lock_guard lock(mutex_);
  auto& ledger = devices_[number];
  if (ledger == nullptr) {
    ledger = std::make_unique<DeviceLedger>(*this);
    ledger->set_pin_limit(pin_limit());
  }
  return *ledger;
}

nic::FailureListener& Sanitizer::listener(unsigned number) {
  DeviceLedger& ledger = device(number);
  const std::lock_guard lock(mutex_);
  auto& listener = listeners_[number];
  if (listener == nullptr) listener = std::make_unique<FailureFindings>(ledger, *this);
  return *listener;
}

// Environment variables have rdma-core call ibv_fork_init() by itself.
void Sanitizer::check_fork() {
  const bool is_thought_of = is_fork_thought_of_ || secure_getenv("RDMAV_FORK_SAFE") != nullptr ||
                             secure_getenv("IBV_FORK_SAFE") != nullptr;
  if (is_thought_of || !wants(Finding::kForkWithRegisteredMemory)) return;
  std::uint64_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, ledger] : devices_) bytes += ledger->memory().pinned();
  }
  if (bytes == 0) return;
  complain(Finding::kForkWithRegisteredMemory, "process", [bytes] {
    return fmt::format(
        "fork() is called with {} bytes registered, and the program has called neither ibv_fork_init() nor "
        "ibv_is_fork_initialized()",
        bytes);
  });
}

bool Sanitizer::is_suppressed(Finding finding, const CallPath& calls) {
  const std::pair key(finding, calls);
  {
    const std::lock_guard lock(mutex_);
    const auto known = suppressed_.find(key);
    if (known != suppressed_.end()) return known->second;
  }
  const bool is_covered = settings_.suppressions.covers(finding, calls.lines());
  const std::lock_guard lock(mutex_);
  suppressed_.emplace(key, is_covered);
  return is_covered;
}

bool Sanitizer::count(Finding finding, const std::string& object, const CallPath* calls) {
  if (!wants(finding)) return false;
  const bool may_be_suppressed = settings_.suppressions.has_any_of(finding);
  if (may_be_suppressed && is_suppressed(finding, calls != nullptr ? *calls : CallPath::here())) return false;
  const std::lock_guard lock(mutex_);
  Told& told = told_[static_cast<std::size_t>(finding)];
  ++told.times;
  if (told.objects.contains(object)) return false;
  told.has_more_objects = told.objects.size() >= kMostTold;
  return !told.has_more_objects && told.objects.insert(object).second;
}

void Sanitizer::tell(Finding finding, const std::string& object, const std::string& what,
                     const CallPath* calls) {
  CallPath shown;
  if (settings_.has_stacks) shown = calls != nullptr ? *calls : CallPath::here();
  write(text_of(finding, object, what, shown));
  const std::lock_guard lock(mutex_);
  std::string& first = told_[static_cast<std::size_t>(finding)].first;
  if (first.empty()) first = fmt::format("{}: {}", object, what);
}

int Sanitizer::end(int exit_code) {
  if (!is_on_.exchange(false)) return exit_code;
  std::vector<std::pair<Finding, Told>> told;
  bool has_errors = false;
  {
    const std::lock_guard lock(mutex_);
    for (const FindingRow& row : all_findings()) {
      Told& one = told_[static_cast<std::size_t>(row.finding)];
      if (one.times == 0) continue;
      has_errors = has_errors || row.level == FindingLevel::kError;
      told.emplace_back(row.finding, std::move(one));
    }
  }
  if (!settings_.json_file.empty()) write_file(told);
  if (told.empty()) {
    write("urnic: sanitizer: nothing was found\n");
    return exit_code;
  }
  std::string text = "urnic: sanitizer: what was found\n";
  text += fmt::format("urnic:   {:<32} {:<8} {:>10} {:>8}\n", "finding", "level", "times", "objects");
  for (const auto& [finding, one] : told) {
    const FindingRow& row = row_of(finding);
    text += fmt::format("urnic:   {:<32} {:<8} {:>10} {:>8}\n", row.name, name_of(row.level), one.times,
                        fmt::format("{}{}", one.objects.size(), one.has_more_objects ? "+" : ""));
  }
  write(text + "urnic:   'urnic explain FINDING' shows wrong and right code\n");
  return has_errors && exit_code == 0 ? settings_.exit_code : exit_code;
}

void Sanitizer::write_file(const std::vector<std::pair<Finding, Told>>& told) const {
  nlohmann::json findings = nlohmann::json::array();
  for (const auto& [finding, one] : told) {
    const FindingRow& row = row_of(finding);
    findings.push_back({{"name", row.name},
                        {"level", name_of(row.level)},
                        {"times", one.times},
                        {"objects", one.objects},
                        {"has_more_objects", one.has_more_objects},
                        {"first", one.first},
                        {"rule", row.rule},
                        {"shows_on", row.shows_on},
                        {"advice", row.advice}});
  }
  const std::string text = nlohmann::json{{"findings", findings}}.dump(2) + "\n";
  std::FILE* const file = std::fopen(settings_.json_file.c_str(), "we");
  const bool is_written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (file != nullptr && std::fclose(file) == 0 && is_written) return;
  write(fmt::format("urnic: sanitizer: {} was not written: {}\n", settings_.json_file, std::strerror(error)));
}

}  // namespace urnic::verbs_api
