// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Threads make, change, use and destroy verbs objects in any order, with good and bad arguments, on one
// device that talks to itself. Sanitizers say what goes wrong inside; we see to it that no thread hangs, and
// that everything can be destroyed in the end.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <thread>

#include "tests/stress/actions.h"
#include "tests/stress/objects.h"
#include "tests/stress/worker.h"

namespace urnic::stress {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Sanitizers and a busy machine make everything slow, but nothing takes as long as this.
constexpr auto kLongestAction = 60s;

struct Options {
  unsigned seconds = 10;
  unsigned threads = 4;
  std::uint64_t seed = 0;
};

/// Says who hangs, at what, and ends the process so that the sanitizer or a core shows where.
[[noreturn]] void give_up(const std::deque<Worker>& workers, std::size_t hanging) {
  std::printf("FAILED: thread %zu hangs at: %s\n", hanging, workers[hanging].at());
  std::fflush(stdout);
  std::abort();
}

/// Lets them work; false when one has stopped making progress.
void watch(const std::deque<Worker>& workers, Clock::time_point end) {
  std::vector<std::uint64_t> done(workers.size(), 0);
  std::vector<Clock::time_point> since(workers.size(), Clock::now());
  while (Clock::now() < end) {
    std::this_thread::sleep_for(100ms);
    for (std::size_t i = 0; i < workers.size(); ++i) {
      const std::uint64_t now_done = workers[i].actions_done();
      if (now_done != done[i]) {
        done[i] = now_done;
        since[i] = Clock::now();
      } else if (Clock::now() - since[i] > kLongestAction) {
        give_up(workers, i);
      }
    }
  }
}

bool print(std::uint64_t times, const char* what) {
  std::printf("%12llu  %s\n", static_cast<unsigned long long>(times), what);
  return times > 0;
}

/// Prints how often each thing happened; says whether all did.
bool count(const Objects& objects, const std::deque<Worker>& workers) {
  bool all = print(objects.succeeded.load(), "completions with success");
  all &= print(objects.failed.load(), "completions without");
  for (std::size_t action = 0; action < all_actions().size(); ++action) {
    std::uint64_t times = 0;
    for (const Worker& worker : workers) times += worker.count(action);
    all &= print(times, all_actions()[action].name);
  }
  return all;
}

int run(const Options& options) {
  std::printf("seed %llu, %u threads, %u s\n", static_cast<unsigned long long>(options.seed), options.threads,
              options.seconds);
  std::fflush(stdout);
  Objects objects;
  std::deque<Worker> workers;
  for (unsigned i = 0; i < options.threads; ++i) workers.emplace_back(objects, options.seed * 1000 + i);
  watch(workers, Clock::now() + std::chrono::seconds(options.seconds));
  for (Worker& worker : workers) worker.stop();
  const bool all_done = count(objects, workers);
  workers.clear();
  const auto left = objects.take_apart();
  for (const char* const what : left) std::printf("FAILED: could not destroy %s\n", what);
  if (!all_done) std::printf("FAILED: some of it never happened\n");
  return left.empty() && all_done ? 0 : 1;
}

}  // namespace
}  // namespace urnic::stress

int main(int argc, char** argv) {
  setenv("URNIC_PORT", "loopback", 1);
  setenv("URNIC_IP", "10.77.9.1/24", 1);
  urnic::stress::Options options;
  options.seed = std::random_device()();
  CLI::App app("Does to the verbs API whatever comes to its mind, with several threads");
  app.add_option("--seconds", options.seconds, "How long")->capture_default_str();
  app.add_option("--threads", options.threads, "How many")->capture_default_str()->check(CLI::Range(1u, 64u));
  app.add_option("--seed", options.seed, "Of what the threads decide; random by default");
  CLI11_PARSE(app, argc, argv);
  return urnic::stress::run(options);
}
