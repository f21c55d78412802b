// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/report_printer.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>

#include "nic/diagnostics/failure_text.h"
#include "nic/process/may_wait.h"
#include "nic/process/own_thread.h"

// System calls and not the C library's functions of the same name; see nic/engine/progress_thread.cc.

namespace urnic::nic {

namespace {

/// How long a reader may take for what is written last, when the process ends.
constexpr int kLastPatienceMs = 200;
/// How often a listener is told the time.
constexpr int kTickMs = 250;

/// A descriptor of our own for what `fd` writes to, which does not block, or none. A flag on `fd` would hold
/// for all that share it. Files do not block, and a second descriptor would write elsewhere in them.
Descriptor open_unblocked(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode))) return Descriptor();
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  return Descriptor(static_cast<int>(
      syscall(SYS_openat, AT_FDCWD, path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0)));
}

}  // namespace

Result<std::unique_ptr<ReportPrinter>, Error> ReportPrinter::start(FailureLog& log, int fd, Options options) {
  std::unique_ptr<ReportPrinter> printer(new ReportPrinter(log, fd, options));
  const auto error = [](int code) {
    return failure(Error{
        .code = code,
        .message = fmt::format("failures cannot be explained: {}", std::generic_category().message(code))});
  };
  printer->stop_ = Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!printer->stop_) return error(errno);
  try {
    printer->thread_ = start_own_thread("urnic-explain", [self = printer.get()] { self->run(); });
  } catch (const std::system_error& exception) {
    return error(exception.code().value());
  }
  return printer;
}

ReportPrinter::~ReportPrinter() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    syscall(SYS_write, stop_.get(), &one, sizeof one);
    assert_may_wait();
    thread_.join();
  }
}

void ReportPrinter::run() {
  while (!is_stopping_) {
    // Nothing to say but how many were left out: that waits until something may be said again.
    const int patience_ms = options_.listener != nullptr ? kTickMs : -1;
    const bool is_quiet = wait(log_.fd(), POLLIN, left_out_ > 0 ? 1000 : patience_ms);
    print_all();
    if (options_.listener != nullptr) options_.listener->on_tick();
    if (is_quiet && left_out_ > 0) print_left_out();
  }
  print_all();
  print_left_out();
}

/// Waits until `fd` is ready, the time is over (-1: never), or we are to stop. True when the time is over.
bool ReportPrinter::wait(int fd, short events, int at_most_ms) {
  std::array<pollfd, 2> descriptors{{{.fd = is_stopping_ ? -1 : stop_.get(), .events = POLLIN, .revents = 0},
                                     {.fd = fd, .events = events, .revents = 0}}};
  const timespec timeout{.tv_sec = at_most_ms / 1000, .tv_nsec = at_most_ms % 1000 * 1'000'000L};
  const long ready = syscall(SYS_ppoll, descriptors.data(), descriptors.size(),
                             at_most_ms < 0 ? nullptr : &timeout, nullptr, 0);
  is_stopping_ = is_stopping_ || descriptors[0].revents != 0;
  return ready == 0;
}

void ReportPrinter::print_all() {
  while (const auto report = log_.take()) {
    if (options_.listener != nullptr) options_.listener->on_failure(*report);
    const bool is_failure =
        report->kind != FailureReport::Kind::kReceiveMissing && report->kind != FailureReport::Kind::kDropped;
    if (!options_.is_silent && is_failure) print(*report);
  }
}

void ReportPrinter::print(const FailureReport& report) {
  left_out_ += report.other_failures;
  if (!may_print()) {
    ++left_out_;
    return;
  }
  try {
    print_left_out();
    write_all(explain(report));
  } catch (const std::exception&) {
    ++left_out_;  // there is no memory for the words
  }
}

bool ReportPrinter::may_print() {
  const auto now = Clock::now();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - allowed_since_).count();
  if (seconds > 0) {
    allowed_ = static_cast<unsigned>(std::min<std::int64_t>(kBurst, allowed_ + seconds));
    allowed_since_ = now;
  }
  if (allowed_ == 0) return false;
  --allowed_;
  return true;
}

void ReportPrinter::print_left_out() {
  if (left_out_ == 0) return;
  write_all(
      fmt::format("urnic: {} more failures are not explained: at most {} are at once, and one a second\n",
                  left_out_, kBurst));
  left_out_ = 0;
}

// What cannot be written is lost: there is no other way to report it.
void ReportPrinter::write_all(const std::string& text) {
  if (is_given_up_) return;
  const Descriptor own = open_unblocked(fd_);
  const int fd = own ? own.get() : fd_;
  for (std::size_t written = 0; written < text.size();) {
    // A socket refuses what would block, if asked to; on anything else the flag fails, and a plain write is
    // right.
    long count = syscall(SYS_sendto, fd, text.data() + written, text.size() - written,
                         MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0);
    if (count < 0 && errno == ENOTSOCK) {
      count = syscall(SYS_write, fd, text.data() + written, text.size() - written);
    }
    if (count > 0) {
      written += static_cast<std::size_t>(count);
      continue;
    }
    if (count < 0 && errno != EAGAIN) break;
    const bool is_last_try = is_stopping_;
    const bool is_over = wait(fd, POLLOUT, is_last_try ? kLastPatienceMs : -1);
    is_given_up_ = is_last_try && is_over;
    if (is_given_up_) break;
  }
}

}  // namespace urnic::nic
