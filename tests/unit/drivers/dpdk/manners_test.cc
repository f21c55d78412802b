// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a program notices of a port inside it: as little as can be.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "tests/unit/drivers/dpdk/process.h"
#include "tests/unit/drivers/dpdk/traffic.h"

// The program's own openlog(): in this binary, unlike in a program that runs on urnic, the linker hook sits
// in front of it.
extern "C" void __real_openlog(const char* identity, int option, int facility);
// DPDK's own, and what stands in front of it.
extern "C" unsigned __real_eal_cpu_socket_id(unsigned cpu);
extern "C" unsigned __wrap_eal_cpu_socket_id(unsigned cpu);
// DPDK's, whose headers are for the ports alone.
extern "C" std::uint64_t rte_get_tsc_hz();

namespace urnic::drivers {
namespace {

using namespace std::chrono_literals;

class Manners : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_.path("wire.sock");
};

std::map<std::string, std::string> status_of(const std::filesystem::path& task) {
  std::map<std::string, std::string> status;
  std::ifstream file(task / "status");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    status[line.substr(0, colon)] = line.substr(std::min(line.size(), colon + 2));
  }
  return status;
}

TEST_F(Manners, AllThreadsOfDpdkBlockEverySignal) {
  Process process(caught([this](const Process::Parent&) -> std::string {
    const auto front = open(front_of(path_));
    const auto back = open(back_of(path_));
    int threads = 0;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      if (task.path().filename() == std::to_string(getpid())) continue;
      auto status = status_of(task.path());
      const auto blocked = std::stoull(status["SigBlk"], nullptr, 16);
      for (int signal = 1; signal < 32; ++signal) {
        if (signal == SIGKILL || signal == SIGSTOP) continue;
        if ((blocked >> (signal - 1) & 1) == 0) {
          return fmt::format("{} gets signal {}", status["Name"], signal);
        }
      }
      ++threads;
    }
    return threads >= 3 ? "" : fmt::format("only {} threads: is this test blind?", threads);
  }));
  EXPECT_EQ(process.result(), "");
}

TEST_F(Manners, TheCallersAffinityAndSignalMaskStayAsTheyAre) {
  Process process(caught([this](const Process::Parent&) -> std::string {
    sigset_t mask_before;
    sigset_t mask_after;
    cpu_set_t cpus_before;
    cpu_set_t cpus_after;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask_before);
    sched_getaffinity(0, sizeof(cpus_before), &cpus_before);
    { const auto port = open(front_of(path_)); }
    pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
    sched_getaffinity(0, sizeof(cpus_after), &cpus_after);
    if (!CPU_EQUAL(&cpus_before, &cpus_after)) return "affinity";
    for (int signal = 1; signal < 32; ++signal) {
      if (sigismember(&mask_before, signal) != sigismember(&mask_after, signal)) return "mask";
    }
    return "";
  }));
  EXPECT_EQ(process.result(), "");
}

TEST_F(Manners, NothingIsPrintedNotEvenWhenPeersDie) {
  const std::string output = folder_.path("output");
  const auto silent = [&](const Process::Body& body) -> Process::Body {
    return [body, output](const Process::Parent& parent) {
      if (std::freopen(output.c_str(), "a", stdout) == nullptr) return std::string("stdout");
      if (std::freopen(output.c_str(), "a", stderr) == nullptr) return std::string("stderr");
      return body(parent);
    };
  };
  Process front(silent(caught([this](const Process::Parent& parent) -> std::string {
    auto port = open(front_of(path_));
    parent.tell("open");
    for (int peers = 0; peers < 2; ++peers) {
      if (!reach_peer(*port, kPatience)) return "no peer";
      parent.tell("reached");
      std::this_thread::sleep_for(300ms);
    }
    port.reset();
    error_of_opening(front_of("/nowhere/at/all"));
    std::fflush(nullptr);
    return "";
  })));
  {
    Process back(silent(echo(back_of(path_))));
    ASSERT_TRUE(front.says("reached"));
  }
  Process back(silent(echo(back_of(path_))));
  EXPECT_EQ(front.result(), "");
  EXPECT_EQ(std::filesystem::file_size(output), 0u);
}

