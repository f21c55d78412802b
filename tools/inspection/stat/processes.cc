// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/inspection/stat/processes.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "nic/host/status_socket.h"
#include "tools/inspection/stat/snapshot_reader.h"

namespace urnic::tools {

namespace {

using std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(2);
/// More than 16,384 queue pairs and 262,144 memory regions take.
constexpr std::size_t kLongestAnswer = 64u << 20;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Error system_error() {
  const int code = errno;
  return {.code = code, .message = std::generic_category().message(code)};
}

Result<std::string, Error> read_to_end(int socket) {
  const auto end = steady_clock::now() + kPatience;
  std::string text;
  std::array<char, 65536> part;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - steady_clock::now()).count();
    pollfd readable{.fd = socket, .events = POLLIN, .revents = 0};
    if (left <= 0 || poll(&readable, 1, static_cast<int>(left)) == 0) {
      return failure(Error{.code = ETIMEDOUT, .message = "it does not answer; is it stopped?"});
    }
    const ssize_t count = read(socket, part.data(), part.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(system_error());
    text.append(part.data(), static_cast<std::size_t>(count));
    if (text.size() > kLongestAnswer) {
      return failure(Error{.code = EPROTO, .message = "it does not stop talking"});
    }
  }
}

struct Answer {
  std::int64_t pid = 0;
  Result<std::string, Error> text;
};

// A temporary Answer in its place makes g++ 12 warn, without a reason, that parts of it are not set.
Answer no_answer(std::int64_t pid, Error why) {
  Answer answer{.pid = pid, .text = std::move(why)};
  return answer;
}

/// Nothing when the process has ended.
std::optional<Answer> ask(const nic::StatusFolder& folder, const std::string& name,
                          std::string_view request) {
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = folder.address_of(name);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED) return std::nullopt;
    return no_answer(0, system_error());
  }
  const auto peer = nic::peer_of(socket.get());
  if (!peer || peer->uid != geteuid()) {
    return no_answer(0, {.code = EPERM, .message = "it is another user's"});
  }
  if (send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    return no_answer(peer->pid, system_error());
  }
  shutdown(socket.get(), SHUT_WR);
  Answer answer{.pid = peer->pid, .text = read_to_end(socket.get())};
  // It ended between taking us in and answering.
  if (answer.text && answer.text.value().empty()) return std::nullopt;
  return answer;
}

/// Nothing when the process has ended.
std::optional<NicProcess> snapshot_of(const nic::StatusFolder& folder, const std::string& name) {
  const auto answer = ask(folder, name, "");
  if (!answer) return std::nullopt;
  NicProcess process{.socket = name, .pid = answer->pid};
  if (!answer->text) {
    process.error = answer->text.error().message;
    return process;
  }
  auto snapshot = read_snapshot(answer->text.value());
  if (snapshot) {
    process.snapshot = std::move(snapshot.value());
  } else {
    process.error = snapshot.error().message;
  }
  return process;
}

}  // namespace

Result<std::string, Error> tell_process(const std::string& socket, std::string_view request) {
  const auto folder = nic::StatusFolder::open();
  if (!folder) return failure(folder.error());
  auto answer = ask(folder.value(), socket, request);
  if (answer) return std::move(answer->text);
  return failure(Error{.code = ESRCH, .message = "the process has ended"});
}

Result<std::vector<NicProcess>, Error> ask_processes() {
  const auto folder = nic::StatusFolder::open();
  if (!folder) return failure(folder.error());
  folder.value().remove_stale_sockets();
  std::vector<std::string> names;
  std::error_code code;
  for (std::filesystem::directory_iterator entry(folder.value().path(), code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (nic::StatusName::parse(name) && entry->is_socket(code)) names.push_back(name);
  }
  // As they were started, as long as the numbers of processes do not wrap.
  std::ranges::sort(names, {}, [](const std::string& text) {
    const auto name = *nic::StatusName::parse(text);
    return std::tuple(name.process.process, name.process.pid_namespace, name.device);
  });
  std::vector<NicProcess> processes;
  for (const std::string& name : names) {
    if (auto process = snapshot_of(folder.value(), name)) processes.push_back(std::move(*process));
  }
  return processes;
}

}  // namespace urnic::tools
