// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Captures of others, judged: what is known about each of them must come out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/value_of.h"
#include "tests/unit/check/capture_edit.h"
#include "tools/conformance/check/capture_reader.h"
#include "tools/conformance/check/report/report.h"

namespace urnic::check::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<fs::path> captures_below(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".pcap") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Checks a file to its end. The results for its frames are left in `icrc`.
std::unique_ptr<Checker> check_file(const fs::path& path, std::vector<IcrcResult>* icrc = nullptr) {
  auto checker = std::make_unique<Checker>(CheckOptions{});
  std::string why;
  auto reader = CaptureReader::open(path.string(), why);
  if (!reader) urnic::test::end_test(path.string() + ": " + why);
  while (true) {
    const auto frame = reader->next();
    if (!frame) break;
    const IcrcResult result = checker->add(frame->link_type, *frame);
    if (icrc != nullptr) icrc->push_back(result);
  }
  EXPECT_EQ(reader ? reader->error() : "", "");
  checker->finish();
  return checker;
}

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The reports in tests/check/expected were read against the recordings' logs, line by line. To write them
// again after an intended change: URNIC_WRITE_EXPECTED=1 check_test, and read the difference.
TEST(Fixtures, GetTheReportsThatWereReviewed) {
  const fs::path expected = fs::path(URNIC_EXPECTED);
  std::set<std::string> seen;
  for (const fs::path& path : captures_below(fixtures())) {
    const std::string report = text_report(path.filename().string(), *check_file(path), "", false);
    const fs::path kept = expected / (path.stem().string() + ".txt");
    if (std::getenv("URNIC_WRITE_EXPECTED") != nullptr) std::ofstream(kept) << report;
    EXPECT_EQ(slurp(kept), report) << kept;
    seen.insert(kept.filename().string());
  }
  for (const auto& entry : fs::directory_iterator(expected)) {
    EXPECT_EQ(seen.count(entry.path().filename().string()), 1u) << entry.path() << " belongs to no fixture";
  }
}

TEST(Fixtures, BreakNoRule) {
  for (const fs::path& path : captures_below(fixtures())) {
    EXPECT_EQ(check_file(path)->findings().count_of(Severity::kViolation), 0u) << path;
  }
}

/// The counts of the first requester in a file.
ExchangeCounts requests_in(const std::string& name) {
  const auto checker = check_file(fixtures() / (name + ".pcap"));
  for (const Flow& flow : checker->connections().flows()) {
    if (flow.direction) return flow.direction->exchange.counts;
  }
  ADD_FAILURE() << name << " has no requests";
  return {};
}

// What follows is what the programs said that made the recordings: see pcap_fixtures/README.md.

TEST(Fixtures, ShowTheOperationsThatWereAskedFor) {
  const ExchangeCounts counts = requests_in("vs_sizes");
  EXPECT_EQ(counts.sends, 10u);
  EXPECT_EQ(counts.writes, 5u);
  EXPECT_EQ(counts.reads, 6u);
  EXPECT_EQ(counts.bytes, 0u + 1 + 2 + 3 + 5 + 1023 + 1024 + 1025 + 2048 + 4097 + 0 + 1 + 1024 + 1025 + 4097 +
                              0 + 1 + 1023 + 1024 + 1025 + 4097);
  EXPECT_EQ(counts.repeated_packets, 0u);
}

TEST(Fixtures, ShowLostRequestsAndTheirRepetition) {
  const ExchangeCounts counts = requests_in("vs_loss_requests");
  EXPECT_EQ(counts.sequence_naks, 4u);
  EXPECT_EQ(counts.bytes, 5u * 9000) << "whatever was sent again counts once";
  EXPECT_EQ(counts.sends + counts.writes, 4u);
}

TEST(Fixtures, ShowReceiversThatAreNotReady) {
  const ExchangeCounts counts = requests_in("vs_rnr");
  EXPECT_EQ(counts.rnr_naks, 14u);
  EXPECT_EQ(counts.sends, 2u);
  EXPECT_EQ(counts.writes, 1u);
  EXPECT_EQ(requests_in("vs_rnr_exceeded").rnr_naks, 3u);
}

TEST(Fixtures, ShowWhyRequestsWereRefused) {
  const std::map<std::uint8_t, std::uint64_t> access = {{0x62, 1}};
  const std::map<std::uint8_t, std::uint64_t> invalid = {{0x61, 1}};
  const std::map<std::uint8_t, std::uint64_t> operational = {{0x63, 1}};
  EXPECT_EQ(requests_in("vs_write_badkey").fatal_naks, access);
  EXPECT_EQ(requests_in("vs_write_bounds").fatal_naks, access);
  EXPECT_EQ(requests_in("vs_read_badkey").fatal_naks, access);
  EXPECT_EQ(requests_in("vs_imm_inv").fatal_naks, access);
  EXPECT_EQ(requests_in("vs_write_noperm").fatal_naks, invalid);
  EXPECT_EQ(requests_in("vs_atomic_noperm").fatal_naks, invalid);
  EXPECT_EQ(requests_in("vs_send_toolong").fatal_naks, operational);
}