TEST_F(Manners, TheProcessStaysFarBelowTheMemoryOfASmallContainer) {
  Process back(echo(back_of(path_)));
  Process front(caught([this](const Process::Parent&) -> std::string {
    const auto port = open(front_of(path_));
    if (const auto error = exchange_all_lengths(*port, kMinFrame, 0); !error.empty()) return error;
    const int resident_kb = std::stoi(status_of("/proc/self")["VmRSS"]);
    return resident_kb < 40'000 ? "" : fmt::format("{} KB are resident", resident_kb);
  }));
  EXPECT_EQ(front.result(), "");
}

TEST_F(Manners, AnIdlePortUsesNextToNoProcessorTime) {
  for (const bool is_front : {true, false}) {
    Process process(caught([&](const Process::Parent&) -> std::string {
      const auto port = open(is_front ? front_of(path_) : back_of(path_));
      const auto used = [] {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
      };
      // What else runs on the machine makes it more, and never less.
      std::chrono::microseconds least = 1s;
      for (int attempt = 0; attempt < 5 && least >= 10ms; ++attempt) {
        const std::chrono::microseconds before = used();
        std::this_thread::sleep_for(1s);
        least = std::min(least, used() - before);
      }
      return least < 10ms ? "" : fmt::format("{} us in a second", least / 1us);
    }));
    EXPECT_EQ(process.result(), "") << (is_front ? "front" : "back");
  }
}

TEST_F(Manners, AProgramsNameInSyslogStaysItsOwn) {
  Process process(caught([this](const Process::Parent&) -> std::string {
    // LOG_PERROR shows the name on stderr.
    const std::string output = folder_.path("output");
    if (std::freopen(output.c_str(), "w", stderr) == nullptr) return "stderr";
    __real_openlog("program", LOG_PERROR, LOG_USER);
    const auto port = open(front_of(path_));
    syslog(LOG_DEBUG, "hello");
    std::ifstream file(output);
    std::string line;
    std::getline(file, line);
    return line.find("program") != std::string::npos ? "" : "syslog says: " + line;
  }));
  EXPECT_EQ(process.result(), "");
}

/// The processor's own counter of time.
std::uint64_t counter() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#endif
}

// EAL would sleep for a tenth of a second to measure it; a hook has it sleep less.
TEST_F(Manners, TheTimeStampCounterIsMeasuredInAShortTimeButWell) {
  Process process(caught([this](const Process::Parent&) -> std::string {
    const auto port = open(front_of(path_));
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t cycles_at_begin = counter();
    std::this_thread::sleep_for(300ms);
    const std::uint64_t cycles = counter() - cycles_at_begin;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const double ratio =
        static_cast<double>(rte_get_tsc_hz()) * seconds.count() / static_cast<double>(cycles);
    return ratio > 0.95 && ratio < 1.05 ? "" : fmt::format("{} of the true frequency", ratio);
  }));
  EXPECT_EQ(process.result(), "");
}

TEST_F(Manners, ProcessorsHaveTheNumaNodesThatDpdkFindsByItself) {
  for (unsigned cpu = 0; cpu < 128; ++cpu) {
    EXPECT_EQ(__wrap_eal_cpu_socket_id(cpu), __real_eal_cpu_socket_id(cpu)) << "of processor " << cpu;
  }
}

TEST_F(Manners, ExitWithoutClosingIsQuickAndClean) {
  for (const bool is_front : {true, false}) {
    Process peer(echo(is_front ? back_of(path_) : front_of(path_)));
    Process process([&](const Process::Parent& parent) -> std::string {
      try {
        auto* const port = open(is_front ? front_of(path_) : back_of(path_)).release();
        if (!reach_peer(*port, kPatience)) return "no peer";
        parent.tell("exit");
        std::exit(0);  // static destructors and all
      } catch (const std::exception& error) {
        return error.what();
      }
    });
    ASSERT_TRUE(process.says("exit"));
    EXPECT_EQ(process.result(2s), "the child exited with 0");
  }
}

}  // namespace
}  // namespace urnic::drivers
