// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "tools/conformance/conform/agent/agent_reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/conformance/conform/agent/verbs_numbers.h"

namespace urnic::conform {
namespace {

using ::testing::ElementsAre;

TEST(AgentReply, HasWordsAndNamedNumbers) {
  const auto reply = parse_reply("ok 3 address=4096 rkey=17");
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->is_ok);
  EXPECT_THAT(reply->words, ElementsAre("3", "address=4096", "rkey=17"));
  EXPECT_EQ(reply->number("address"), 4096u);
  EXPECT_EQ(reply->number("key"), std::nullopt) << "the end of a name is not the name";
  EXPECT_EQ(reply->number("lkey"), std::nullopt);
}

TEST(AgentReply, MayBeAnError) {
  const auto reply = parse_reply("error ibv_reg_mr: no");
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->is_ok);
  EXPECT_EQ(reply->error, "ibv_reg_mr: no");
}

TEST(AgentReply, IsNothingElse) {
  for (const char* line : {"", "okay", "HTTP/1.1 400 Bad Request", "error", "SSH-2.0-OpenSSH"}) {
    EXPECT_FALSE(parse_reply(line)) << line;
  }
}

TEST(AgentReply, ReadsHexadecimalDigitsAlone) {
  ASSERT_TRUE(read_hex("00ff7a"));
  EXPECT_EQ(read_hex("00ff7a")->at(1), std::byte{0xff});
  EXPECT_FALSE(read_hex("0"));
  EXPECT_FALSE(read_hex("0g"));
  EXPECT_FALSE(read_hex("-1"));
  EXPECT_TRUE(read_hex("")->empty());
}

// Numbers of enum ibv_wc_status and ibv_wc_opcode, as <infiniband/verbs.h> counts them.
TEST(VerbsNumbers, AreThoseOfLibibverbs) {
  const auto refused = read_completion(*parse_reply("ok id=5 status=10 vendor=0"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->wr_id, 5u);
  EXPECT_EQ(name_of(refused->status), "REM_ACCESS_ERR");
  EXPECT_EQ(name_of(read_completion(*parse_reply("ok id=5 status=13"))->status), "RNR_RETRY_EXC_ERR");
  const auto received = read_completion(*parse_reply("ok id=1 status=0 vendor=0 opcode=129 length=8 imm=1"));
  ASSERT_TRUE(received);
  EXPECT_EQ(name_of(received->opcode), "RECV_WRITE_IMM");
  EXPECT_TRUE(received->has_immediate);
  EXPECT_FALSE(read_completion(*parse_reply("ok")));
  EXPECT_FALSE(read_completion(*parse_reply("ok id=5 status=77")));
  EXPECT_EQ(event_name(4), "COMM_EST");
  EXPECT_EQ(event_name(16), "LAST_WQE_REACHED");
  EXPECT_EQ(event_name(9), "") << "the port became active";
}

}  // namespace
}  // namespace urnic::conform