TEST(Fixtures, ShowAPeerThatIsSilent) {
  const auto checker = check_file(fixtures() / "vs_peer_dead.pcap");
  EXPECT_EQ(checker->findings().count_of(Rule::kNoAnswer), 1u);
  EXPECT_EQ(requests_in("vs_peer_dead").repeated_packets, 3u);
}

TEST(Fixtures, ShowWhatTheNetworkDeliveredTwice) {
  const auto checker = check_file(fixtures() / "vs_duplicate.pcap");
  // netem sent 34 packets, of which 26 differ.
  EXPECT_EQ(checker->findings().count_of(Rule::kNetworkCopy), 8u);
  EXPECT_EQ(requests_in("vs_duplicate").repeated_packets, 0u);
}

TEST(Fixtures, ShowTheWrongQkey) {
  const auto checker = check_file(fixtures() / "vs_ud.pcap");
  ASSERT_EQ(checker->findings().count_of(Rule::kQkeyChanged), 1u);
  for (const Finding& finding : checker->findings().kept()) {
    if (finding.rule == Rule::kQkeyChanged) {
      EXPECT_THAT(finding.frames, ElementsAre(8u));
    }
  }
}

TEST(Fixtures, PairTheQueuePairsThatTheLogsName) {
  const auto checker = check_file(fixtures() / "vs_loss_both.pcap");
  EXPECT_EQ(checker->connections().name_of_flow(0), "10.77.0.2 qp 0x000045 > 10.77.0.3 qp 0x000044");
  EXPECT_EQ(checker->connections().name_of_flow(1), "10.77.0.3 qp 0x000044 > 10.77.0.2 qp 0x000045");
  EXPECT_EQ(pairs_of(check_file(fixtures() / "srq_pingpong.pcap")->connections()).size(), 4u);
}

TEST(Fixtures, ShowBothDirectionsOfAPingPong) {
  const auto checker = check_file(fixtures() / "srq_pingpong.pcap");
  std::uint64_t sends = 0;
  for (const Flow& flow : checker->connections().flows()) {
    ASSERT_TRUE(flow.direction && flow.peer);
    sends += flow.direction->exchange.counts.sends;
  }
  EXPECT_EQ(sends, 2u * 20);
}

class CapturesOutsideTheProject : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(shared_captures())) {
      GTEST_SKIP() << "no captures in " << shared_captures() << "; set URNIC_SHARED to the folder above them";
    }
  }
};

TEST_F(CapturesOutsideTheProject, OfTheKernelBreakNoRule) {
  std::size_t files = 0;
  for (const fs::path& path : captures_below(shared_captures() / "rxe")) {
    const auto checker = check_file(path);
    EXPECT_EQ(checker->findings().count_of(Severity::kViolation), 0u)
        << text_report(path, *checker, "", true);
    EXPECT_EQ(checker->counts().icrc_right, checker->counts().frames) << path;
    ++files;
  }
  EXPECT_GE(files, 40u);
}

// The two are of a user-space stack whose MSN stays at 1, frame by frame in its captures.
TEST_F(CapturesOutsideTheProject, OfOthersBreakOnlyTheRuleThatOneStackDoesBreak) {
  std::map<std::string, std::uint64_t> violations;
  for (const fs::path& path : captures_below(shared_captures() / "public")) {
    const auto checker = check_file(path);
    EXPECT_EQ(checker->counts().icrc_wrong + checker->counts().icrc_unknown, 0u) << path;
    if (const std::uint64_t count = checker->findings().count_of(Severity::kViolation)) {
      EXPECT_EQ(count, checker->findings().count_of(Rule::kMsn)) << text_report(path, *checker, "", true);
      violations[path.stem().string()] = count;
    }
  }
  const std::map<std::string, std::uint64_t> expected = {{"rxe_sw_rping_1400_user_stack", 1},
                                                         {"rxe_sw_rping_user_stack", 1}};
  EXPECT_EQ(violations, expected);
}

/// A hardware endpoint's RTL in a simulator, and urnic. What is expected of each file is what the README
/// beside them says.
class FpgaCaptures : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(fpga_captures())) {
      GTEST_SKIP() << "no captures in " << fpga_captures() << "; set URNIC_SHARED to the folder above them";
    }
  }
  static std::unique_ptr<Checker> check(const std::string& name) {
    return check_file(fpga_captures() / (name + ".pcap"));
  }
};

