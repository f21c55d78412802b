// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What the writer writes, read back by libpcap (tests/support/pcap_file.h).
#include "drivers/pcap/pcap_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/support/pcap_file.h"
#include "tests/support/value_of.h"
#include "tests/unit/drivers/light/fake_port.h"
#include "tests/unit/drivers/light/temporary_folder.h"

namespace urnic::drivers::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using urnic::test::CapturedFrame;

class PcapWriterTest : public testing::Test {
 protected:
  std::unique_ptr<PcapWriter> create() { return urnic::test::value_of(PcapWriter::create(path_)); }
  std::vector<CapturedFrame> written() { return urnic::test::value_of(urnic::test::read_pcap(path_)); }
  static Error refusal(const std::string& path) {
    auto writer = PcapWriter::create(path);
    EXPECT_FALSE(writer);
    return writer ? Error{} : writer.error();
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("capture.pcap");
};

TEST_F(PcapWriterTest, WritesAFileWithoutFramesThatLibpcapReads) {
  create();
  EXPECT_TRUE(written().empty());
}

TEST_F(PcapWriterTest, FollowsNoLinkAndLeavesAlonePlacesThatOthersMayHaveChosen) {
  const std::string precious = folder_.file("precious");
  std::ofstream(precious) << "precious";
  std::filesystem::create_symlink(precious, path_);
  EXPECT_EQ(refusal(path_).code, ELOOP);
  std::filesystem::remove(path_);
  std::filesystem::create_symlink(folder_.file("new"), path_);
  EXPECT_EQ(refusal(path_).code, ELOOP);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("new")));
  std::filesystem::remove(path_);
  std::filesystem::create_hard_link(precious, path_);
  EXPECT_EQ(refusal(path_).code, EMLINK);
  EXPECT_EQ(std::filesystem::file_size(precious), 8u);
}

