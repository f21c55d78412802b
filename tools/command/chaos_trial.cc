// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/chaos_trial.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "nic/adversary/act_log.h"
#include "tools/command/console.h"

namespace urnic::tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr const char* kLogPrefix = "acts.";

Error system_error(const char* what) {
  return {.code = errno, .message = fmt::format("{}: {}", what, std::strerror(errno))};
}

/// Of the child; does not return.
[[noreturn]] void become(const std::vector<std::string>& program, const std::string& spec,
                         const std::string& output) {
  setpgid(0, 0);
  const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file >= 0) {
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    close(file);
  }
  if (spec.empty()) {
    unsetenv("URNIC_CHAOS");
  } else {
    setenv("URNIC_CHAOS", spec.c_str(), 1);
  }
  std::vector<const char*> words{"urnic", "run", "--"};
  for (const std::string& word : program) words.push_back(word.c_str());
  words.push_back(nullptr);
  execv("/proc/self/exe", const_cast<char* const*>(words.data()));
  _exit(kExitNotExecutable);
}

/// Nothing when it still runs at the end of the time.
std::optional<int> wait_for(pid_t child, steady_clock::time_point end) {
  milliseconds pause = 1ms;
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (steady_clock::now() >= end) return std::nullopt;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, milliseconds(20));
  }
}

std::vector<std::string> last_lines(const std::string& file, std::size_t most) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (lines.size() == most) lines.erase(lines.begin());
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::string describe(const TrialEnd& end) {
  switch (end.kind) {
    case TrialEnd::Kind::kExit:
      return fmt::format("ends with exit code {}", end.number);
    case TrialEnd::Kind::kSignal:
      return fmt::format("is killed by signal {} ({})", end.number, strsignal(end.number));
    case TrialEnd::Kind::kHang:
      return fmt::format("hangs for {:.1f} s", static_cast<double>(end.time.count()) / 1000);
  }
  return {};
}

Result<TrialEnd, Error> Trials::run(const std::string& spec, milliseconds limit) {
  remove_logs();
  const std::string whole = spec.empty() ? spec : fmt::format("{},log={}/{}%p", spec, folder_, kLogPrefix);
  const auto begin = steady_clock::now();
  const pid_t child = fork();
  if (child < 0) return system_error("fork");
  if (child == 0) become(program_, whole, output_file());
  setpgid(child, child);  // whoever comes first
  const std::optional<int> status = wait_for(child, begin + limit);
  // What it has started ends with it.
  kill(-child, SIGKILL);
  TrialEnd end{.time = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin)};
  if (!status) {
    end.kind = TrialEnd::Kind::kHang;
    waitpid(child, nullptr, 0);
  } else if (WIFSIGNALED(*status)) {
    end.kind = TrialEnd::Kind::kSignal;
    end.number = WTERMSIG(*status);
  } else {
    end.number = WEXITSTATUS(*status);
  }
  return end;
}

std::vector<std::string> Trials::last_output(std::size_t most) const {
  return last_lines(output_file(), most);
}

std::vector<std::string> Trials::last_acts(std::size_t most) const {
  std::vector<std::string> acts;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kLogPrefix)) continue;
    const std::string process = name.substr(std::strlen(kLogPrefix));
    for (const std::string& act : nic::ActLog::last_in_file(entry.path(), most)) {
      acts.push_back(fmt::format("process {}: {}", process, act));
    }
  }
  return acts;
}

void Trials::remove_logs() const {
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    std::error_code ignored;
    std::filesystem::remove(entry.path(), ignored);
  }
}

std::string names_of(const nic::Behaviors& behaviors) {
  std::vector<std::string_view> names;
  for (const nic::BehaviorRow& row : nic::all_behaviors()) {
    if (behaviors.test(static_cast<std::size_t>(row.behavior))) names.push_back(row.name);
  }
  return fmt::format("{}", fmt::join(names, "+"));
}

}  // namespace urnic::tools
