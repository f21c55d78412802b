// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Whether the scripts can be trusted: they read and write packets as others do, and a wrong behaviour does
// not pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/scripts/transport_stage.h"
#include "tests/support/capture_folders.h"
#include "tests/support/pcap_file.h"
#include "tools/conformance/script/packet_text.h"
#include "tools/conformance/script/parser.h"
#include "tools/conformance/script/vocabulary.h"

namespace urnic::scripts {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHeading = "# Something -- fact 1\n";

// --- The codec ---

/// BTH to padding of a RoCEv2 frame as rdma_rxe sends it: no VLAN tag, no IP options, the length is UDP's
/// (fact 4).
std::span<const std::byte> packet_of(const Octets& frame) {
  const bool is_ipv6 = frame.at(12) == std::byte{0x86};
  const std::size_t udp = is_ipv6 ? 54 : 34;
  const bool is_udp = frame.at(is_ipv6 ? 20 : 23) == std::byte{17} && frame.size() >= udp + 8 + 12 + 4;
  if (!is_udp || frame.at(udp + 2) != std::byte{0x12} || frame.at(udp + 3) != std::byte{0xb7}) return {};
  const std::size_t length =
      std::to_integer<std::size_t>(frame[udp + 4]) << 8 | std::to_integer<std::size_t>(frame[udp + 5]);
  return std::span(frame).subspan(udp + 8, length - 8 - 4);
}

std::map<std::string, int> names_in(const std::string& capture) {
  std::map<std::string, int> names;
  const auto frames = urnic::test::read_pcap(urnic::test::fixtures() / (capture + ".pcap"));
  EXPECT_TRUE(frames);
  if (!frames) return names;
  for (const auto& frame : frames.value()) {
    const auto bytes = packet_of(frame.bytes);
    if (bytes.empty()) continue;
    const Decoded decoded = decode(bytes);
    EXPECT_EQ(decoded.fault, "") << capture;
    EXPECT_EQ(encode(decoded.packet), Octets(bytes.begin(), bytes.end()))
        << capture << ": " << describe(decoded.packet);
    ++names[std::string(decoded.packet.name())];
  }
  return names;
}

TEST(ScriptPackets, AreTheBytesThatLinuxSends) {
  EXPECT_EQ(names_in("vs_sizes")["READ_RESPONSE_ONLY"], 4);
  EXPECT_EQ(names_in("vs_imm_inv")["SEND_ONLY_INV"], 1);
  EXPECT_EQ(names_in("vs_imm_inv")["NAK_REMOTE_ACCESS"], 1);
  EXPECT_EQ(names_in("vs_atomics")["FETCH_ADD"], 3);
  EXPECT_EQ(names_in("vs_atomics")["CMP_SWAP"], 2);
  EXPECT_EQ(names_in("vs_write_badkey")["NAK_REMOTE_ACCESS"], 1);
  EXPECT_EQ(names_in("vs_send_toolong")["NAK_REMOTE_OPERATION"], 1);
  EXPECT_GT(names_in("vs_rnr")["RNR_NAK"], 0);
  EXPECT_GT(names_in("vs_loss_requests")["NAK_SEQUENCE"], 0);
  EXPECT_GT(names_in("vs_loss_uc")["WRITE_LAST_IMM"], 0);
  EXPECT_EQ(names_in("vs_ud")["SEND_ONLY_IMM"], 3);
  EXPECT_EQ(names_in("vs_ud_ipv6")["SEND_ONLY"], 2);
}

// vs_sizes.pcap, frame 1, by tshark: RC SEND Only, no payload, PSN 4681429, QP 0x2c, AckReq.
TEST(ScriptPackets, HaveTheFieldsThatTsharkSees) {
  const auto frames = urnic::test::read_pcap(urnic::test::fixtures() / "vs_sizes.pcap");
  ASSERT_TRUE(frames);
  const PacketFields packet = decode(packet_of(frames.value().front().bytes)).packet;
  EXPECT_EQ(packet.name(), "SEND_ONLY");
  EXPECT_EQ(packet.psn, 4681429u);
  EXPECT_EQ(packet.dst, 0x2cu);
  EXPECT_EQ(packet.ackreq, 1u);
  EXPECT_EQ(packet.mig, 0u);
}

// --- The parser ---

std::string refusal(const std::string& lines) {
  const auto script = parse_script(kHeading + lines);
  if (script) return "none";
  return std::to_string(script.error().line) + ": " + script.error().message;
}

TEST(ScriptParser, SaysWhereAndWhy) {
  EXPECT_EQ(refusal("\nhello"), "3: no line begins with 'hello'");
  EXPECT_EQ(refusal("timeout 32"), "2: timeout: 32 is more than 31, the most that fits");
  EXPECT_EQ(refusal("silence\nmtu 256"), "3: 'mtu' is a setting: settings come before everything else");
  EXPECT_EQ(refusal("mtu 1000"), "2: mtu: '1000' is none of 256, 512, 1024, 2048, 4096");
  EXPECT_EQ(refusal("post send length=5"), "2: 'post' needs id=...");
  EXPECT_EQ(refusal("receive id=1 id=2"), "2: 'id' occurs twice");
  EXPECT_EQ(refusal("receive id=1 size=2"), "2: 'receive' knows no 'size'");
  EXPECT_EQ(refusal("< SEND_ONLY"), "2: '<' needs psn=...");
  EXPECT_EQ(refusal("< SEND psn=1"), "2: there is no packet 'SEND'");
  EXPECT_EQ(refusal("< SEND_ONLY psn=1 imm=2"), "2: SEND_ONLY carries no 'imm'");
  EXPECT_EQ(refusal("< ACK psn=1 len=2"), "2: ACK carries no payload");
  EXPECT_EQ(refusal("< SEND_ONLY psn=0x1000000"),
            "2: psn: '0x1000000' is not a PSN or a range of them (100..104), 24 bits");
  EXPECT_EQ(refusal("service uc\n< ACK psn=1"), "3: this service has no ACK");
  EXPECT_EQ(refusal("+0.5ns"), "2: +: '0.5ns' is not a time in ns, us, ms or s, exact to a nanosecond");
  EXPECT_EQ(refusal("event NOTHING"),
            "2: event: 'NOTHING' is none of QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR, COMM_EST, "
            "SQ_DRAINED, LAST_WQE_REACHED, SRQ_LIMIT_REACHED");
  EXPECT_EQ(refusal("counter nothing=1"), "2: 'counter' knows no 'nothing'");
}

TEST(ScriptParser, WantsToKnowWhatIsVerifiedAndWhy) {
  for (const char* text : {"", "silence\n", "# Something\nsilence\n", "# Something -- because\nsilence\n",
                           "# -- fact 1\nsilence\n"}) {
    const auto script = parse_script(text);
    ASSERT_FALSE(script) << text;
    EXPECT_EQ(script.error().line, 1u);
  }
}

TEST(ScriptParser, ReadsTimesExactly) {
  const auto script = parse_script(std::string(kHeading) + "+67.108864ms\n+4s\n+8.192us\n+0ns");
  ASSERT_TRUE(script);
  const auto time = [&](std::size_t i) {
    return std::get<transport::Duration>(*script.value().statements[i].subject).count();
  };
  EXPECT_EQ(time(0), 67108864);
  EXPECT_EQ(time(1), 4000000000);
  EXPECT_EQ(time(2), 8192);
  EXPECT_EQ(time(3), 0);
}

// --- The documentation ---

/// The words between backquotes, cut at everything that is not part of a name.
std::set<std::string> words_of_readme() {
  std::ifstream file(URNIC_SCRIPTS_README);
  std::set<std::string> words;
  std::string word;
  for (char c; file.get(c);) {
    const bool is_part = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ||
                         c == '<' || c == '>' || c == '+';
    if (is_part) {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  return words;
}

TEST(ScriptVocabulary, IsDocumented) {
  const std::set<std::string> documented = words_of_readme();
  for (const VerbRule& verb : verbs()) {
    const std::string word(verb.word == "+" ? "+1ms" : verb.word);
    EXPECT_TRUE(documented.contains(word)) << verb.word;
    for (const ValueRule& field : verb.fields) {
      EXPECT_TRUE(documented.contains(std::string(field.name))) << verb.word << " " << field.name;
    }
    for (const std::string_view choice : verb.subject.choices) {
      EXPECT_TRUE(documented.contains(std::string(choice))) << verb.word << " " << choice;
    }
  }
}

// --- The runner ---

/// Where and why the script fails; "passed" if it does not.
std::string outcome_of(const std::string& lines) {
  const auto script = parse_script(kHeading + lines);
  EXPECT_TRUE(script) << script.error().message;
  if (!script) return "refused";
  const Outcome outcome = run_script(script.value());
  if (!outcome.failure) return "passed";
  return std::to_string(outcome.failure->line) + ": " + outcome.failure->message;
}

constexpr const char* kRequest = "receive id=7\n< SEND_ONLY psn=100 len=10 ackreq\n";

TEST(ScriptRunner, PassesWhatIsRight) {
  EXPECT_EQ(
      outcome_of(std::string(kRequest) + "> ACK psn=100 msn=1\nrcqe id=7 len=10\ncheck buffers+0:10 psn=100"),
      "passed");
}

TEST(ScriptRunner, NoticesWhatNobodyExpected) {
  EXPECT_THAT(outcome_of(std::string(kRequest) + "rcqe id=7"),
              HasSubstr("0: this came, and nothing expected it: > ACK psn=100"));
  EXPECT_THAT(outcome_of(std::string(kRequest) + "> ACK"),
              HasSubstr("0: this came, and nothing expected it: rcqe id=7"));
  EXPECT_THAT(outcome_of(std::string(kRequest) + "rcqe id=7\n+1ms\n> ACK"),
              HasSubstr("5: before this, this came"));
  EXPECT_THAT(outcome_of(std::string(kRequest) + "silence"), HasSubstr("4: this came: > ACK"));
  EXPECT_THAT(outcome_of("start RTR\n" + std::string(kRequest) + "> ACK\nrcqe id=7"),
              HasSubstr("event COMM_EST"));
}

TEST(ScriptRunner, NoticesWhatDidNotCome) {
  EXPECT_EQ(outcome_of("> ACK"), "2: no packet came");
  EXPECT_EQ(outcome_of("cqe id=1"), "2: no completion of a send came");
  EXPECT_EQ(outcome_of("rcqe id=1"), "2: no completion of a receive came");
  EXPECT_EQ(outcome_of("event COMM_EST"), "2: no event came");
  EXPECT_EQ(outcome_of("timer 1ms"), "2: no timer runs");
}

TEST(ScriptRunner, NoticesWhatIsOtherwise) {
  const std::string lines = kRequest;
  EXPECT_THAT(outcome_of(lines + "> ACK psn=101"), HasSubstr("psn is 100, expected 101"));
  EXPECT_THAT(outcome_of(lines + "> ACK msn=2"), HasSubstr("msn is 1, expected 2"));
  EXPECT_THAT(outcome_of(lines + "> NAK_SEQUENCE"), HasSubstr("not a NAK_SEQUENCE\n  came: ACK"));
  EXPECT_THAT(outcome_of(lines + "> ACK\nrcqe id=8"), HasSubstr("id is 7, expected 8"));
  EXPECT_THAT(outcome_of(lines + "> ACK\nrcqe id=7 len=9"), HasSubstr("len is 10, expected 9"));
  EXPECT_THAT(outcome_of(lines + "> ACK\nrcqe id=7 imm=9"), HasSubstr("has-imm is 0, expected 1"));
  EXPECT_THAT(outcome_of(lines + "> ACK\nrcqe id=7 status=WR_FLUSH_ERR"), HasSubstr("status is SUCCESS"));
  EXPECT_THAT(outcome_of(lines + "> ACK\nrcqe id=7\ncheck buffers+0:10 psn=101"),
              HasSubstr("memory differs from byte 0"));
  EXPECT_THAT(outcome_of(lines + "> ACK\nrcqe id=7\ncheck buffers+9:2 untouched"),
              HasSubstr("memory differs from byte 0"));
  EXPECT_THAT(outcome_of(lines + "> ACK\nrcqe id=7\nstate ERR"), HasSubstr("the state is RTS"));
  EXPECT_THAT(outcome_of(lines + "> ACK\nrcqe id=7\ncounter rcvd_rnr_err=1"), HasSubstr("rcvd_rnr_err is 0"));
  EXPECT_THAT(outcome_of("post send id=1 length=5\n> SEND_ONLY data=local+1"),
              HasSubstr("payload differs from byte 0"));
  EXPECT_THAT(outcome_of("post send id=1 length=5\n> SEND_ONLY len=6"), HasSubstr("len is 5, expected 6"));
  EXPECT_THAT(outcome_of("post send id=1 length=5\n> SEND_ONLY\ntimer 67ms"),
              HasSubstr("expires in 67108864 ns"));
}

TEST(ScriptRunner, StopsScriptsThatDoTooMuch) {
  std::string lines = "resources 128\n";
  for (int i = 0; i < 900; ++i) {
    lines += "< READ_REQUEST psn=" + std::to_string(100 + 128 * i) +
             " to=shared+0 dmalen=128KiB\n> READ_RESPONSE_FIRST\n> READ_RESPONSE_MIDDLE psn=" +
             std::to_string(101 + 128 * i) + ".." + std::to_string(100 + 128 * i + 126) +
             "\n> READ_RESPONSE_LAST\n";
  }
  lines.resize(lines.find("\n", lines.size() / 4) + 1);
  EXPECT_THAT(outcome_of(lines), HasSubstr("more than 20000 packets and timers"));
}

}  // namespace
}  // namespace urnic::scripts
