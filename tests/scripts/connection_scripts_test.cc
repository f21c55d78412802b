// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Whether the scripts about connections can be trusted: they read and write messages as others do, and a
// wrong behaviour does not pass.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/scripts/connections/rdma_cm_stage.h"
#include "tests/unit/nic/cm/captured_mads.h"
#include "tests/unit/nic/cm/captured_messages.h"
#include "tools/conformance/script/connections/dialect.h"
#include "tools/conformance/script/connections/mad.h"
#include "tools/conformance/script/connections/vocabulary.h"

namespace urnic::scripts::connections {
namespace {

using nic::cm::CapturedMad;
using ::testing::HasSubstr;

// --- The codec ---

Mad mad_of(const transport::test::Bytes& bytes) {
  std::array<std::byte, Mad::kBytes> octets{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), octets.size()), octets.begin());
  return Mad::of(octets);
}

/// Our name of a field that captured_messages.h calls otherwise.
std::string name_here(const std::string& message, std::string name) {
  static const std::map<std::string, std::string> kOthers = {
      {"remote", "remote-id"},    {"type", "transport"}, {"rnr", "rnr-retries"},
      {"class", "traffic-class"}, {"hops", "hop-limit"}, {"label", "flow-label"},
      {"service", "service-id"},  {"eec", "eecn"},       {"length", "info-length"}};
  if (name == "local") return message.starts_with("SIDR") ? "request-id" : "local-id";
  const auto other = kOthers.find(name);
  if (other != kOthers.end()) return other->second;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string hexadecimal(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  // Zeros at the end are left out there.
  while (text.ends_with("00")) text.resize(text.size() - 2);
  return text;
}

std::string address_text(std::span<const std::byte> address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, address.data(), text.data(), text.size());
  return text.data();
}

/// A field by its name in captured_messages.h, as it is written there.
std::string field_of(const Mad& mad, const std::string& name) {
  const std::string message(mad.name());
  if (name == "from") return address_text(mad.address("local-gid"));
  if (name == "to") return address_text(mad.address("remote-gid"));
  if (name == "information") return mad.get("info") == 0 ? "" : fmt::format("{:016x}", mad.get("info"));
  if (name == "private") {
    // There, rdma_cm's 36 bytes are part of it.
    const std::size_t header = message == "REQ" || message == "SIDR_REQ" ? 36 : 0;
    return hexadecimal(mad.bytes().last(mad.private_data().size() + header));
  }
  return fmt::format("{:x}", mad.get(name_here(message, name)));
}

