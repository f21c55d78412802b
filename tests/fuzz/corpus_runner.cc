// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A main() for fuzz targets where libFuzzer is not available: runs the corpus, then random changes of it.
//
//   TARGET [--mutate N] [--seed S] [--first I] [--shard I/N] [--result FILE] FILE|FOLDER...
//
// Prints the seed. When an input makes the target fail, prints its number, with which `--seed S --first I
// --mutate 1` runs it again, and writes it to fuzz_failure.bin in the working directory
// (fuzz_failure.I-of-N.bin).
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/mutator.h"
#include "tools/simulation/seeds/shard.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// Sanitizers leave by a way of their own, past every signal handler; without one of them there is no such
// function.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace urnic::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxInputBytes = 10000;

/// What is running, for the handler that reports its failure.
struct {
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;
  char label[256] = "";
  char failure_file[64] = "fuzz_failure.bin";
} running;

void write_all(int file, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(file, at, size);
    if (written <= 0) return;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

/// Async-signal-safe. A leak that is found after the last input has none to report.
void report_failure() {
  if (running.data == nullptr) return;
  write_all(STDERR_FILENO, running.label, std::strlen(running.label));
  const int file = ::open(running.failure_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0) {
    write_all(file, running.data, running.size);
    ::close(file);
  }
}

void on_signal(int signal_number) {
  report_failure();
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

void install_handlers() {
  std::signal(SIGABRT, on_signal);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(report_failure);  // its reports on the others are better than ours
    return;
  }
  for (const int signal_number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal_number, on_signal);
}

/// Runs one input in memory of exactly its size, so that a sanitizer sees a read of one byte too many.
void run(const FuzzInput& input, const std::string& name) {
  const auto copy = std::make_unique<std::uint8_t[]>(input.size());
  std::copy(input.begin(), input.end(), copy.get());
  std::snprintf(running.label, sizeof running.label, "failed: %s, in %s\n", name.c_str(),
                running.failure_file);
  running.data = copy.get();
  running.size = input.size();
  LLVMFuzzerTestOneInput(copy.get(), input.size());
  running.data = nullptr;
}

/// The files named and those below the folders named, in an order that does not depend on the file system.
std::vector<fs::path> files_in(const std::vector<std::string>& arguments) {
  std::vector<fs::path> files;
  for (const fs::path argument : arguments) {
    if (!fs::is_directory(argument)) {
      files.push_back(argument);
      continue;
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(argument)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

FuzzInput read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The result of a shard; tools/development/merge-results adds up the results of all shards.
class Result {
 public:
  Result(std::string file, const std::string& target, std::uint64_t seed, std::uint64_t mutations,
         sim::Shard shard)
      : file_(std::move(file)) {
    json_["campaign"] = fs::path(target).filename().string() + ", " + std::to_string(mutations) +
                        " inputs from seed " + std::to_string(seed);
    json_["shard"] = {{"number", shard.number}, {"of", shard.of}};
  }

  /// At first it has failed: an input that ends the process leaves no time to say so. False if it cannot be
  /// written.
  bool begin() {
    json_["good"] = false;
    json_["failures"] = {{{"what", "it did not come to its end; its output says which input it was"}}};
    return write();
  }
  bool end(std::uint64_t inputs) {
    json_["good"] = true;
    json_["failures"] = nlohmann::json::array();
    json_["inputs"] = inputs;
    return write();
  }

 private:
  bool write() const {
    if (file_.empty()) return true;
    std::ofstream out(file_);
    out << json_.dump(2) << "\n";
    out.close();
    if (!out) std::fprintf(stderr, "cannot write %s\n", file_.c_str());
    return !out.fail();
  }

  std::string file_;
  nlohmann::ordered_json json_;
};

int run_all(int argc, char** argv) {
  CLI::App app("Runs a fuzz target over files, and over random changes of them");
  std::vector<std::string> arguments;
  std::uint64_t mutations = 0;
  std::uint64_t seed = std::random_device()();
  std::uint64_t first = 0;
  std::string shard_text = "1/1";
  std::string result_file;
  app.add_option("inputs", arguments, "Files, and folders of files")->required()->check(CLI::ExistingPath);
  app.add_option("--mutate", mutations, "How many changed inputs to run");
  app.add_option("--seed", seed, "What they are drawn from");
  app.add_option("--first", first, "Number of the first changed input");
  app.add_option("--shard", shard_text,
                 "Run part I of N of the changed inputs alone, e.g. 3/100; the first one has the files, too");
  app.add_option("--result", result_file, "Write a report here, for tools/development/merge-results");
  CLI11_PARSE(app, argc, argv);
  const auto shard = sim::Shard::parse(shard_text);
  if (!shard) {
    std::fprintf(stderr, "--shard: %s\n", shard.error().message.c_str());
    return 2;
  }
  const std::string suffix = std::to_string(shard.value().number) + "-of-" + std::to_string(shard.value().of);
  if (shard.value().of > 1) {
    std::snprintf(running.failure_file, sizeof running.failure_file, "fuzz_failure.%s.bin", suffix.c_str());
  }
  Result result(result_file, argv[0], seed, mutations, shard.value());
  if (!result.begin()) return 2;

  std::vector<FuzzInput> corpus;
  install_handlers();
  for (const fs::path& path : files_in(arguments)) {
    corpus.push_back(read_file(path));
    if (shard.value().number == 1) run(corpus.back(), path.filename().string());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "there are no files to run\n");
    return 1;
  }
  const std::string seed_text = std::to_string(seed);
  std::printf("%zu files, %s changed inputs from seed %s\n", corpus.size(), std::to_string(mutations).c_str(),
              seed_text.c_str());
  std::fflush(stdout);
  Mutator mutator(corpus, seed, kMaxInputBytes);
  std::uint64_t inputs = shard.value().number == 1 ? corpus.size() : 0;
  for (std::uint64_t number = first; number < first + mutations; ++number) {
    if (!shard.value().has(number - first)) continue;
    run(mutator.make(number), "seed " + seed_text + ", changed input " + std::to_string(number));
    ++inputs;
  }
  return result.end(inputs) ? 0 : 2;
}

}  // namespace
}  // namespace urnic::test

int main(int argc, char** argv) {
  return urnic::test::run_all(argc, argv);
}
