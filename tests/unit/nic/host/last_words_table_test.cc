// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/host/last_words_table.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nic/process/descriptor.h"

namespace urnic::nic {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::span<const std::byte> octets_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::vector<std::string> read(int file) {
  std::vector<std::string> texts;
  for (const auto& [frame, delivery] : read_last_words(file)) {
    texts.emplace_back(reinterpret_cast<const char*>(frame.data()), frame.size());
  }
  return texts;
}

class LastWordsTableTest : public testing::Test {
 protected:
  void keep(std::uint32_t key, std::string_view text) { table_->keep(key, octets_of(text), {}); }
  /// Writes into the table's file without the table, as a process can.
  template <typename Value>
  void spoil(std::size_t at, Value value) {
    ASSERT_EQ(pwrite(table_->file(), &value, sizeof value, static_cast<off_t>(at)),
              static_cast<ssize_t>(sizeof value));
  }
  static constexpr std::size_t kRowsAt = 8;       // in the header
  static constexpr std::size_t kFirstRowAt = 64;  // its sequence number, and then the bytes of its frame

  const std::unique_ptr<LastWordsTable> table_ = std::move(LastWordsTable::create().value());
};

TEST_F(LastWordsTableTest, HasWhatWasKeptAndNotForgotten) {
  EXPECT_THAT(read(table_->file()), IsEmpty());
  keep(7, "seven");
  keep(8, "eight");
  keep(9, "nine");
  table_->forget(8);
  table_->forget(8);
  table_->forget(1234);
  keep(9, "nine again");
  EXPECT_THAT(read(table_->file()), UnorderedElementsAre("seven", "nine again"));
}

TEST_F(LastWordsTableTest, HasHowAFrameIsDelivered) {
  table_->keep(1, octets_of("a question"), {.pause = std::chrono::milliseconds(4321), .was_sent = true});
  const auto kept = read_last_words(table_->file());
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].delivery.pause.count(), 4321);
  EXPECT_TRUE(kept[0].delivery.was_sent);
}

TEST_F(LastWordsTableTest, GivesNoPauseThatFloodsOrNeverEnds) {
  keep(1, "no answer");
  table_->keep(2, octets_of("hasty"), {.pause = std::chrono::milliseconds(1)});
  table_->keep(3, octets_of("slow"), {.pause = std::chrono::hours(1)});
  const auto kept = read_last_words(table_->file());
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].delivery.pause.count(), 0);
  EXPECT_EQ(kept[1].delivery.pause, KeptFrame::kShortestPause);
  EXPECT_EQ(kept[2].delivery.pause, KeptFrame::kLongestPause);
}

TEST_F(LastWordsTableTest, UsesRowsAgain) {
  for (std::uint32_t i = 0; i < 3 * LastWordsTable::kMostRows; ++i) {
    keep(i, "frame");
    table_->forget(i);
  }
  keep(1, "last");
  EXPECT_THAT(read(table_->file()), ElementsAre("last"));
}

TEST_F(LastWordsTableTest, HasNoRoomForMoreThanAllConnections) {
  for (std::uint32_t i = 0; i <= LastWordsTable::kMostRows; ++i) keep(i, "frame");
  EXPECT_EQ(read(table_->file()).size(), LastWordsTable::kMostRows);
  table_->forget(LastWordsTable::kMostRows);
  table_->forget(5);
  keep(1234567, "another");
  EXPECT_EQ(read(table_->file()).size(), LastWordsTable::kMostRows);
}

TEST_F(LastWordsTableTest, KeepsNoFrameThatIsTooLong) {
  keep(1, std::string(LastWordsTable::kMaxBytes, 'x'));
  EXPECT_THAT(read(table_->file()), ElementsAre(std::string(LastWordsTable::kMaxBytes, 'x')));
  keep(1, std::string(LastWordsTable::kMaxBytes + 1, 'x'));
  EXPECT_THAT(read(table_->file()), IsEmpty()) << "what was kept before would be wrong";
}

TEST_F(LastWordsTableTest, IsReadWhenItsProcessWasKilled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto table = std::move(LastWordsTable::create().value());
    table->keep(1, octets_of("I was here"), {});
    const int file = table->file();
    if (write(ends[1], &file, sizeof file) != sizeof file) _exit(1);
    for (;;) pause();
  }
  int number = -1;
  ASSERT_EQ(::read(ends[0], &number, sizeof number), static_cast<ssize_t>(sizeof number));
  const std::string path = "/proc/" + std::to_string(child) + "/fd/" + std::to_string(number);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_THAT(read(file.get()), ElementsAre("I was here"));
  for (const int fd : ends) close(fd);
}

TEST_F(LastWordsTableTest, IsNotInTheMemoryOfAChild) {
  const auto has_it = [] {
    std::ifstream maps("/proc/self/maps");
    const std::string text{std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>()};
    return text.find("urnic-last-words") != std::string::npos;
  };
  EXPECT_TRUE(has_it());
  const pid_t child = fork();
  if (child == 0) _exit(has_it() ? 1 : 0);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(LastWordsTableTest, LeavesOutARowThatWasBeingWritten) {
  keep(1, "half");
  keep(2, "whole");
  spoil<std::uint32_t>(kFirstRowAt, 3);
  EXPECT_THAT(read(table_->file()), ElementsAre("whole"));
}

TEST_F(LastWordsTableTest, BelievesNoNumber) {
  keep(1, "one");
  spoil<std::uint32_t>(kRowsAt, 0xffffffff);
  EXPECT_THAT(read(table_->file()), ElementsAre("one"));
  spoil<std::uint32_t>(kFirstRowAt + 4, 0xffffffff);
  EXPECT_THAT(read(table_->file()), IsEmpty());
  spoil<std::uint32_t>(kFirstRowAt + 4, LastWordsTable::kMaxBytes + 1);
  EXPECT_THAT(read(table_->file()), IsEmpty());
  spoil<std::uint32_t>(0, 0);
  EXPECT_THAT(read(table_->file()), IsEmpty());
}

TEST(ReadLastWords, ReadsNothingOfOtherFiles) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_THAT(read(ends[0]), IsEmpty()) << "and does not wait for the pipe";
  const int unsealed = memfd_create("unsealed", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(unsealed, 1 << 20), 0);
  EXPECT_THAT(read(unsealed), IsEmpty());
  const int empty = memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(fcntl(empty, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_THAT(read(empty), IsEmpty());
  EXPECT_THAT(read(-1), IsEmpty());
  for (const int file : {ends[0], ends[1], unsealed, empty}) close(file);
}

}  // namespace
}  // namespace urnic::nic
