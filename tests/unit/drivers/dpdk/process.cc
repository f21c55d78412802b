// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tests/unit/drivers/dpdk/process.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace urnic::drivers {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kResult = "result ";

}  // namespace

void Process::Parent::tell(std::string_view line) const {
  const std::string text = std::string(line) + "\n";
  [[maybe_unused]] const auto written = write(fd_, text.data(), text.size());
}

Process::Process(const Body& body) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe");
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork");
  if (pid_ > 0) {
    close(ends[1]);
    fd_ = ends[0];
    return;
  }
  close(ends[0]);
  // A test that crashes must not leave spinning children.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const Parent to_parent(ends[1]);
  std::string result = body(to_parent);
  std::replace(result.begin(), result.end(), '\n', '|');
  to_parent.tell(std::string(kResult) + result);
  _exit(0);
}

Process::~Process() {
  kill();
  close(fd_);
}

void Process::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

void Process::kill() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::optional<std::string> Process::next_line(std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  while (true) {
    if (const auto newline = buffered_.find('\n'); newline != std::string::npos) {
      const std::string line = buffered_.substr(0, newline);
      buffered_.erase(0, newline + 1);
      return line;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
    if (left.count() < 0 || poll(&readable, 1, static_cast<int>(left.count())) <= 0) return std::nullopt;
    char bytes[512];
    const auto count = read(fd_, bytes, sizeof(bytes));
    if (count <= 0) return std::nullopt;
    buffered_.append(bytes, static_cast<std::size_t>(count));
  }
}

bool Process::says(std::string_view line, std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  while (Clock::now() < end) {
    const auto next = next_line(std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()));
    if (!next) return false;
    if (*next == line) return true;
  }
  return false;
}

std::string Process::result(std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  while (Clock::now() < end) {
    const auto line = next_line(std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()));
    if (!line) break;
    if (line->starts_with(kResult)) {
      kill();
      return line->substr(kResult.size());
    }
  }
  while (pid_ > 0 && Clock::now() < end) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFSIGNALED(status) ? fmt::format("the child died of signal {}", WTERMSIG(status))
                                 : fmt::format("the child exited with {}", WEXITSTATUS(status));
    }
    usleep(1000);
  }
  return "the child does not come to an end";
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "urnic-dpdk-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace urnic::drivers
