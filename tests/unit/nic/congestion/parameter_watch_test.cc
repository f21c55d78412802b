// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What is written to files of congestion control reaches the device, if it is a value, and nothing else does.
#include "nic/congestion/parameter_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "nic/congestion/parameter_files.h"
#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using transport::congestion::Choice;
using transport::congestion::DcqcnParameters;

constexpr auto kPatience = 10s;
/// Long enough for a watch to do what it must not do.
constexpr auto kUntilNothingHappens = 20 * std::chrono::milliseconds(ParameterWatch::kPauseMs);

class ParameterWatchTest : public testing::Test {
 protected:
  ParameterWatchTest() {
    std::string name = fs::temp_directory_path() / "urnic-parameters-XXXXXX";
    folder_ = mkdtemp(name.data());
    for (const ParameterFile& file : parameter_files(dcqcn(), {})) {
      fs::create_directories((folder_ / file.name).parent_path());
      write(file.name, std::to_string(file.value) + '\n');
    }
  }
  ~ParameterWatchTest() override {
    watches_.clear();
    fs::remove_all(folder_);
  }

  static Choice dcqcn() { return {.parameters = DcqcnParameters{}}; }
  static DevicePairOptions both_dcqcn() {
    DevicePairOptions options;
    options.congestion = {dcqcn(), dcqcn()};
    return options;
  }
  ParameterOwner owner(Device& device) {
    return {.device = device.config().name,
            .in_force = [&device] { return device.congestion(); },
            .update =
                [&device](const CongestionSettings& settings) {
                  static_cast<void>(device.update_congestion(settings));
                },
            .report =
                [this](const Error& error) {
                  const std::lock_guard lock(mutex_);
                  said_.push_back(error.message);
                }};
  }
  void watch(std::size_t host) {
    auto started = ParameterWatch::start(owner(pair_.hosts[host]->device()), folder_);
    ASSERT_TRUE(started) << started.error().message;
    watches_.push_back(std::move(started.value()));
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  std::string text(const std::string& name) const {
    std::ifstream stream(folder_ / name);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::uint32_t step(std::size_t host = 0) const {
    return std::get<DcqcnParameters>(pair_.hosts[host]->device().congestion().choice.parameters).rpg_ai_rate;
  }
  std::vector<std::string> said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  static bool becomes(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
    return condition();
  }

  static constexpr const char* kStep = "ecn/roce_rp/rpg_ai_rate";
  static constexpr const char* kDscp = "ecn/roce_np/cnp_dscp";

  fs::path folder_;
  DevicePair pair_{both_dcqcn()};
  std::mutex mutex_;
  std::vector<std::string> said_;
  std::vector<std::unique_ptr<ParameterWatch>> watches_;
};

TEST_F(ParameterWatchTest, TakesWhatIsWrittenToEachDeviceThatWatches) {
  watch(0);
  watch(1);
  write(kStep, "50\n");
  write(kDscp, "9");
  for (const std::size_t host : {0, 1}) {
    EXPECT_TRUE(becomes([&] { return step(host) == 50; }));
    EXPECT_TRUE(
        becomes([&] { return pair_.hosts[host]->device().congestion().notifications.cnp_dscp == 9; }));
  }
  EXPECT_THAT(said(), testing::IsEmpty());
}

TEST_F(ParameterWatchTest, BeginsWithWhatWasWrittenBefore) {
  write(kStep, "50\n");
  write(kDscp, "64\n");
  watch(0);
  EXPECT_EQ(step(), 50u);
  EXPECT_TRUE(becomes([&] { return text(kDscp) == "48\n" && said().size() == 1; }));
  EXPECT_THAT(said(),
              testing::ElementsAre("cnp_dscp cannot be '64': it is a whole number from 0 to 63. It stays 48; "
                                   "write another one to /sys/class/infiniband/urnic0/ecn/roce_np/cnp_dscp"));
}

TEST_F(ParameterWatchTest, PutsBackWhatIsInForceAndSaysWhyOnce) {
  watch(0);
  write(kStep, "50\n");
  ASSERT_TRUE(becomes([&] { return step() == 50; }));
  for (const std::string bad : {"-1", "1000001\n", "fast", "5\n6\n"}) {
    const std::size_t before = said().size();
    write(kStep, bad);
    EXPECT_TRUE(becomes([&] { return text(kStep) == "50\n"; })) << bad;
    EXPECT_TRUE(becomes([&] { return said().size() == before + 1; })) << bad;
  }
  write(kStep, std::string(1 << 20, '7'));
  EXPECT_TRUE(becomes([&] { return text(kStep) == "50\n"; }));
  EXPECT_TRUE(becomes([&] { return said().size() == 5; }));
  std::this_thread::sleep_for(kUntilNothingHappens);
  EXPECT_EQ(said().size(), 5u);
  EXPECT_EQ(step(), 50u);
}

TEST_F(ParameterWatchTest, FillsAnEmptyFileWithoutAWord) {
  watch(0);
  write(kStep, "");
  EXPECT_TRUE(becomes([&] { return text(kStep) == "5\n"; }));
  EXPECT_THAT(said(), testing::IsEmpty());
}

TEST_F(ParameterWatchTest, WaitsForAWriterToClose) {
  watch(0);
  {
    std::ofstream stream(folder_ / kStep);
    stream << 6 << std::flush;
    write(kDscp, "9\n");  // news that makes it look
    ASSERT_TRUE(becomes([&] { return pair_.a().device().congestion().notifications.cnp_dscp == 9; }));
    std::this_thread::sleep_for(kUntilNothingHappens);
    EXPECT_EQ(step(), 5u);
    EXPECT_EQ(text(kStep), "6");
    stream << 0;
  }
  EXPECT_TRUE(becomes([&] { return step() == 60; }));
  EXPECT_THAT(said(), testing::IsEmpty());
}

// A shell's loop: each time the file is empty for a moment.
TEST_F(ParameterWatchTest, TakesTheLastOfManyValues) {
  watch(0);
  watch(1);
  for (int i = 1; i <= 300; ++i) write(kStep, std::to_string(i) + '\n');
  EXPECT_TRUE(becomes([&] { return step(0) == 300 && step(1) == 300; }));
  EXPECT_EQ(text(kStep), "300\n");
  EXPECT_THAT(said(), testing::IsEmpty());
}

TEST_F(ParameterWatchTest, IsNotUpsetByFilesThatGoOrAreReplaced) {
  watch(0);
  fs::remove(folder_ / kDscp);
  fs::remove(folder_ / "ecn/roce_rp/rpg_gd");
  fs::create_symlink("/etc/passwd", folder_ / "ecn/roce_rp/rpg_gd");
  fs::remove(folder_ / "ecn/roce_rp/rpg_hai_rate");
  ASSERT_EQ(mkfifo((folder_ / "ecn/roce_rp/rpg_hai_rate").c_str(), 0600), 0);
  fs::remove(folder_ / "ecn/roce_rp/rpg_min_rate");
  fs::create_directory(folder_ / "ecn/roce_rp/rpg_min_rate");
  // One that takes the place of another, as editors write.
  write("ecn/roce_rp/new", "50\n");
  fs::rename(folder_ / "ecn/roce_rp/new", folder_ / kStep);
  EXPECT_TRUE(becomes([&] { return step() == 50; }));
  DcqcnParameters wanted;
  wanted.rpg_ai_rate = 50;
  const CongestionSettings in_force = pair_.a().device().congestion();
  for (const auto& parameter : transport::congestion::kDcqcnParameters) {
    EXPECT_EQ(std::get<DcqcnParameters>(in_force.choice.parameters).*parameter.value, wanted.*parameter.value)
        << parameter.name;
  }
  EXPECT_EQ(in_force.notifications.cnp_dscp, 48u);
  EXPECT_THAT(said(), testing::IsEmpty());
  fs::remove_all(folder_ / "ecn");
  std::this_thread::sleep_for(kUntilNothingHappens);
  EXPECT_EQ(step(), 50u);
}

TEST_F(ParameterWatchTest, LeavesAFileAloneThatCannotBeWritten) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  watch(0);
  write("ecn/roce_rp/new", "bad\n");
  fs::permissions(folder_ / "ecn/roce_rp/new", fs::perms::owner_read);
  fs::rename(folder_ / "ecn/roce_rp/new", folder_ / kStep);
  EXPECT_TRUE(becomes([&] { return said().size() == 1; }));
  std::this_thread::sleep_for(kUntilNothingHappens);
  write(kDscp, "9\n");
  EXPECT_TRUE(becomes([&] { return pair_.a().device().congestion().notifications.cnp_dscp == 9; }));
  EXPECT_EQ(said().size(), 1u);
}

TEST_F(ParameterWatchTest, SaysWhyFilesCannotBeWatched) {
  fs::remove_all(folder_ / "ecn");
  const auto started = ParameterWatch::start(owner(pair_.a().device()), folder_);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, testing::HasSubstr("has no effect on this process"));
}

std::uint64_t cpu_ns() {
  timespec spent{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<std::uint64_t>(spent.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(spent.tv_nsec);
}

TEST_F(ParameterWatchTest, SleepsWhileNothingIsWritten) {
  watch(0);
  write(kStep, "bad\n");
  ASSERT_TRUE(becomes([&] { return said().size() == 1; }));
  std::this_thread::sleep_for(kUntilNothingHappens);
  const std::uint64_t before = cpu_ns();
  std::this_thread::sleep_for(300ms);
  EXPECT_LT(cpu_ns() - before, 2'000'000u);
}

}  // namespace
}  // namespace urnic::nic
