// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// ReportPrinter: explains failures on stderr, without ever delaying the program.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "nic/diagnostics/failure_log.h"
#include "nic/process/descriptor.h"
#include "transport/result.h"

namespace urnic::nic {

/// Is told about failures, and that time passes. On the printer's thread.
class FailureListener {
 public:
  virtual ~FailureListener() = default;
  virtual void on_failure(const FailureReport& report) = 0;
  /// Each quarter of a second or so.
  virtual void on_tick() = 0;
};

/// One thread, with all signals blocked, sleeps until the log has something, composes it and writes. Where no
/// program reads what it writes, it waits, and the log counts what fails meanwhile. At most kBurst
/// explanations are written at once and one a second from then on; a line says how many were left out.
class ReportPrinter {
 public:
  static constexpr unsigned kBurst = 10;

  struct Options {
    bool is_silent = false;               ///< writes nothing
    FailureListener* listener = nullptr;  ///< outlives the printer
  };

  /// Writes to the descriptor `fd`, which is stderr's except in tests. The error is the system's.
  static Result<std::unique_ptr<ReportPrinter>, Error> start(FailureLog& log, int fd, Options options);
  static Result<std::unique_ptr<ReportPrinter>, Error> start(FailureLog& log, int fd) {
    return start(log, fd, Options{});
  }
  /// Writes what the log still has, as far as a reader takes it at once, and ends the thread.
  ~ReportPrinter();
  ReportPrinter(const ReportPrinter&) = delete;
  ReportPrinter& operator=(const ReportPrinter&) = delete;

  /// In the child of a fork: the thread is the parent's.
  static void abandon_after_fork(std::unique_ptr<ReportPrinter> printer) {
    static_cast<void>(printer.release());
  }

 private:
  using Clock = std::chrono::steady_clock;

  ReportPrinter(FailureLog& log, int fd, Options options) : log_(log), fd_(fd), options_(options) {}

  void run();
  void print_all();
  void print(const FailureReport& report);
  bool may_print();
  void print_left_out();
  void write_all(const std::string& text);
  bool wait(int fd, short events, int at_most_ms);

  FailureLog& log_;
  int fd_;
  Options options_;
  Descriptor stop_;  // an eventfd
  bool is_stopping_ = false;
  bool is_given_up_ = false;  // no program reads, and the process ends
  unsigned allowed_ = kBurst;
  Clock::time_point allowed_since_ = Clock::now();
  std::uint64_t left_out_ = 0;
  std::thread thread_;
};

}  // namespace urnic::nic
