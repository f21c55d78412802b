// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Each name of the product's tables is explained: a row that is added without a text fails here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nic/adversary/behavior.h"
#include "nic/personality/table.h"
#include "nic/personality/vendor_error.h"
#include "tools/conformance/check/findings/rule.h"
#include "tools/teaching/explain/advice.h"
#include "tools/teaching/explain/topic.h"
#include "transport/completion.h"
#include "transport/enum_names.h"
#include "verbs_api/datapath/wc_status.h"
#include "verbs_api/sanitizer/finding.h"

namespace urnic::explain {
namespace {

using Names = std::set<std::string_view>;

Names names_of(std::span<const Advice> all) {
  Names names;
  for (const Advice& advice : all) EXPECT_TRUE(names.insert(advice.name).second) << advice.name;
  return names;
}

Names names_of_rows() {
  Names names;
  nic::for_each_row([&](const nic::Row& row) { names.insert(row.name); });
  return names;
}

template <typename Rows>
Names names_in(const Rows& rows) {
  Names names;
  for (const auto& row : rows) names.insert(row.name);
  return names;
}

Names names_of_statuses() {
  Names names;
  for (std::size_t i = 0; i < transport::count_of<transport::CompletionStatus>(); ++i) {
    names.insert(name_of(static_cast<transport::CompletionStatus>(i)));
  }
  return names;
}

TEST(Advice, IsThereForEachRowOfTheTablesAndForNothingElse) {
  EXPECT_EQ(names_of(advice_on_personalities()), names_of_rows());
  EXPECT_EQ(names_of(advice_on_what_is_not_imitated()), names_in(nic::not_imitated()));
  EXPECT_EQ(names_of(advice_on_behaviors()), names_in(nic::all_behaviors()));
  EXPECT_EQ(names_of(advice_on_statuses()), names_of_statuses());
}

TEST(Advice, HasWrongAndRightCodeOrSaysThatNothingCanBeDone) {
  for (const auto all : {advice_on_personalities(), advice_on_what_is_not_imitated(), advice_on_behaviors(),
                         advice_on_statuses()}) {
    for (const Advice& advice : all) {
      const verbs_api::Example code = code_of(advice);
      EXPECT_FALSE(advice.text.empty() || advice.text.ends_with('.')) << advice.name;
      EXPECT_EQ(code.wrong.empty(), code.right.empty()) << advice.name;
      EXPECT_EQ(code.wrong.empty(), advice.text.starts_with("nothing: ")) << advice.name;
      EXPECT_TRUE(code.wrong.empty() || code.wrong != code.right) << advice.name;
    }
  }
}

const Topic* find_topic(const std::vector<Chapter>& chapters, const std::string& name) {
  for (const Chapter& chapter : chapters) {
    for (const Topic& topic : chapter.topics) {
      if (topic.name == name || std::ranges::count(topic.other_names, name) > 0) return &topic;
    }
  }
  return nullptr;
}

TEST(Topics, HaveNamesOfTheirOwn) {
  const auto chapters = all_chapters();
  std::set<std::string> names;
  for (const Chapter& chapter : chapters) {
    EXPECT_FALSE(chapter.topics.empty()) << chapter.title;
    for (const Topic& topic : chapter.topics) {
      EXPECT_TRUE(names.insert(topic.name).second) << topic.name;
      for (const std::string& other : topic.other_names) EXPECT_TRUE(names.insert(other).second) << other;
      EXPECT_TRUE(topic.text.starts_with(topic.name) && topic.text.ends_with('\n')) << topic.name;
      EXPECT_FALSE(topic.summary.empty() || topic.kind.empty()) << topic.name;
    }
  }
}

TEST(Topics, AreThereForEachNameThatUrnicTells) {
  const auto chapters = all_chapters();
  const auto expect_all = [&](const Names& names) {
    EXPECT_FALSE(names.empty());
    for (const std::string_view name : names)
      EXPECT_NE(find_topic(chapters, std::string(name)), nullptr) << name;
  };
  expect_all(names_in(verbs_api::all_findings()));
  expect_all(names_of_rows());
  expect_all(names_in(nic::not_imitated()));
  expect_all(names_in(nic::all_behaviors()));
  expect_all(names_in(check::all_rules()));
  expect_all(names_of_statuses());
}

TEST(Topics, AreThereForEachStatusOfLibibverbsByItsNumber) {
  const auto chapters = all_chapters();
  for (unsigned number = 0; number <= IBV_WC_TM_RNDV_INCOMPLETE; ++number) {
    EXPECT_NE(find_topic(chapters, std::to_string(number)), nullptr) << number;
  }
}

TEST(Topics, SayWhichCardsGiveAVendorError) {
  const auto chapters = all_chapters();
  for (const nic::VendorErrorRow& row : nic::vendor_error_rows()) {
    const Topic* const topic = find_topic(chapters, std::to_string(row.number));
    ASSERT_NE(topic, nullptr) << row.number;
    EXPECT_NE(topic->text.find(row.cause), std::string::npos);
    EXPECT_NE(topic->text.find(name_of(row.status)), std::string::npos);
  }
  const Topic* const timeout = find_topic(chapters, "0x81");
  ASSERT_NE(timeout, nullptr);
  EXPECT_TRUE(timeout->text.starts_with("0x81, the vendor_err of connectx5 and connectx6\n"));
  const Topic* const status = find_topic(chapters, "RETRY_EXC_ERR");
  ASSERT_NE(status, nullptr);
  EXPECT_NE(status->text.find("0x81 of connectx5 and connectx6, 0x10008 of e810"), std::string::npos);
}

// What is unknown must not look as if it had been seen.
TEST(Topics, SayWhatEachColumnOfAPersonalityStandsOn) {
  const auto chapters = all_chapters();
  const Topic* const topic = find_topic(chapters, "ack-timers");
  ASSERT_NE(topic, nullptr);
  EXPECT_NE(topic->text.find("(unknown: as by default)"), std::string::npos);
  EXPECT_NE(topic->text.find("(measured: "), std::string::npos);
  EXPECT_NE(topic->text.find("(as connectx6)"), std::string::npos);
}

}  // namespace
}  // namespace urnic::explain
