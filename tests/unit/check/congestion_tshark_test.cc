// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// tshark's reading of pause frames and CNPs, beside ours.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/check/congestion_frames.h"
#include "tests/unit/check/modelled_pauses.h"

namespace urnic::check::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFields =
    " -e macc.opcode -e macc.pause_time -e macc.cbfc.enbv -e macc.cbfc.pause_time.c0 -e "
    "macc.cbfc.pause_time.c1 -e macc.cbfc.pause_time.c2 -e macc.cbfc.pause_time.c3 -e "
    "macc.cbfc.pause_time.c4 -e macc.cbfc.pause_time.c5 -e macc.cbfc.pause_time.c6 -e "
    "macc.cbfc.pause_time.c7 -e infiniband.bth.opcode";

/// One row of fields for each frame.
std::vector<std::vector<std::string>> rows_of_tshark(const fs::path& path) {
  const std::string command =
      "tshark -r '" + path.string() + "' -T fields -E separator=';'" + kFields + " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::vector<std::vector<std::string>> rows;
  char line[4096];
  while (pipe && std::fgets(line, sizeof line, pipe.get()) != nullptr) {
    std::istringstream text(std::string(line).substr(0, std::string(line).find('\n')) + ";");
    auto& row = rows.emplace_back();
    for (std::string field; std::getline(text, field, ';');) row.push_back(field);
  }
  return rows;
}

unsigned number(const std::string& text) {
  return static_cast<unsigned>(std::strtoul(text.c_str(), nullptr, 0));
}

void expect_same_reading(const std::vector<CapturedFrame>& frames) {
  const fs::path path = fs::path(testing::TempDir()) / ("urnic_pauses_" + std::to_string(getpid()) + ".pcap");
  ASSERT_TRUE(urnic::test::write_pcap(path, frames));
  const auto rows = rows_of_tshark(path);
  fs::remove(path);
  ASSERT_EQ(rows.size(), frames.size());
  std::uint64_t cnps = 0;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const std::vector<std::string>& row = rows[i];
    ASSERT_EQ(row.size(), 12u) << i + 1;
    const auto link = parse_link(LinkType::kEthernet, frames[i].bytes);
    ASSERT_TRUE(link);
    EXPECT_EQ(link->pause.has_value(), !row[0].empty()) << i + 1;
    cnps += row[11] == "129" ? 1 : 0;
    if (!link->pause || row[0].empty()) continue;
    EXPECT_EQ(number(row[0]), link->pause->is_of_priorities ? 0x0101u : 0x0001u) << i + 1;
    if (!link->pause->is_of_priorities) {
      EXPECT_EQ(number(row[1]), link->pause->quanta[0]) << i + 1;
      continue;
    }
    EXPECT_EQ(number(row[2]), link->pause->priorities) << i + 1;
    for (std::size_t priority = 0; priority < kPriorities; ++priority) {
      EXPECT_EQ(number(row[3 + priority]), link->pause->quanta[priority])
          << i + 1 << ", priority " << priority;
    }
  }
  check_capture(Capture(frames), {}, [&](const Checker& checker) { EXPECT_EQ(checker.counts().cnps, cnps); });
}

class TsharkOfCongestion : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("tshark --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "tshark is not installed";
  }
};

TEST_F(TsharkOfCongestion, ReadsTheFramesOfAModelledLinkLikeUs) {
  for (const Place place : {Place::kSenderAtSwitch, Place::kReceiverAtHost}) {
    std::vector<CapturedFrame> frames = capture_modelled_link(place, true).frames;
    expect_same_reading(frames);
  }
}

TEST_F(TsharkOfCongestion, ReadsWhatIsPutTogetherByHandLikeUs) {
  Capture capture = Capture::fixture("vs_sizes");
  mark(capture, 1);
  insert_cnp(capture, 2);
  insert_cnp(capture, 7);
  constexpr Mac kSender = {{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}};
  for (const CapturedFrame& pause :
       {pause_frame(kSender, {{0, 1}, {1, 0x0203}, {2, 0}, {7, 0xffff}}, 0), pause_frame(kSender, {}, 0),
        pause_of_all(kSender, 0x1234, 0), pause_of_all(kSender, 0, 0)}) {
    capture.insert(pause, 4);
  }
  expect_same_reading(capture.frames());
}

TEST_F(TsharkOfCongestion, ReadsTheCnpOfAConnectXLikeUs) {
  const fs::path path = shared_captures() / "public/connectx4lx_cnp.pcap";
  if (!fs::exists(path)) GTEST_SKIP() << "no " << path;
  const auto frames = urnic::test::read_pcap(path);
  ASSERT_TRUE(frames);
  expect_same_reading(frames.value());
}

}  // namespace
}  // namespace urnic::check::test