TEST_F(FpgaCaptures, BreakNoRuleButThatOneOfRubbish) {
  const std::vector<fs::path> paths = captures_below(fpga_captures());
  EXPECT_GE(paths.size(), 8u);
  for (const fs::path& path : paths) {
    if (path.stem() == "late-ack-after-close") continue;
    const auto checker = check_file(path);
    EXPECT_EQ(checker->findings().count_of(Severity::kViolation), 0u)
        << text_report(path, *checker, "", true);
    EXPECT_EQ(checker->counts().icrc_wrong + checker->counts().icrc_unknown, 0u) << path;
  }
  // An ACK with ICRC 0, made by hand, and what it makes the endpoint send: frames with an IP length of 24.
  const auto rubbish = check("late-ack-after-close");
  EXPECT_EQ(rubbish->findings().count_of(Rule::kIcrc), 1u);
  EXPECT_EQ(rubbish->findings().count_of(Rule::kIpLength), 23u);
  EXPECT_EQ(rubbish->findings().count_of(Severity::kViolation), 24u);
}

TEST_F(FpgaCaptures, ShowWhatWasDoneToThem) {
  EXPECT_EQ(check("send-rnr")->findings().count_of(Rule::kRnrNak), 10u);
  EXPECT_EQ(check("write-rkey-zero")->findings().count_of(Rule::kFatalNak), 1u);
  EXPECT_GT(check("write-imm-dup-reorder")->findings().count_of(Rule::kNetworkCopy), 0u);
  const auto loss = check("send-imm-4qp-loss");
  EXPECT_EQ(loss->findings().count_of(Rule::kSequenceNak), 9u);
  EXPECT_EQ(pairs_of(loss->connections()).size(), 4u);
}

TEST_F(FpgaCaptures, HaveFecnAndNoReservedBits) {
  const auto checker = check("send-fecn");
  EXPECT_EQ(checker->findings().count_of(Rule::kFecn), 24u);
  EXPECT_EQ(checker->findings().count_of(Rule::kReservedBits), 0u);
}

using Verdicts = std::map<std::size_t, std::string>;

/// Verdicts of the independent ICRC checker beside the captures, by file and frame.
std::map<std::string, Verdicts> independent_verdicts(const std::vector<fs::path>& paths) {
  std::string command = "python3 '" + (shared_captures() / "icrc_check.py").string() + "' -v";
  for (const fs::path& path : paths) command += " '" + path.string() + "'";
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::map<std::string, Verdicts> all;
  Verdicts verdicts;
  char line[4096];
  while (pipe && std::fgets(line, sizeof line, pipe.get()) != nullptr) {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "==") {  // the file's name comes after its frames
      words >> first;
      all[first] = std::exchange(verdicts, {});
      continue;
    }
    for (std::string word; words >> word;) {
      if (word == "icrc-ok" || word == "ICRC-BAD" || word == "trunc") {
        verdicts[std::strtoull(first.c_str(), nullptr, 10)] = word;
      }
    }
  }
  return all;
}

void expect_same_verdicts(const std::vector<fs::path>& paths) {
  const auto all = independent_verdicts(paths);
  for (const fs::path& path : paths) {
    std::vector<IcrcResult> results;
    check_file(path, &results);
    ASSERT_TRUE(all.count(path.string()) == 1 && !all.at(path.string()).empty()) << path;
    const Verdicts& verdicts = all.at(path.string());
    for (std::size_t number = 1; number <= results.size(); ++number) {
      const auto verdict = verdicts.find(number);
      const IcrcResult expected = verdict == verdicts.end()      ? IcrcResult::kNotRoce
                                  : verdict->second == "icrc-ok" ? IcrcResult::kRight
                                  : verdict->second == "trunc"   ? IcrcResult::kUnknown
                                                                 : IcrcResult::kWrong;
      EXPECT_EQ(results[number - 1], expected) << path << ", frame " << number;
    }
  }
}

TEST_F(CapturesOutsideTheProject, GetTheIcrcVerdictsOfAnIndependentProgram) {
  expect_same_verdicts(captures_below(shared_captures()));
}

TEST_F(CapturesOutsideTheProject, GetThoseVerdictsWhenFramesAreDamagedOrCutToo) {
  Capture capture = Capture::fixture("vs_loss_both");
  for (std::size_t number = 3; number <= capture.size(); number += 5) {
    auto& bytes = capture[number].bytes;
    const std::size_t at = 54 + number * 31 % (bytes.size() - 54);  // after the BTH, ICRC included
    bytes[at] ^= static_cast<std::byte>(1 << number % 8);
  }
  for (std::size_t number = 4; number <= capture.size(); number += 7) {
    capture[number].bytes.resize(capture[number].bytes.size() - 1);
  }
  const fs::path path = fs::path(testing::TempDir()) / "urnic_check_damaged.pcap";
  ASSERT_TRUE(urnic::test::write_pcap(path, capture.frames()));
  expect_same_verdicts({path});
  fs::remove(path);
}

}  // namespace
}  // namespace urnic::check::test
