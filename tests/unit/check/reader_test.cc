// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Files: whole ones, damaged ones, and what is no capture at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/unit/check/capture_edit.h"
#include "tools/conformance/check/capture_reader.h"

namespace urnic::check::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string fixture_bytes(const std::string& name) {
  std::ifstream file(fixtures() / (name + ".pcap"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Reading {
  std::uint64_t frames = 0;
  std::string error;  ///< of opening or of reading
  std::int64_t first_ns = 0;
  std::size_t bytes = 0;
};

class CaptureFile : public testing::Test {
 protected:
  Reading read(const std::string& content) {
    std::ofstream(path_, std::ios::binary) << content;
    return read_path(path_);
  }

  static Reading read_path(const fs::path& path) {
    Reading reading;
    auto reader = CaptureReader::open(path.string(), reading.error);
    while (reader) {
      const auto frame = reader->next();
      if (!frame) {
        reading.error = reader->error();
        break;
      }
      reading.first_ns = reading.frames++ == 0 ? frame->time_ns : reading.first_ns;
      reading.bytes += frame->bytes.size();
      EXPECT_EQ(frame->number, reading.frames);
    }
    return reading;
  }

  void TearDown() override { fs::remove(path_); }

  fs::path path_ = fs::path(testing::TempDir()) /
                   (std::string("urnic_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

std::string u32(std::uint32_t value) {
  return {static_cast<char>(value), static_cast<char>(value >> 8), static_cast<char>(value >> 16),
          static_cast<char>(value >> 24)};
}

std::string block(std::uint32_t type, const std::string& body) {
  const auto length = static_cast<std::uint32_t>(body.size() + 12);
  return u32(type) + u32(length) + body + u32(length);
}

/// A pcapng file with one interface (Ethernet, microseconds) and one frame of 60 bytes at second 7.
std::string pcapng() {
  const std::string section = u32(0x1a2b3c4d) + std::string("\1\0\0\0", 4) + std::string(8, '\xff');
  const std::string interface = std::string("\1\0\0\0", 4) + u32(0);
  const std::string frame = u32(0) + u32(0) + u32(7'000'000) + u32(60) + u32(60) + std::string(60, 'x');
  return block(0x0a0d0d0a, section) + block(1, interface) + block(6, frame);
}

TEST_F(CaptureFile, OfPcapIsReadToItsEnd) {
  const Reading reading = read(fixture_bytes("vs_tos"));
  EXPECT_EQ(reading.frames, 4u);
  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.first_ns / 1'000'000'000, 1795188902);
}

TEST_F(CaptureFile, OfPcapngIsReadToItsEnd) {
  const Reading reading = read(pcapng());
  EXPECT_EQ(reading.frames, 1u);
  EXPECT_EQ(reading.bytes, 60u);
  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.first_ns, 7'000'000'000);
}

TEST_F(CaptureFile, CutInsideAFrameSaysSoBehindTheFramesBefore) {
  const std::string whole = fixture_bytes("vs_tos");
  const Reading reading = read(whole.substr(0, whole.size() - 10));
  EXPECT_EQ(reading.frames, 3u);
  EXPECT_THAT(reading.error, HasSubstr("damaged after frame 3"));
  EXPECT_THAT(reading.error, HasSubstr("truncated"));
}

TEST_F(CaptureFile, CutAnywhereNeitherCrashesNorPassesAsWhole) {
  const std::string whole = fixture_bytes("vs_tos");
  std::size_t clean = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    clean += read(whole.substr(0, size)).error.empty() ? 1 : 0;
  }
  EXPECT_EQ(clean, 4u) << "after the file header and after each of the first three frames";
}

TEST_F(CaptureFile, OfPcapngCutAnywhereNeitherCrashesNorPassesAsWhole) {
  const std::string whole = pcapng();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Reading reading = read(whole.substr(0, size));
    EXPECT_EQ(reading.frames, 0u);
    // A file that ends between two blocks is a whole one.
    EXPECT_TRUE(!reading.error.empty() || size == 28 + 20) << size;
  }
}

TEST_F(CaptureFile, WithAnImpossibleFrameLengthIsDamaged) {
  std::string content = fixture_bytes("vs_tos");
  content.replace(24 + 8, 4, "\xff\xff\xff\x7f");
  EXPECT_THAT(read(content).error, HasSubstr("damaged after frame 0"));
}

TEST_F(CaptureFile, ThatIsNoneSaysWhatItIs) {
  EXPECT_THAT(read("").error, HasSubstr("empty"));
  EXPECT_THAT(read("\x1f\x8b\x08 and so on, compressed").error, HasSubstr("gunzip"));
  EXPECT_THAT(read("Dear reader, this is a letter.").error, HasSubstr("not a pcap or pcapng file"));
}

TEST_F(CaptureFile, ThatIsNotThereSaysSo) {
  EXPECT_THAT(read_path("/nonexistent/capture.pcap").error, HasSubstr("No such file"));
  EXPECT_THAT(read_path(fixtures()).error, HasSubstr("folder"));
}

TEST_F(CaptureFile, OfAnUnknownLinkTypeNamesIt) {
  std::string content = fixture_bytes("vs_tos");
  content[20] = 105;  // wireless
  EXPECT_THAT(read(content).error, HasSubstr("IEEE802_11"));
}

}  // namespace
}  // namespace urnic::check::test
