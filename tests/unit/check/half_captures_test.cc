// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a capture does not have proves nothing: parts of clean captures are clean.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/check/capture_edit.h"
#include "tools/conformance/check/report/report.h"

namespace urnic::check::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> fixture_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fixtures())) {
    if (entry.path().extension() == ".pcap") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void expect_clean(const std::vector<CapturedFrame>& frames, const CheckOptions& options,
                  const std::string& what) {
  check_capture(Capture(frames), options, [&](const Checker& checker) {
    EXPECT_EQ(checker.findings().count_of(Severity::kViolation), 0u) << text_report(what, checker, "", false);
  });
}

std::vector<CapturedFrame> some_of(const std::vector<CapturedFrame>& frames, unsigned seed) {
  std::mt19937 random(seed);
  const unsigned kept_of_ten = 5 + seed % 5;
  std::vector<CapturedFrame> rest;
  std::copy_if(frames.begin(), frames.end(), std::back_inserter(rest),
               [&](const CapturedFrame&) { return random() % 10 < kept_of_ten; });
  return rest;
}

class PartOfACapture : public testing::TestWithParam<std::string> {
 protected:
  std::vector<CapturedFrame> frames_ = Capture::fixture(GetParam()).frames();
};

TEST_P(PartOfACapture, WithoutItsBeginningIsClean) {
  for (std::size_t first = 1; first < frames_.size(); ++first) {
    expect_clean({frames_.begin() + static_cast<std::ptrdiff_t>(first), frames_.end()}, {},
                 "from frame " + std::to_string(first + 1) + " on");
  }
}

TEST_P(PartOfACapture, WithoutItsEndIsClean) {
  for (std::size_t count = 1; count < frames_.size(); ++count) {
    expect_clean({frames_.begin(), frames_.begin() + static_cast<std::ptrdiff_t>(count)}, {},
                 "the first " + std::to_string(count));
  }
}

TEST_P(PartOfACapture, WithOneDirectionOnlyIsClean) {
  constexpr std::size_t kSourceMacAt = 6;
  for (const bool client : {true, false}) {
    std::vector<CapturedFrame> half;
    std::copy_if(frames_.begin(), frames_.end(), std::back_inserter(half), [&](const CapturedFrame& frame) {
      const auto differs =
          !std::equal(frame.bytes.begin() + kSourceMacAt, frame.bytes.begin() + kSourceMacAt + 6,
                      frames_.front().bytes.begin() + kSourceMacAt);
      return differs != client;
    });
    expect_clean(half, {}, client ? "what the first sender sent" : "what it did not send");
  }
}

TEST_P(PartOfACapture, WithFramesLeftOutIsCleanWhenThatIsKnown) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    expect_clean(some_of(frames_, seed), {.policy = {.lossy = true}}, "seed " + std::to_string(seed));
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, PartOfACapture, testing::ValuesIn(fixture_names()),
                         [](const auto& one) { return one.param; });

void expect_clean_parts(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    GTEST_SKIP() << "no captures in " << folder << "; set URNIC_SHARED to the folder above them";
  }
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    // The user-space stack is not clean as a whole, nor is what a late ACK made an FPGA endpoint send.
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".pcap" || name.find("user_stack") != std::string::npos ||
        name == "late-ack-after-close") {
      continue;
    }
    const auto read = urnic::test::read_pcap(entry.path());
    ASSERT_TRUE(read) << read.error().message;
    const auto& frames = read.value();
    const auto cut = [&frames](std::size_t at) { return frames.begin() + static_cast<std::ptrdiff_t>(at); };
    for (std::size_t at = 1; at < frames.size(); at += 1 + frames.size() / 40) {
      expect_clean({cut(at), frames.end()}, {}, name + " from frame " + std::to_string(at + 1) + " on");
      expect_clean({frames.begin(), cut(at)}, {}, name + ", the first " + std::to_string(at));
    }
    for (unsigned seed = 1; seed <= 10; ++seed) {
      expect_clean(some_of(frames, seed), {.policy = {.lossy = true}},
                   name + " seed " + std::to_string(seed));
    }
  }
}

TEST(PartsOfCapturesOutsideTheProject, AreClean) {
  expect_clean_parts(shared_captures());
}

TEST(PartsOfCapturesOutsideTheProject, OfAnFpgaAreClean) {
  expect_clean_parts(fpga_captures());
}

// Its requester has no reason to ask again: what it waits for is there.
TEST(AtomicAnswer, IsNotMissingWhenItComesBehindALaterOne) {
  std::vector<CapturedFrame> frames = Capture::fixture("vs_atomics").frames();
  // Request 1, request 2, answer 2, answer 1 as if sent again, and so on.
  std::rotate(frames.begin() + 1, frames.begin() + 2, frames.begin() + 4);
  FrameEdit(frames[3]).msn(2).new_ip_id().seal();
  check_capture(Capture(frames), {}, [](const Checker& checker) {
    EXPECT_EQ(checker.findings().count_of(Rule::kAtomicUnanswered), 0u) << text_report("", checker, "", true);
  });
}

}  // namespace
}  // namespace urnic::check::test
