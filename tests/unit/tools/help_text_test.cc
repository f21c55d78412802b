// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/command/help_text.h"

#include <gmock/gmock.h>

#include <string>

namespace urnic::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

auto item(const std::string& term, const std::string& meaning) {
  return ::testing::AllOf(Field(&HelpItem::term, term), Field(&HelpItem::meaning, meaning));
}

TEST(HelpText, IsNothingOfNothing) {
  const HelpText text = read_help_text("");
  EXPECT_THAT(text.description, IsEmpty());
  EXPECT_THAT(text.examples, IsEmpty());
  EXPECT_EQ(text.exit_code, "");
}

TEST(HelpText, TakesTheExitCodeOut) {
  const HelpText text = read_help_text("Looks at\nthis host.\n\nExit code: 0 fine, 1\nnot.");
  ASSERT_THAT(text.description, SizeIs(1));
  EXPECT_EQ(text.description[0].paragraph, "Looks at\nthis host.");
  EXPECT_EQ(text.exit_code, "0 fine, 1\nnot.");
}

TEST(HelpText, ReadsItemsWithTheirFurtherLines) {
  const HelpText text = read_help_text(
      "Ports:\n"
      "  host[,each][,unsegmented]\n"
      "               the host's own\n"
      "               network\n"
      "  fabric[:NAM] a switch, whose term ends with one space\n"
      "  loopback     this program alone\n"
      "And more.");
  ASSERT_THAT(text.description, SizeIs(2));
  EXPECT_EQ(text.description[0].paragraph, "Ports:");
  EXPECT_THAT(text.description[0].items,
              ElementsAre(item("host[,each][,unsegmented]", "the host's own\nnetwork"),
                          item("fabric[:NAM]", "a switch, whose term ends with one space"),
                          item("loopback", "this program alone")));
  EXPECT_EQ(text.description[1].paragraph, "And more.");
}

TEST(HelpText, LeavesItemsWithinItemsAsTheyAre) {
  const HelpText text = read_help_text("One object:\n  all   an array\n    one   a number\n  none  null");
  ASSERT_THAT(text.description, SizeIs(1));
  EXPECT_EQ(text.description[0].paragraph, "One object:");
  EXPECT_THAT(text.description[0].items, IsEmpty());
  EXPECT_EQ(text.description[0].table, "  all   an array\n    one   a number\n  none  null");
}

TEST(HelpText, TakesExamplesAndTheWordsThatLeadToThem) {
  const HelpText text = read_help_text(
      "It is a switch. You need this\ncommand only\n\n"
      "  urnic fabric status   to see it\n"
      "  urnic fabric stop\n\n"
      "It runs until Ctrl-C.");
  ASSERT_THAT(text.description, SizeIs(2));
  EXPECT_EQ(text.description[0].paragraph, "It is a switch.");
  EXPECT_EQ(text.description[1].paragraph, "It runs until Ctrl-C.");
  ASSERT_THAT(text.examples, SizeIs(1));
  EXPECT_EQ(text.examples[0].paragraph, "You need this\ncommand only");
  EXPECT_THAT(text.examples[0].items,
              ElementsAre(item("urnic fabric status", "to see it"), item("urnic fabric stop", "")));
}

TEST(HelpText, LeavesAParagraphAloneThatLeadsToNoExample) {
  const HelpText text = read_help_text("Judges captures.\n\n  urnic check a.pcap   what was wrong");
  ASSERT_THAT(text.description, SizeIs(1));
  EXPECT_EQ(text.description[0].paragraph, "Judges captures.");
  ASSERT_THAT(text.examples, SizeIs(1));
  EXPECT_EQ(text.examples[0].paragraph, "");
}

TEST(HelpText, TakesAWholeParagraphThatLeadsToExamples) {
  const HelpText text = read_help_text("Packages install it; otherwise\n\n  urnic completion zsh >_urnic");
  EXPECT_THAT(text.description, IsEmpty());
  ASSERT_THAT(text.examples, SizeIs(1));
  EXPECT_EQ(text.examples[0].paragraph, "Packages install it; otherwise");
}

TEST(HelpText, LeavesATableBeforeExamplesWhereItIs) {
  const HelpText text = read_help_text("Words:\n  a  one\n    b  two\n\n  urnic stat   all of them");
  ASSERT_THAT(text.description, SizeIs(1));
  EXPECT_EQ(text.description[0].table, "  a  one\n    b  two");
  EXPECT_THAT(text.examples, SizeIs(1));
}

}  // namespace
}  // namespace urnic::tools
