// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The table of the sanitizer's findings, and what the user says of them.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verbs_api/sanitizer/example.h"
#include "verbs_api/sanitizer/settings.h"
#include "verbs_api/sanitizer/suppressions.h"

namespace urnic::verbs_api {
namespace {

TEST(FindingTable, NamesAreWordsOfTheirOwn) {
  std::set<std::string_view> names;
  for (const FindingRow& row : all_findings()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(finding_named(row.name), row.finding);
    EXPECT_EQ(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos) << row.name;
    EXPECT_FALSE(row.rule.empty() || row.shows_on.empty() || row.advice.empty()) << row.name;
  }
  EXPECT_EQ(finding_named("read"), std::nullopt);
}

TEST(SanitizerSettings, AreReadFromWords) {
  const auto settings =
      SanitizerSettings::parse("level=error,exitcode=7,off=read-without-fence,stacks=0,json=a");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings.value().exit_code, 7);
  EXPECT_FALSE(settings.value().has_stacks);
  EXPECT_EQ(settings.value().json_file, "a");
  EXPECT_FALSE(settings.value().wants(Finding::kReadWithoutFence)) << "off";
  EXPECT_FALSE(settings.value().wants(Finding::kNoAckTimeout)) << "a warning";
  EXPECT_TRUE(settings.value().wants(Finding::kMisalignedAtomic));
}

TEST(SanitizerSettings, SayWhatIsWrongWithThem) {
  for (const auto& [text, words] :
       {std::pair("level=loud", "no level 'loud'"), std::pair("exitcode=256", "no exit code"),
        std::pair("exitcode=", "no exit code"), std::pair("stacks=2", "not 0 or 1"),
        std::pair("json=", "name of a file"), std::pair("", "'' is not understood"),
        std::pair("suppressions=/nowhere/at/all", "cannot be read"),
        std::pair("fast", "'fast' is not understood"),
        std::pair("off=read-without-fences", "is it read-without-fence?")}) {
    const auto settings = SanitizerSettings::parse(text);
    ASSERT_FALSE(settings) << text;
    EXPECT_NE(settings.error().message.find(words), std::string::npos) << settings.error().message;
  }
}

TEST(Suppressions, FitTheCallsThatTheyName) {
  const auto read = Suppressions::parse(
      "# what we know of\n\n  read-without-fence:post_reply at *server.c\nno-ack-timeout:*\n");
  ASSERT_TRUE(read) << read.error().message;
  const Suppressions& known = read.value();
  const std::vector<std::string> calls = {"post at io.c:3", "post_reply at lib/server.c:31"};
  EXPECT_TRUE(known.covers(Finding::kReadWithoutFence, calls));
  EXPECT_FALSE(
      known.covers(Finding::kReadWithoutFence, std::vector<std::string>{"post_reply at client.c:31"}));
  EXPECT_FALSE(known.covers(Finding::kReadWithoutFence, {}));
  EXPECT_FALSE(known.covers(Finding::kFenceOnTheWrongRequest, calls));
  EXPECT_TRUE(known.covers(Finding::kNoAckTimeout, {})) << "without calls, too";
  EXPECT_TRUE(known.has_any_of(Finding::kNoAckTimeout));
  EXPECT_FALSE(known.has_any_of(Finding::kMisalignedAtomic));
}

TEST(Suppressions, SayWhichLineIsWrong) {
  for (const auto& [text, words] : {std::pair("\nread-without-fence\n", "line 2"),
                                    std::pair("read-without-fence:", "is not FINDING:PATTERN"),
                                    std::pair("read-without-fences:*", "is it read-without-fence?")}) {
    const auto read = Suppressions::parse(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message.find(words), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace urnic::verbs_api
