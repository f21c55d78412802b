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

/// Nothing when the process has ended.
std::optional<NicProcess> ask(const nic::StatusFolder& folder, const std::string& name) {
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = folder.address_of(name);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED) return std::nullopt;
    return NicProcess{.socket = name, .error = system_error().message};
  }
  const auto peer = nic::peer_of(socket.get());
  if (!peer || peer->uid != geteuid()) return NicProcess{.socket = name, .error = "it is another user's"};
  const auto text = read_to_end(socket.get());
  if (!text) return NicProcess{.socket = name, .pid = peer->pid, .error = text.error().message};
  // It ended between taking us in and answering.
  if (text.value().empty()) return std::nullopt;
  NicProcess process{.socket = name, .pid = peer->pid};
  auto snapshot = read_snapshot(text.value());
  if (snapshot) {
    process.snapshot = std::move(snapshot.value());
  } else {
    process.error = snapshot.error().message;
  }
  return process;
}

}  // namespace

Result<std::vector<NicProcess>, Error> ask_processes() {
  const auto folder = nic::StatusFolder::open();
  if (!folder) return failure(folder.error());
  folder.value().remove_stale_sockets();
  std::vector<std::string> names;
  std::error_code code;
  for (std::filesystem::directory_iterator entry(folder.value().path(), code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string name = entry->path().filename().string();
    if (nic::is_status_socket_name(name) && entry->is_socket(code)) names.push_back(name);
  }
  // Processes as they were started, as long as their numbers do not wrap.
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  std::vector<NicProcess> processes;
  for (const std::string& name : names) {
    if (auto process = ask(folder.value(), name)) processes.push_back(std::move(*process));
  }
  return processes;
}

}  // namespace urnic::tools
