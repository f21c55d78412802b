// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/counter_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "tests/unit/nic/device_pair.h"

namespace urnic::nic {
namespace {

namespace fs = std::filesystem;

class CounterFilesTest : public testing::Test {
 protected:
  CounterFilesTest() {
    char folder[] = "/tmp/urnic-test-XXXXXX";
    folder_ = mkdtemp(folder);
    for (const KernelCounter& counter : kernel_counters()) {
      fs::create_directories((folder_ / counter.file).parent_path());
      std::ofstream(folder_ / counter.file) << "0\n";
      fs::permissions(folder_ / counter.file, fs::perms(0444));
    }
  }
  ~CounterFilesTest() override { fs::remove_all(folder_); }

  std::string text(const std::string& file) const {
    std::ifstream stream(folder_ / file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  fs::path folder_;
};

// A misspelt source would be a counter that never moves.
TEST_F(CounterFilesTest, ShowOnlyWhatADeviceCounts) {
  DevicePair pair;
  std::set<std::string_view> names;
  for (const auto& [name, value] : pair.a().device().all_counters()) names.insert(name);
  std::set<std::string_view> files;
  for (const KernelCounter& counter : kernel_counters()) {
    EXPECT_TRUE(files.insert(counter.file).second) << counter.file;
    for (const std::string_view source : counter.sources) {
      EXPECT_TRUE(source.empty() || names.contains(source)) << counter.file << ": " << source;
    }
  }
}

TEST_F(CounterFilesTest, ShowTheSumOfAllThatShareThem) {
  CounterFiles one(folder_);
  CounterFiles other(folder_);
  one.add({{"port_sent_frames", 5}, {"out_of_sequence", 1}});
  other.add({{"port_sent_frames", 7}});
  EXPECT_EQ(text("counters/port_xmit_packets"), "12\n");
  EXPECT_EQ(text("hw_counters/out_of_sequence"), "1\n");
  one.add({{"port_sent_frames", 95}});
  EXPECT_EQ(text("counters/port_xmit_packets"), "102\n");
}

TEST_F(CounterFilesTest, DoNotGoBackwards) {
  CounterFiles files(folder_);
  files.add({{"port_sent_frames", 5}});
  files.add({});
  EXPECT_EQ(text("counters/port_xmit_packets"), "5\n") << "the port was closed";
  CounterFiles next(folder_);
  next.add({{"port_sent_frames", 2}});
  EXPECT_EQ(text("counters/port_xmit_packets"), "7\n");
}

// InfiniBand's PortXmitData counts groups of four octets.
TEST_F(CounterFilesTest, ShowDataInUnitsOfFourBytesAndLoseNoRest) {
  CounterFiles files(folder_);
  files.add({{"port_sent_bytes", 7}});
  EXPECT_EQ(text("counters/port_xmit_data"), "1\n");
  files.add({{"port_sent_bytes", 8}});
  EXPECT_EQ(text("counters/port_xmit_data"), "2\n");
}

TEST_F(CounterFilesTest, AreNotWritableByProgramsInBetween) {
  CounterFiles files(folder_);
  files.add({{"port_sent_frames", 5}});
  struct stat status {};
  ASSERT_EQ(stat((folder_ / "counters/port_xmit_packets").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0444u);
}

TEST_F(CounterFilesTest, WaitNotLongForAProcessThatWasStoppedAndAddItLater) {
  CounterFiles files(folder_);
  const std::string first = folder_ / kernel_counters().front().file;
  const int stopped = open(first.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(stopped, LOCK_EX), 0);
  files.add({{"port_sent_frames", 5}});
  EXPECT_EQ(text("counters/port_xmit_packets"), "0\n");
  close(stopped);
  files.add({{"port_sent_frames", 6}});
  EXPECT_EQ(text("counters/port_xmit_packets"), "6\n");
}

TEST_F(CounterFilesTest, PassOverWhatIsNoFile) {
  const fs::path there = folder_ / "counters/port_xmit_packets";
  fs::remove(there);
  fs::create_symlink("/dev/null", there);
  fs::remove(folder_ / "counters/port_rcv_packets");
  CounterFiles files(folder_);
  files.add({{"port_sent_frames", 5}, {"port_received_frames", 5}, {"sent_pkts", 4}});
  EXPECT_EQ(text("hw_counters/sent_pkts"), "4\n");
  EXPECT_FALSE(fs::exists(folder_ / "counters/port_rcv_packets"));
}

}  // namespace
}  // namespace urnic::nic