TEST(ConnectionScriptMads, HaveTheFieldsThatTsharkSees) {
  std::size_t compared = 0;
  for (const auto& [where, text] : nic::cm::captured_messages()) {
    const std::string capture = where.substr(0, where.find(' '));
    const std::size_t frame = std::stoul(where.substr(where.find(' ') + 1));
    for (const CapturedMad& captured : nic::cm::mads_in(capture)) {
      if (captured.frame != frame) continue;
      SCOPED_TRACE(where);
      const Mad mad = mad_of(captured.bytes);
      std::istringstream words(text);
      std::string word;
      words >> word;
      ASSERT_EQ(mad.name(), word);
      while (words >> word) {
        const std::string name = word.substr(0, word.find('='));
        EXPECT_EQ(field_of(mad, name), word.substr(word.find('=') + 1)) << name;
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 90u) << "the captures of this tree";
}

TEST(ConnectionScriptMads, AreTheBytesThatLinuxSends) {
  std::set<std::string> seen;
  for (const char* const capture : {"rping_ipv6", "cm_reject", "udaddy"}) {
    for (const CapturedMad& captured : nic::cm::mads_in(capture)) {
      const Mad mad = mad_of(captured.bytes);
      EXPECT_EQ(mad.fault(), "") << capture << ' ' << captured.frame;
      seen.emplace(mad.name());
      // Written from its fields alone.
      Mad again = *Mad::named(mad.name());
      for (std::string_view field :
           {"tid",         "local-id",   "remote-id", "request-id",  "service-id",     "guid",
            "qpn",         "psn",        "resources", "depth",       "remote-timeout", "local-timeout",
            "retries",     "pkey",       "mtu",       "rnr-retries", "cm-retries",     "local-lid",
            "remote-lid",  "flow-label", "hop-limit", "ack-timeout", "ack-delay",      "ip-version",
            "source-port", "reason",     "qkey"}) {
        if (mad.has(field)) again.set(field, mad.get(field));
      }
      for (std::string_view field : {"local-gid", "remote-gid", "source", "destination"}) {
        again.set_address(field, mad.address(field));
      }
      EXPECT_EQ(again, mad) << capture << ' ' << captured.frame << ": " << again.describe();
    }
  }
  EXPECT_EQ(seen,
            (std::set<std::string>{"REQ", "REP", "RTU", "REJ", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP"}));
}

TEST(ConnectionScriptMads, NoticeWhatIsReserved) {
  for (const std::string_view name : mad_names()) {
    Mad mad = *Mad::named(name);
    EXPECT_EQ(mad.fault(), "") << name;
    mad.set("base-version", 2);
    EXPECT_THAT(mad.fault(), HasSubstr("byte 0 is 02")) << name;
  }
  std::array<std::byte, Mad::kBytes> bytes{};
  const Mad req = *Mad::named("REQ");
  std::copy(req.bytes().begin(), req.bytes().end(), bytes.begin());
  bytes[24 + 4] = std::byte{1};
  EXPECT_THAT(Mad::of(bytes).fault(), HasSubstr("byte 28 is 01"));
}

// --- The parser ---

constexpr const char* kFirstLine = "# Something -- fact 44\n";

std::string refused(const std::string& lines) {
  const auto script = parse_connection_script(kFirstLine + lines);
  if (script) return "none";
  return std::to_string(script.error().line) + ": " + script.error().message;
}

TEST(ConnectionScriptParser, SaysWhereAndWhy) {
  EXPECT_EQ(refused("post send id=1"), "2: no line begins with 'post'");
  EXPECT_EQ(refused("listen\nover ipv6"), "3: 'over' is a setting: settings come before everything else");
  EXPECT_EQ(refused("< SEND_ONLY"), "2: there is no message 'SEND_ONLY'");
  EXPECT_EQ(refused("< RTU qpn=1"), "2: RTU carries no 'qpn'");
  EXPECT_EQ(refused("< REP port=1"), "2: REP carries no 'port'");
  EXPECT_EQ(refused("< REP source=peer"), "2: REP carries no 'source'");
  EXPECT_EQ(refused("< REQ length=5"), "2: '<' knows no 'length'");
  EXPECT_EQ(refused("< REQ qpn=0x1000000"), "2: qpn: 0x1000000 is more than 16777215, the most that fits");
  EXPECT_EQ(refused("accept errno=EIO"),
            "2: errno: 'EIO' is none of EINVAL, ENOENT, EISCONN, EADDRINUSE, ETIMEDOUT");
  EXPECT_THAT(refused("state CLOSED"), HasSubstr("2: state: 'CLOSED' is none of REQ_SENT"));
}

// --- The documentation ---

TEST(ConnectionScriptVocabulary, IsDocumented) {
  std::ifstream file(URNIC_CONNECTION_SCRIPTS_README);
  std::set<std::string> documented;
  std::string word;
  for (char c; file.get(c);) {
    const bool is_part = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                         std::string_view("-_<>+").find(c) != std::string::npos;
    if (is_part) {
      word += c;
    } else if (!word.empty()) {
      documented.insert(std::exchange(word, {}));
    }
  }
  for (const VerbRule& verb : verbs()) {
    EXPECT_TRUE(documented.contains(std::string(verb.word == "+" ? "+1ms" : verb.word))) << verb.word;
    for (const ValueRule& field : verb.fields) {
      EXPECT_TRUE(documented.contains(std::string(field.name))) << verb.word << ' ' << field.name;
      for (const std::string_view choice : field.choices) {
        EXPECT_TRUE(documented.contains(std::string(choice))) << field.name << ' ' << choice;
      }
    }
    for (const std::string_view choice : verb.subject.choices) {
      EXPECT_TRUE(documented.contains(std::string(choice))) << verb.word << ' ' << choice;
    }
  }
  for (const std::string_view name : mad_names()) {
    EXPECT_TRUE(documented.contains(std::string(name))) << name;
    for (const std::string_view field : Mad::named(name)->numbers()) {
      EXPECT_TRUE(documented.contains(std::string(field))) << name << ' ' << field;
    }
  }
}

// --- The runner ---

/// Where and why the script fails; "passed" if it does not.
std::string outcome_of_lines(const std::string& lines) {
  const auto script = parse_connection_script(kFirstLine + lines);
  EXPECT_TRUE(script) << script.error().message;
  if (!script) return "refused";
  const Outcome outcome = run_connection_script(script.value());
  if (!outcome.failure) return "passed";
  return std::to_string(outcome.failure->line) + ": " + outcome.failure->message;
}

constexpr const char* kAsked = "listen\n< REQ tid=5 local-id=6\nevent CONNECT_REQUEST\n";

TEST(ConnectionScriptRunner, PassesWhatIsRight) {
  EXPECT_EQ(outcome_of_lines(std::string(kAsked) +
                             "accept qpn=7\n> REP tid=5 remote-id=6 qpn=7\ntimer 4.294967296s"),
            "passed");
}

TEST(ConnectionScriptRunner, NoticesWhatNothingExpected) {
  const std::string lines = kAsked;
  EXPECT_THAT(outcome_of_lines("listen\n< REQ"),
              HasSubstr("0: this came, and nothing expected it: event CONNECT_REQUEST"));
  EXPECT_THAT(outcome_of_lines("listen\n< REQ\n+1s"), HasSubstr("4: before this, this came"));
  EXPECT_THAT(outcome_of_lines(lines + "accept"), HasSubstr("0: this came, and nothing expected it: > REP"));
  EXPECT_THAT(outcome_of_lines(lines + "accept\nsilence"), HasSubstr("6: this came: > REP"));
}

TEST(ConnectionScriptRunner, NoticesWhatDidNotCome) {
  const std::string lines = kAsked;
  EXPECT_EQ(outcome_of_lines("> REP"), "2: no message came");
  EXPECT_EQ(outcome_of_lines("event ESTABLISHED"), "2: no event came");
  EXPECT_EQ(outcome_of_lines("timer 1ms"), "2: no timer runs");
  EXPECT_EQ(outcome_of_lines("listen\nlisten id=second"),
            "3: the call fails: 10.77.0.2:7174 is in use by this program");
  EXPECT_EQ(outcome_of_lines("listen errno=EINVAL"), "2: the call succeeds");
  EXPECT_EQ(outcome_of_lines(lines + "accept\n> REP\n+5s\n> REP times=2"), "8: 1 messages came");
}

TEST(ConnectionScriptRunner, NoticesWhatIsOtherwise) {
  const std::string lines = std::string(kAsked) + "accept qpn=7 private=0102\n";
  EXPECT_THAT(outcome_of_lines(lines + "> RTU"), HasSubstr("not a RTU\n  came: REP"));
  EXPECT_THAT(outcome_of_lines(lines + "> REP qpn=8"), HasSubstr("qpn is 7, expected 8"));
  EXPECT_THAT(outcome_of_lines(lines + "> REP tid=6"), HasSubstr("tid is 5, expected 6"));
  EXPECT_THAT(outcome_of_lines(lines + "> REP private=0103"), HasSubstr("private data differ from byte 1"));
  EXPECT_THAT(outcome_of_lines(lines + "> REP private=01"), HasSubstr("private data differ from byte 1"));
  EXPECT_THAT(outcome_of_lines(lines + "> REP to=stranger"), HasSubstr("it does not go to the stranger"));
  EXPECT_THAT(outcome_of_lines(lines + "> REP local-id=own\n+5s\n> REP local-id=own after=5s"),
              HasSubstr("it comes 4294967296 ns after the message before it"));
  EXPECT_THAT(outcome_of_lines(lines + "> REP local-id=own\n< RTU remote-id=own\nevent DISCONNECTED"),
              HasSubstr("another event\n  came: event ESTABLISHED"));
  EXPECT_THAT(outcome_of_lines(lines + "> REP\ntimer none"), HasSubstr("a timer expires in 4294967296 ns"));
  EXPECT_THAT(outcome_of_lines(lines + "> REP\nstate ESTABLISHED"), HasSubstr("the state is REP_SENT"));
  EXPECT_THAT(outcome_of_lines(lines + "> REP\nattributes RTS send-psn=101"),
              HasSubstr("send-psn is 100, expected 101"));
  EXPECT_THAT(outcome_of_lines(lines + "> REP\nconnections 2"), HasSubstr("there are 1"));
  EXPECT_THAT(outcome_of_lines("listen\n< REQ\nevent CONNECT_REQUEST qpn=1"),
              HasSubstr("qpn is 34, expected 1"));
  EXPECT_THAT(outcome_of_lines("listen\n< REQ\nevent CONNECT_REQUEST status=1"),
              HasSubstr("status is 0, expected 1"));
}

TEST(ConnectionScriptRunner, ComparesMessagesThatAreSentAgain) {
  const std::string lines = std::string(kAsked) + "accept\n> REP\n< RTU\nevent ESTABLISHED\ndisconnect\n";
  EXPECT_THAT(outcome_of_lines(lines + "> DREQ again"),
              HasSubstr("it is not the message that was taken before"));
  EXPECT_EQ(outcome_of_lines(lines + "> DREQ\n+5s\n> DREQ again"), "passed");
}

TEST(ConnectionScriptRunner, StopsScriptsThatDoTooMuch) {
  std::string lines;
  for (int i = 1; i < 450; ++i) {
    lines += fmt::format("connect id=c{} from-port={}\n> REQ\n", i, i);
  }
  EXPECT_EQ(outcome_of_lines(lines), "passed");
  EXPECT_THAT(outcome_of_lines(lines + "+100s"), HasSubstr("more than 5000 messages and timers"));
}

}  // namespace
}  // namespace urnic::scripts::connections
