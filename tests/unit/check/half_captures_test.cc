// What a capture does not have proves nothing: parts of clean captures are clean.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/check/capture_edit.h"
#include "tools/check/report.h"

namespace urnic::check::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> fixture_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fixtures())) {
    if (entry.path().extension() == ".pcap") {
      names.push_back(entry.path().stem().string());
    }
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
    std::mt19937 random(seed);
    std::vector<CapturedFrame> rest;
    const unsigned kept_of_ten = 5 + seed % 5;
    std::copy_if(frames_.begin(), frames_.end(), std::back_inserter(rest),
                 [&](const CapturedFrame&) { return random() % 10 < kept_of_ten; });
    expect_clean(rest, {.policy = {.lossy = true}}, "seed " + std::to_string(seed));
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, PartOfACapture, testing::ValuesIn(fixture_names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace urnic::check::test
