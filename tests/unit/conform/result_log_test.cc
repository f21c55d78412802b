// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A run that was interrupted goes on with the results that it has.
#include "tools/conformance/conform/results/result_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tools/conformance/conform/results/result_json.h"

namespace urnic::conform {
namespace {

using ::testing::HasSubstr;

constexpr Case kCases[] = {{.name = "rc/one", .text = "# One -- fact 1\n\nsilence\n"},
                           {.name = "rc/two", .text = "# Two -- fact 2\n\nsilence\n"},
                           {.name = "rc/three", .text = "# Three -- fact 3\n\nsilence\n"}};
constexpr const char* kPeer = "192.0.2.2";

CaseResult result_of(const Case& of, Verdict verdict) {
  CaseResult result;
  result.of = of;
  result.verdict = verdict;
  result.line = 3;
  result.statement = "silence";
  result.reason = "a packet came:\n  \"ACK\"";
  result.habit_of = "some";
  result.habit_source = "fact 9";
  result.not_judged = {{4, "timer 1", "no agent can tell", {}}};
  result.excused = {{3, "silence", "no event came", {}}};
  result.ladder = {"1 us  < SEND_ONLY"};
  result.took = std::chrono::milliseconds(1500);
  result.capture = "packets/x.pcapng";
  return result;
}

void expect_equal(const CaseResult& a, const CaseResult& b) {
  EXPECT_EQ(json_of(a), json_of(b));
  EXPECT_EQ(a.of.name, b.of.name);
  EXPECT_EQ(a.took, b.took);
}

class ResultLogTest : public testing::Test {
 protected:
  ResultLogTest() : path_(testing::TempDir() + "result_log_test") { std::filesystem::remove(path_); }
  ~ResultLogTest() override { std::filesystem::remove(path_); }

  std::unique_ptr<ResultLog> open(const std::string& peer = kPeer) {
    auto log = ResultLog::open(path_, peer, kCases);
    EXPECT_TRUE(log) << log.error().message;
    return log ? std::move(log.value()) : nullptr;
  }
  std::string refusal(const std::string& peer = kPeer) {
    const auto log = ResultLog::open(path_, peer, kCases);
    return log ? "" : log.error().message;
  }
  std::string content() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return std::move(text).str();
  }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::trunc) << text; }

  std::string path_;
};

TEST_F(ResultLogTest, HasWhatWasPlayed) {
  {
    const auto log = open();
    EXPECT_EQ(log->find("rc/one"), nullptr);
    EXPECT_TRUE(log->add(result_of(kCases[0], Verdict::kFail)));
    EXPECT_TRUE(log->add(result_of(kCases[2], Verdict::kHabit)));
  }
  const auto log = open();
  ASSERT_NE(log->find("rc/one"), nullptr);
  expect_equal(*log->find("rc/one"), result_of(kCases[0], Verdict::kFail));
  expect_equal(*log->find("rc/three"), result_of(kCases[2], Verdict::kHabit));
  EXPECT_EQ(log->find("rc/two"), nullptr);
}

TEST_F(ResultLogTest, LetsPlayAgainWhatCouldNotBeJudged) {
  open()->add(result_of(kCases[0], Verdict::kUnknown));
  EXPECT_EQ(open()->find("rc/one"), nullptr);
  open()->add(result_of(kCases[0], Verdict::kPass));
  ASSERT_NE(open()->find("rc/one"), nullptr) << "the last one counts";
}

TEST_F(ResultLogTest, WritesOverALineThatWasCutOff) {
  open()->add(result_of(kCases[0], Verdict::kPass));
  const std::string whole = content();
  for (const std::size_t cut : {whole.size() + 1, whole.size() + 20}) {
    open()->add(result_of(kCases[1], Verdict::kPass));
    write(content().substr(0, cut));
    EXPECT_NE(open()->find("rc/one"), nullptr);
    EXPECT_EQ(content(), whole);
  }
}

TEST_F(ResultLogTest, IsOfOnePeerAndOneVersion) {
  open();
  EXPECT_THAT(refusal("192.0.2.3"), HasSubstr("another peer"));
  EXPECT_EQ(refusal(), "");
  write(R"({"urnic_conform":"0.0.1","peer":"192.0.2.2"})"
        "\n");
  EXPECT_THAT(refusal(), HasSubstr("another version"));
}

TEST_F(ResultLogTest, RefusesOtherFilesAndLeavesThem) {
  for (const char* text :
       {"a shopping list", "a shopping list\n", "\n", "[]\n", "{}\n", "null\n", "{\"peer\":1}\n"}) {
    write(text);
    EXPECT_THAT(refusal(), HasSubstr("no file of --resume")) << text;
    EXPECT_EQ(content(), text);
  }
  std::filesystem::remove(path_);
  open();
  const std::string head = content();
  for (const char* line :
       {"x", "[]", "{}", R"({"name":"rc/one"})", R"({"name":"rc/one","verdict":"MAYBE"})", R"({"name":7})"}) {
    write(head + line + "\n");
    EXPECT_THAT(refusal(), HasSubstr("line 2 is no result")) << line;
    EXPECT_EQ(content(), head + line + "\n");
  }
}

TEST_F(ResultLogTest, PassesOverCasesThatWereNotChosen) {
  const Case other{.name = "uc/another", .text = kCases[0].text};
  {
    const auto all = ResultLog::open(path_, kPeer, std::span(&other, 1));
    ASSERT_TRUE(all);
    all.value()->add(result_of(other, Verdict::kPass));
  }
  EXPECT_EQ(open()->find("uc/another"), nullptr);
}

TEST_F(ResultLogTest, SaysThatAFileCannotBeWritten) {
  path_ = testing::TempDir();
  EXPECT_THAT(refusal(), HasSubstr("cannot"));
  path_ = "/nowhere/at/all";
  EXPECT_THAT(refusal(), HasSubstr("cannot write"));
}

TEST_F(ResultLogTest, TakesAnyBytesOfAPeer) {
  CaseResult result = result_of(kCases[0], Verdict::kFail);
  result.reason = "\xff\xfe\n</script>";
  EXPECT_TRUE(open()->add(result));
  ASSERT_NE(open()->find("rc/one"), nullptr);
}

}  // namespace
}  // namespace urnic::conform
