// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What is printed of failures, and that the program does not wait for it.
#include "nic/diagnostics/report_printer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace urnic::nic {
namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

FailureReport stray(std::uint32_t number) {
  FailureReport report{.kind = FailureReport::Kind::kStray};
  report.qp.number = transport::QpNumber{number};
  report.qp.peer = transport::wire::Gid::from_ipv4({{10, 0, 0, 1}});
  return report;
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t times = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++times;
  return times;
}

/// Two ends of something that can be full.
class ReportPrinterTest : public ::testing::TestWithParam<bool> {
 protected:
  ReportPrinterTest() {
    const bool is_socket = GetParam();
    EXPECT_EQ(is_socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends) : pipe(ends), 0);
  }
  ~ReportPrinterTest() override {
    if (ends[0] >= 0) close(ends[0]);
    close(ends[1]);
  }

  std::unique_ptr<ReportPrinter> start() { return std::move(ReportPrinter::start(log, ends[1]).value()); }

  /// What there is to be read now.
  std::string read_now() {
    std::string text;
    char part[4096];
    for (pollfd readable{.fd = ends[0], .events = POLLIN, .revents = 0}; poll(&readable, 1, 0) == 1;) {
      const ssize_t size = read(ends[0], part, sizeof part);
      if (size <= 0) break;
      text.append(part, static_cast<std::size_t>(size));
    }
    return text;
  }

  void fill() {
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    const std::string filler(4096, '.');
    while (write(ends[1], filler.data(), filler.size()) > 0) {
    }
    fcntl(ends[1], F_SETFL, 0);
  }

  FailureLog log;
  int ends[2] = {-1, -1};
};

TEST_P(ReportPrinterTest, PrintsWhatFailedUntilItEnds) {
  auto printer = start();
  log.add(stray(0x123456));
  pollfd readable{.fd = ends[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&readable, 1, 10'000), 1);
  log.add(stray(0x654321));
  printer.reset();
  const std::string text = read_now();
  EXPECT_EQ(count(text, "QP 0x123456, which is not here"), 1u) << text;
  EXPECT_EQ(count(text, "QP 0x654321, which is not here"), 1u) << text;
  EXPECT_EQ(count(text, "\n"), count(text, "urnic: ")) << text;
}

TEST_P(ReportPrinterTest, SaysHowManyItLeavesOut) {
  for (std::uint32_t i = 0; i < FailureLog::kMost + 3; ++i) log.add(stray(i));
  auto printer = start();
  printer.reset();
  const std::string text = read_now();
  EXPECT_EQ(count(text, "which is not here"), ReportPrinter::kBurst) << text;
  // Those that found no room are told of with the next failure; there is none.
  EXPECT_NE(text.find("urnic: 22 more failures are not explained"), std::string::npos) << text;
}

TEST_P(ReportPrinterTest, EndsThoughNobodyReads) {
  fill();
  auto printer = start();
  for (std::uint32_t i = 0; i < 20; ++i) log.add(stray(i));
  std::this_thread::sleep_for(20ms);
  const auto begin = steady_clock::now();
  printer.reset();
  EXPECT_LT(steady_clock::now() - begin, 2s);
  // The descriptor that others share is as it was.
  EXPECT_EQ(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
}

TEST_P(ReportPrinterTest, GoesOnWhenSomebodyReadsAgain) {
  fill();
  auto printer = start();
  log.add(stray(0x123456));
  std::this_thread::sleep_for(20ms);
  std::string text;
  for (const auto end = steady_clock::now() + 10s;
       steady_clock::now() < end && count(text, "is not here") == 0;)
    text += read_now();
  EXPECT_EQ(count(text, "QP 0x123456, which is not here"), 1u);
}

TEST_P(ReportPrinterTest, SurvivesAReaderThatIsGone) {
  close(ends[0]);
  ends[0] = -1;
  auto printer = start();
  log.add(stray(1));
  std::this_thread::sleep_for(20ms);
  printer.reset();
}

class Listener final : public FailureListener {
 public:
  void on_failure(const FailureReport& report) override { number = to_integer(report.qp.number); }
  void on_tick() override { ++ticks; }

  std::atomic<std::uint32_t> number{0};
  std::atomic<unsigned> ticks{0};
};

TEST_P(ReportPrinterTest, AListenerHearsOfFailuresAndOfTheTime) {
  Listener listener;
  auto printer = ReportPrinter::start(log, ends[1], {.is_silent = true, .listener = &listener});
  ASSERT_TRUE(printer);
  log.add(stray(7));
  const auto end = steady_clock::now() + 20s;
  while ((listener.number != 7 || listener.ticks < 3) && steady_clock::now() < end) usleep(1000);
  EXPECT_EQ(listener.number, 7u);
  EXPECT_GE(listener.ticks, 3u);
  printer.value().reset();
  EXPECT_EQ(read_now(), "");
}

INSTANTIATE_TEST_SUITE_P(PipeAndSocket, ReportPrinterTest, ::testing::Bool());

TEST(ReportPrinterToAFile, WritesWhereOthersWrite) {
  char path[] = "/tmp/urnic-test-XXXXXX";
  const int fd = mkstemp(path);
  ASSERT_EQ(write(fd, "before\n", 7), 7);
  FailureLog log;
  log.add(stray(0x123456));
  ReportPrinter::start(log, fd).value().reset();
  ASSERT_EQ(write(fd, "after\n", 6), 6);
  close(fd);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  unlink(path);
  EXPECT_EQ(text.find("before\nurnic: 10.0.0.1 sends"), 0u) << text;
  EXPECT_TRUE(text.ends_with("after\n")) << text;
}

}  // namespace
}  // namespace urnic::nic
