// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Captures of others, both sides of which our stack plays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/replay/recording.h"

namespace urnic::replay::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<fs::path> captures_below(const fs::path& folder) {
  std::vector<fs::path> paths;
  if (!fs::is_directory(folder)) return paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".pcap") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// All but those whose answers were lost or late before the place of capture: no stack can play them again.
std::vector<fs::path> playable_fixtures() {
  std::vector<fs::path> paths = captures_below(check::test::fixtures());
  std::erase_if(paths, [](const fs::path& path) { return path.parent_path().filename() == "lost_answers"; });
  return paths;
}

fs::path shared_of_rxe() {
  return check::test::shared_captures() / "rxe";
}

std::string name_of(const testing::TestParamInfo<fs::path>& info) {
  const std::string folder = info.param.parent_path().filename().string();
  return (folder == "mtu4096" ? "mtu4096_" : "") + info.param.stem().string();
}

Report play(const fs::path& path) {
  return replay(path.filename().string(), *read(path), {});
}

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Fixture : public testing::TestWithParam<fs::path> {};

// The reports in tests/replay/expected were read line by line: what was free, what was taken from the
// answers. To write them again after an intended change: URNIC_WRITE_EXPECTED=1 replay_test, and read the
// difference.
TEST_P(Fixture, GetsTheReportThatWasReviewed) {
  const Report report = play(GetParam());
  const fs::path kept = fs::path(URNIC_EXPECTED) / (GetParam().stem().string() + ".txt");
  if (std::getenv("URNIC_WRITE_EXPECTED") != nullptr) std::ofstream(kept) << text_report(report);
  EXPECT_EQ(slurp(kept), text_report(report));
  EXPECT_NE(judgement_of(report), Judgement::kMismatch);
}

INSTANTIATE_TEST_SUITE_P(All, Fixture, testing::ValuesIn(playable_fixtures()), name_of);

TEST(Fixtures, HaveNoExpectedReportTooMany) {
  for (const auto& entry : fs::directory_iterator(URNIC_EXPECTED)) {
    const fs::path fixture = check::test::fixtures() / (entry.path().stem().string() + ".pcap");
    EXPECT_TRUE(fs::exists(fixture)) << entry.path() << " belongs to no fixture";
  }
}

TEST(Fixtures, AreAllPlayedBothWays) {
  // What each cannot be played with, and why not.
  const std::map<std::string, std::string> left_out = {
      {"arp_nd_linux", "no RoCEv2"},
      {"igmp_mld_linux", "no RoCEv2"},
      {"vs_peer_dead", "the responder is dead and answers nothing"}};
  for (const fs::path& path : playable_fixtures()) {
    const Report report = play(path);
    for (const DirectionReport& direction : report.directions) {
      for (const Outcome& outcome : direction.outcomes) {
        EXPECT_EQ(outcome.verdict == Verdict::kNotPlayed,
                  left_out.count(path.stem().string()) == 1 && outcome.side == Side::kResponder)
            << path << ": " << outcome.what;
      }
      EXPECT_EQ(direction.outcomes.size(), 2u) << path;
    }
    const auto reason = left_out.find(path.stem().string());
    EXPECT_EQ(report.directions.empty(), reason != left_out.end() && reason->second == "no RoCEv2") << path;
  }
}

class KernelCapture : public testing::TestWithParam<fs::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KernelCapture);

// No differences are expected: rdma_rxe and we agree, up to the allowed deviations.
TEST_P(KernelCapture, IsPlayedBothWaysToTheSamePackets) {
  const Report report = play(GetParam());
  EXPECT_EQ(judgement_of(report), Judgement::kEqual) << text_report(report);
  EXPECT_EQ(report.left_out, 0u);
}

INSTANTIATE_TEST_SUITE_P(OutsideTheProject, KernelCapture, testing::ValuesIn(captures_below(shared_of_rxe())),
                         name_of);

TEST(KernelCaptures, AreThere) {
  if (!fs::is_directory(shared_of_rxe())) {
    GTEST_SKIP() << "no captures in " << shared_of_rxe() << "; set URNIC_SHARED to the folder above them";
  }
  EXPECT_GE(captures_below(shared_of_rxe()).size(), 40u);
}

// A hardware endpoint's requests, and what urnic answered when it was recorded.
TEST(FpgaCaptures, ArePlayedBothWaysToTheSamePackets) {
  const fs::path folder = check::test::fpga_captures();
  if (!fs::is_directory(folder)) {
    GTEST_SKIP() << "no captures in " << folder << "; set URNIC_SHARED to the folder above them";
  }
  const std::vector<fs::path> paths = captures_below(folder);
  EXPECT_GE(paths.size(), 8u);
  for (const fs::path& path : paths) {
    const Report report = play(path);
    // Of that one a receiver drops most frames: their ICRC is wrong, or their IP length.
    const bool is_mostly_damaged = path.filename() == "late-ack-after-close.pcap";
    EXPECT_EQ(judgement_of(report), is_mostly_damaged ? Judgement::kHardlyPlayed : Judgement::kEqual)
        << text_report(report);
    for (const DirectionReport& direction : report.directions) {
      for (const Outcome& outcome : direction.outcomes) {
        EXPECT_EQ(outcome.verdict, Verdict::kEqual) << path << ": " << outcome.what;
      }
    }
  }
}

// Old stacks of others, whose MSN our responder must not follow.
TEST(PublicCaptures, DifferOnlyInTheMsnThatOldStacksGetWrong) {
  const fs::path folder = check::test::shared_captures() / "public";
  if (!fs::is_directory(folder)) GTEST_SKIP() << "no captures in " << folder;
  const std::set<std::string> expected = {"rxe_sw_rping_1400_user_stack",
                                          "rxe_sw_rping_user_stack",               // MSN stays at 1
                                          "rxe_sw_rping_x1", "rxe_sw_rping_x10"};  // WRITEs are not counted
  std::set<std::string> differing;
  for (const fs::path& path : captures_below(folder)) {
    const Report report = play(path);
    EXPECT_EQ(find_mismatch(report, Side::kRequester), nullptr) << text_report(report);
    if (const Outcome* const mismatch = find_mismatch(report, Side::kResponder)) {
      EXPECT_THAT(mismatch->what, HasSubstr("MSN: ")) << text_report(report);
      differing.insert(path.stem().string());
    }
  }
  EXPECT_EQ(differing, expected);
}

}  // namespace
}  // namespace urnic::replay::test
