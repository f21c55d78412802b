// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fabric/start_switch.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <vector>

#include "drivers/descriptor.h"
#include "nic/process/may_wait.h"

namespace urnic::drivers {
namespace {

constexpr auto kStartPatience = std::chrono::seconds(10);
// The descriptor on which the switch says that it is ready, in its own numbering.
constexpr int kReadyFd = 3;

Error start_error(const std::string& program, int code) {
  return Error{.code = code,
               .message = fmt::format("cannot start the switch, {}: {}", program,
                                      std::generic_category().message(code))};
}

/// What the switch needs of this program's environment: nothing that was meant for the program.
std::vector<std::string> environment_of_the_switch() {
  std::vector<std::string> environment;
  for (const char* name : {"PATH", "HOME", "TMPDIR", "XDG_RUNTIME_DIR", "URNIC_VERBOSE"}) {
    if (const char* const value = secure_getenv(name)) {
      environment.push_back(fmt::format("{}={}", name, value));
    }
  }
  return environment;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// posix_spawn() with everything that a program may have arranged for itself put back: signals and
/// descriptors. The switch gets a process group of its own, so that Ctrl-C does not reach it, but stays in
/// our session: the kernel shares the processor among sessions first (autogroups, sched(7)). A switch
/// alone in a session was seen to wait half a second for its turn while programs spin.
int spawn(const std::string& program, const std::vector<std::string>& arguments, int ready_fd, pid_t& child) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&actions);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawn_file_actions_adddup2(&actions, ready_fd, kReadyFd);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, kReadyFd + 1);

  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), {"--on-demand", "--ready-fd", std::to_string(kReadyFd)});
  std::vector<std::string> environment = environment_of_the_switch();
  const int code = posix_spawn(&child, program.c_str(), &actions, &attributes, pointers_to(words).data(),
                               pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return code;
}

/// What the switch says until it closes its end: that it is ready, or why it will never be. Nothing when it
/// takes too long. A signal of the program's interrupts only the call.
std::optional<std::string> hear(int fd) {
  std::string said;
  std::array<char, 256> buffer;
  const auto give_up = std::chrono::steady_clock::now() + kStartPatience;
  for (;;) {
    const auto remaining = give_up - std::chrono::steady_clock::now();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(remaining).count();
    if (left <= 0) return std::nullopt;
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    if (poll(&readable, 1, static_cast<int>(left)) <= 0) continue;
    const ssize_t bytes = read(fd, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return said;
    said.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
}

/// "NUMBER TEXT": an errno value and what is wrong. A program that says anything else is no switch of this
/// version.
Error error_in(const std::string& said) {
  if (said.empty()) {
    return Error{.code = EIO,
                 .message = "the switch ended before it was ready, and did not say why: its log may"};
  }
  int code = 0;
  const auto [rest, trouble] = std::from_chars(said.data(), said.data() + said.size(), code);
  const auto digits = static_cast<std::size_t>(rest - said.data());
  const bool has_code = trouble == std::errc() && code > 0 && digits < said.size() && *rest == ' ';
  if (!has_code) return Error{.code = EIO, .message = said};
  return Error{.code = code, .message = said.substr(digits + 1)};
}

}  // namespace

Result<void, Error> start_switch(const std::string& program, const std::vector<std::string>& words) {
  nic::assert_may_wait();
  int ends[2];
  // Far from kReadyFd, so that to move it there closes nothing that is needed.
  if (pipe2(ends, O_CLOEXEC) != 0) return start_error(program, errno);
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  Descriptor high(fcntl(writer.get(), F_DUPFD_CLOEXEC, kReadyFd + 1));
  if (!high) return start_error(program, errno);
  writer.reset();
  pid_t child = 0;
  if (const int code = spawn(program, words, high.get(), child); code != 0) {
    return start_error(program, code);
  }
  high.reset();
  // The child starts a child of its own and ends at once. A program that waits for all its children may have
  // been faster.
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  const auto said = hear(reader.get());
  if (!said) return start_error(program, ETIMEDOUT);
  if (*said != kSwitchIsReady) return error_in(*said);
  return success();
}

}  // namespace urnic::drivers
