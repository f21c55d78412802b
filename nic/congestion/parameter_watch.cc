// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/congestion/parameter_watch.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "nic/congestion/parameter_files.h"
#include "nic/process/may_wait.h"
#include "nic/process/own_thread.h"
#include "nic/process/wait_unless_stopped.h"

namespace urnic::nic {
namespace {

/// More than any number takes.
constexpr std::size_t kMostText = 64;

Error watch_error(const std::string& what) {
  const int code = errno;
  return Error{
      .code = code,
      .message = fmt::format(
          "what is written to the parameters of congestion control has no effect on this process: {}: {}",
          what, std::generic_category().message(code))};
}

class File {
 public:
  /// Nothing but a plain file is opened, and nothing waits: what stands there may be anything.
  File(const std::string& path, int flags)
      : file_(::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {
    struct stat status {};
    if (!file_ || (fstat(fd(), &status) == 0 && S_ISREG(status.st_mode))) return;
    file_.reset();
    errno = EINVAL;
  }

  bool is_open() const { return static_cast<bool>(file_); }
  int fd() const { return file_.get(); }

  /// Whether any process has it open for writing: Linux grants no read lease then (fcntl(2)). While a lease
  /// is held and a writer comes, the signal for the holder goes to this thread, which has blocked all
  /// signals. Where there are no leases: no.
  bool has_writer() const {
    const f_owner_ex owner{.type = F_OWNER_TID, .pid = gettid()};
    if (fcntl(fd(), F_SETOWN_EX, &owner) != 0) return false;
    if (fcntl(fd(), F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN;
    fcntl(fd(), F_SETLEASE, F_UNLCK);
    return false;
  }

 private:
  Descriptor file_;
};

/// The first kMostText bytes.
std::optional<std::string> text_of(const File& file) {
  std::array<char, kMostText> text{};
  const ssize_t length = pread(file.fd(), text.data(), text.size(), 0);
  return length < 0 ? std::nullopt
                    : std::optional(std::string(text.data(), static_cast<std::size_t>(length)));
}

/// Whether there is nothing more to be done: another watch that looks at it at this moment (EWOULDBLOCK)
/// overwrites it next.
bool overwrite(const std::string& path, const std::string& text) {
  const File file(path, O_WRONLY);
  if (!file.is_open()) return errno == EWOULDBLOCK;
  return ftruncate(file.fd(), 0) == 0 &&
         pwrite(file.fd(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

}  // namespace

Result<std::unique_ptr<ParameterWatch>, Error> ParameterWatch::start(ParameterOwner owner,
                                                                     std::string folder) {
  std::unique_ptr<ParameterWatch> watch(new ParameterWatch(std::move(owner), std::move(folder)));
  if (auto opened = watch->open(); !opened) return failure(opened.error());
  // After the watch has begun, so that nothing is missed between the two.
  watch->take_values(Refusal::kLater);
  if (auto started = watch->start_thread(); !started) return failure(started.error());
  return watch;
}

Result<void, Error> ParameterWatch::open() {
  watch_ = Descriptor(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!watch_) return failure(watch_error("inotify"));
  const CongestionSettings in_force = owner_.in_force();
  std::set<std::string> folders;
  for (const ParameterFile& file : parameter_files(in_force.choice, in_force.notifications)) {
    folders.insert(folder_ + '/' + file.name.substr(0, file.name.rfind('/')));
  }
  bool has_any = false;
  for (const std::string& folder : folders) {
    // Moved here: another file took its place.
    const int watched =
        inotify_add_watch(watch_.get(), folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR);
    // A process that was given another controller than the run, by URNIC_CC, has no files for it.
    if (watched < 0 && errno != ENOENT) return failure(watch_error(folder));
    has_any = has_any || watched >= 0;
  }
  if (!has_any) return failure(watch_error(folder_));
  return success();
}

Result<void, Error> ParameterWatch::start_thread() {
  stop_ = Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!stop_) return failure(watch_error("eventfd"));
  try {
    thread_ = start_own_thread("urnic-cc", [this] { run(); });
  } catch (const std::system_error& error) {
    errno = error.code().value();
    return failure(watch_error("thread"));
  }
  return success();
}

ParameterWatch::~ParameterWatch() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof one);
    assert_may_wait();
    thread_.join();
  }
}

void ParameterWatch::run() {
  do {
    drain();
    try {
      take_values(Refusal::kNow);
    } catch (const std::exception&) {
      // There is no memory for it. The program's own affairs are more important.
    }
  } while (wait_unless_stopped(stop_.get(), watch_.get(), -1) &&
           wait_unless_stopped(stop_.get(), -1, kPauseMs));
}

/// Which files the news is about does not matter: all are looked at.
void ParameterWatch::drain() {
  alignas(inotify_event) std::array<char, 4096> events{};
  while (::read(watch_.get(), events.data(), events.size()) > 0) {
  }
}

/// A shell empties a file before it writes: as long as a writer has it open, it may hold half of a value. Its
/// close will be news.
void ParameterWatch::take_values(Refusal refusal) {
  CongestionSettings settings = owner_.in_force();
  bool has_changed = false;
  for (const ParameterFile& parameter : parameter_files(settings.choice, settings.notifications)) {
    const File file(folder_ + '/' + parameter.name, O_RDONLY);
    if (!file.is_open() || (refusal == Refusal::kNow && file.has_writer())) continue;
    const auto text = text_of(file);
    if (!text || *text == fmt::format("{}\n", parameter.value)) continue;
    auto set = set_parameter_file(parameter.name, *text, settings.choice, settings.notifications);
    if (set) {
      has_changed = true;
    } else if (refusal == Refusal::kNow) {
      refuse(parameter, *text, set.error());
    }
  }
  if (has_changed) owner_.update(settings);
}

/// Overwriting is news, too, so that a file which cannot be must not be tried again.
void ParameterWatch::refuse(const ParameterFile& parameter, const std::string& text, Error error) {
  const auto left = left_wrong_.find(parameter.name);
  if (left != left_wrong_.end() && left->second == text) return;
  left_wrong_.erase(parameter.name);
  const bool is_right = overwrite(folder_ + '/' + parameter.name, fmt::format("{}\n", parameter.value));
  if (!is_right) left_wrong_[parameter.name] = text;
  if (text.empty()) return;
  error.message += fmt::format(". It stays {}; write another one to /sys/class/infiniband/{}/{}",
                               parameter.value, owner_.device, parameter.name);
  owner_.report(error);
}

}  // namespace urnic::nic