TEST_F(PcapWriterTest, LeavesAnotherUsersFileAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  std::ofstream(path_) << "precious";
  ASSERT_EQ(chown(path_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(refusal(path_).code, EPERM);
  EXPECT_EQ(std::filesystem::file_size(path_), 8u);
}

TEST_F(PcapWriterTest, MakesAFileForThisUserAlone) {
  create();
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(PcapWriterTest, WritesFramesAndTheirTimesToTheNanosecond) {
  {
    const auto writer = create();
    writer->add(received_frame(1, 60), 1'700'000'000s + 123'456'789ns, FrameDirection::kSent, {});
    writer->add(received_frame(2, 4214), 1'700'000'001s, FrameDirection::kSent, {});
    writer->add(received_frame(3, 14), 0s + 999'999'999ns, FrameDirection::kSent, {});
  }
  const auto frames = written();
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].bytes, received_frame(1, 60));
  EXPECT_EQ(frames[0].time_ns, 1'700'000'000'123'456'789);
  EXPECT_EQ(frames[1].bytes, received_frame(2, 4214));
  EXPECT_EQ(frames[1].time_ns, 1'700'000'001'000'000'000);
  EXPECT_EQ(frames[2].bytes, received_frame(3, 14));
  EXPECT_EQ(frames[2].time_ns, 999'999'999);
  EXPECT_FALSE(frames[1].is_truncated());
}

TEST_F(PcapWriterTest, KeepsEveryFrameBeyondItsBuffersSize) {
  constexpr std::size_t kFrames = 3 * CaptureFile::kBufferBytes / 4230;
  {
    const auto writer = create();
    for (std::size_t i = 0; i < kFrames; ++i) {
      writer->add(received_frame(static_cast<std::uint8_t>(i), 4214), std::chrono::seconds(i),
                  FrameDirection::kSent, {});
    }
  }
  const auto frames = written();
  ASSERT_EQ(frames.size(), kFrames);
  for (std::size_t i = 0; i < kFrames; ++i) {
    ASSERT_EQ(frames[i].bytes, received_frame(static_cast<std::uint8_t>(i), 4214)) << i;
  }
}

TEST_F(PcapWriterTest, HasEverythingInTheFileOnceWrittenOut) {
  const auto writer = create();
  writer->add(received_frame(1), 1s, FrameDirection::kSent, {});
  EXPECT_TRUE(writer->file().has_unwritten());
  EXPECT_EQ(written().size(), 0u);
  writer->file().write_out();
  EXPECT_FALSE(writer->file().has_unwritten());
  EXPECT_EQ(written().size(), 1u);
}

TEST_F(PcapWriterTest, CutsGiantFramesAndSaysSo) {
  create()->add(Bytes(PcapWriter::kSnapBytes + 5), 1s, FrameDirection::kSent, {});
  const auto frames = written();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].bytes.size(), PcapWriter::kSnapBytes);
  EXPECT_EQ(frames[0].bytes_on_wire, PcapWriter::kSnapBytes + 5);
}

TEST_F(PcapWriterTest, ReplacesWhatWasInTheFile) {
  create()->add(received_frame(1, 1000), 1s, FrameDirection::kSent, {});
  create();
  EXPECT_EQ(std::filesystem::file_size(path_), 24u);
}

TEST_F(PcapWriterTest, RefusesPathsItCannotWriteToAndSaysWhy) {
  EXPECT_EQ(refusal(folder_.file("missing/capture.pcap")).code, ENOENT);
  EXPECT_THAT(refusal(folder_.file("missing/capture.pcap")).message, HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal(folder_.file("")).message, HasSubstr("Is a directory"));
  EXPECT_THAT(refusal("").message, HasSubstr("cannot record to ''"));
}

TEST_F(PcapWriterTest, RefusesWhatIsNoRegularFile) {
  EXPECT_THAT(refusal("/dev/null").message, HasSubstr("not a regular file"));
  const std::string fifo = folder_.file("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_NE(refusal(fifo).code, 0);  // and does not wait for a reader
}

TEST_F(PcapWriterTest, RefusesAFileThatIsBeingRecordedToAndLeavesItAlone) {
  const auto writer = create();
  writer->add(received_frame(1), 1s, FrameDirection::kSent, {});
  writer->file().write_out();
  const Error error = refusal(path_);
  EXPECT_EQ(error.code, EBUSY);
  EXPECT_THAT(error.message, HasSubstr("another process is recording to it"));
  EXPECT_EQ(written().size(), 1u);
}

/// Files of this process may not grow beyond `bytes` while this lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(PcapWriterTest, StopsAtTheFileSizeLimitWithOneLineAndAWholeFile) {
  const FileSizeLimit limit(10'000);
  const auto writer = create();
  testing::internal::CaptureStderr();
  for (int i = 0; i < 10; ++i) {
    writer->add(received_frame(1, 3000), 1s, FrameDirection::kSent, {});
    writer->file().write_out();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "urnic: stopped recording to '" + path_ + "' after 9072 bytes: File too large\n");
  EXPECT_TRUE(writer->file().has_stopped());
  EXPECT_EQ(written().size(), 3u);
}

constexpr int kCannotMount = 77;

/// Mounts a file system of 64 KiB that only this process sees and that goes with it.
bool mount_small_disk(const std::string& folder) {
  std::filesystem::create_directory(folder);
  return (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("urnic-test", folder.c_str(), "tmpfs", 0, "size=64k") == 0;
}

/// Fills the disk at `folder`; returns what was found to be wrong.
std::string fill_disk(const std::string& folder) {
  const std::string path = folder + "/capture.pcap";
  testing::internal::CaptureStderr();
  {
    auto writer = PcapWriter::create(path);
    for (int i = 0; writer && i < 100; ++i) {
      writer.value()->add(received_frame(1, 3000), 1s, FrameDirection::kSent, {});
      writer.value()->file().write_out();
    }
  }
  const std::string told = testing::internal::GetCapturedStderr();
  constexpr std::size_t kFit = (65536 - 24) / 3016;
  if (told != "urnic: stopped recording to '" + path + "' after 63360 bytes: No space left on device\n") {
    return "told: " + told;
  }
  const auto frames = urnic::test::read_pcap(path);
  return frames && frames.value().size() == kFit ? "" : "the file has not the frames that fit, whole";
}

TEST_F(PcapWriterTest, StopsOnAFullDiskWithOneLineAndAWholeFile) {
  const std::string folder = folder_.file("disk");
  const pid_t child = fork();
  if (child == 0) {
    if (!mount_small_disk(folder)) _exit(kCannotMount);
    const std::string wrong = fill_disk(folder);
    std::fputs(wrong.c_str(), stderr);
    _exit(wrong.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCannotMount) {
    GTEST_SKIP() << "cannot mount a file system here";
  }
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace urnic::drivers::test
