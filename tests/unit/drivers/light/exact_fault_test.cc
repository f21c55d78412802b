// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "drivers/fault/exact_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "drivers/fault/fault_spec.h"
#include "tests/support/value_of.h"

namespace urnic::drivers::exact_fault {
namespace {

using testing::HasSubstr;
using transport::SyndromeKind;
using transport::to_integer;
using transport::wire::info;
using transport::wire::Opcode;

ExactFault parsed(std::string_view text) {
  return urnic::test::value_of(ExactFault::parse(text));
}

std::string refusal(std::string_view text) {
  const auto fault = ExactFault::parse(text);
  EXPECT_FALSE(fault) << text;
  EXPECT_TRUE(fault || fault.error().code == EINVAL);
  return fault ? "" : fault.error().message;
}

/// The names of the opcodes that it is for.
std::vector<std::string> opcodes_of(std::string_view text) {
  std::vector<std::string> names;
  const ExactFault fault = parsed(text);
  for (unsigned code = 0; code < 256; ++code) {
    if (fault.packets.opcodes.test(code)) names.emplace_back(info(static_cast<Opcode>(code)).name);
  }
  return names;
}

TEST(ExactFault, IsAboutTheFirstPacketUnlessMoreIsSaid) {
  const ExactFault fault = parsed("drop");
  EXPECT_EQ(fault.action, ExactFault::Action::kDrop);
  EXPECT_TRUE(fault.packets.opcodes.all());
  EXPECT_EQ(fault.nth, 1u);
  EXPECT_EQ(fault.times, 1u);
  EXPECT_EQ(fault.probability, 1);
}

TEST(ExactFault, ReadsEveryKey) {
  const ExactFault fault =
      parsed("reorder:kind=ack:qp=3:psn=7:again=yes:direction=rx:nth=2:times=5:p=0.25:by=9");
  EXPECT_EQ(fault.action, ExactFault::Action::kReorder);
  EXPECT_EQ(fault.packets.syndrome, SyndromeKind::kAcknowledge);
  EXPECT_EQ(fault.packets.queue_pair, 3u);
  EXPECT_EQ(fault.packets.psn, 7);
  EXPECT_EQ(fault.packets.is_again, true);
  EXPECT_EQ(fault.packets.way, Way::kReceived);
  EXPECT_EQ(fault.nth, 2u);
  EXPECT_EQ(fault.times, 5u);
  EXPECT_EQ(fault.probability, 0.25);
  EXPECT_EQ(fault.behind, 9u);
}

TEST(ExactFault, HitsAllPacketsThatTheDiceChooseUnlessTold) {
  EXPECT_EQ(parsed("drop:p=0.5").times, ExactFault::kAlways);
  EXPECT_EQ(parsed("drop:p=0.5:times=2").times, 2u);
  EXPECT_EQ(parsed("drop:times=all").times, ExactFault::kAlways);
}

TEST(ExactFault, KnowsOpcodesByNameAndNumber) {
  EXPECT_THAT(opcodes_of("drop:opcode=rc_send_middle"), testing::ElementsAre("RC SEND Middle"));
  EXPECT_THAT(opcodes_of("drop:opcode=send_middle"),
              testing::ElementsAre("RC SEND Middle", "UC SEND Middle", "XRC SEND Middle"));
  EXPECT_THAT(opcodes_of("drop:opcode=0x81"), testing::ElementsAre("CNP"));
  EXPECT_THAT(opcodes_of("drop:opcode=cnp"), testing::ElementsAre("CNP"));
  EXPECT_THAT(opcodes_of("drop:kind=read:opcode=rdma_read_request"),
              testing::ElementsAre("RC RDMA READ Request", "XRC RDMA READ Request"));
}

TEST(ExactFault, SortsEveryOpcodeIntoRequestsResponsesAndCnps) {
  const auto requests = parsed("drop:kind=request").packets.opcodes;
  const auto responses = parsed("drop:kind=response").packets.opcodes;
  const auto cnps = parsed("drop:kind=cnp").packets.opcodes;
  for (unsigned code = 0; code < 256; ++code) {
    const int count = requests.test(code) + responses.test(code) + cnps.test(code);
    EXPECT_EQ(count, info(static_cast<Opcode>(code)).exists() ? 1 : 0) << code;
  }
  Opcodes parts;
  for (const std::string_view kind : {"send", "write", "read", "atomic"}) {
    parts |= parsed("drop:kind=" + std::string(kind)).packets.opcodes;
  }
  EXPECT_EQ((requests & ~parts).count(), 2u) << "only FLUSH, of RC and XRC, has no word";
}

TEST(ExactFault, ReadsFieldsToSet) {
  const ExactFault fault = parsed("set:bth.psn=0x10:aeth.msn=9:kind=ack");
  ASSERT_EQ(fault.fields.size(), 2u);
  EXPECT_EQ(fault.fields[0].field->name, "bth.psn");
  EXPECT_EQ(fault.fields[0].value, 16u);
  EXPECT_EQ(fault.fields[1].value, 9u);
  EXPECT_TRUE(fault.is_icrc_right);
  EXPECT_FALSE(parsed("set:bth.psn=1:icrc=wrong").is_icrc_right);
  EXPECT_FALSE(parsed("corrupt").is_icrc_right);
  EXPECT_TRUE(parsed("corrupt:icrc=right:byte=12").is_icrc_right);
}

TEST(ExactFault, SaysWhatIsWrong) {
  struct Row {
    std::string_view text, says;
  };
  for (const Row& row : {
           Row{"lose:psn=7", "there are drop, dup"},
           {"drop:psn", "KEY=VALUE"},
           {"drop:psn=7:psn=8", "given twice"},
           {"drop:psn=-1", "psn: from 0"},
           {"drop:psn=8388608", "psn: from 0"},
           {"drop:qp=0", "from 1 to 1024"},
           {"drop:qp=1025", "from 1 to 1024"},
           {"drop:kind=gremlin", "there are request, response"},
           {"drop:opcode=send_sideways", "no opcode"},
           {"drop:opcode=0x100", "no opcode"},
           {"drop:kind=ack:opcode=send_only", "no opcode"},
           {"drop:again=maybe", "yes or no"},
           {"drop:direction=both", "tx or rx"},
           {"drop:nth=0", "nth"},
           {"drop:times=0", "times"},
           {"drop:p=0", "probability"},
           {"drop:p=1.5", "probability"},
           {"drop:p=nan", "probability"},
           {"drop:by=3", "no 'by' here"},
           {"drop:icrc=right", "no 'icrc' here"},
           {"drop:bth.psn=3", "no 'bth.psn' here"},
           {"reorder:by=65", "from 1 to 64"},
           {"delay", "by how much? by=TIME"},
           {"delay:by=0us", "up to 10s"},
           {"delay:by=11s", "up to 10s"},
           {"delay:by=5", "such as 500us or 2ms, not '5'"},
           {"drop:by=5us", "there is no 'by' here"},
           {"corrupt:icrc=left", "right or wrong"},
           {"corrupt:byte=70000", "byte"},
           {"set:kind=ack", "which field"},
           {"set:bth.color=3", "there is no field"},
           {"set:deth.qkey=3:aeth.msn=1", "no opcode"},
           {"set:bth.psn=0x1000000", "at most 24 bits"},
           {"set:bth.psn=", "at most 24 bits"},
           {"", "no such action"},
           {":", "no such action"},
       }) {
    EXPECT_THAT(refusal(row.text), HasSubstr(row.says)) << row.text;
  }
}

TEST(ExactFault, StandsBesideDiceInASpec) {
  const auto spec = FaultSpec::parse("loss=0.5,drop:psn=7,seed=3,dup:kind=ack");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec.value().exact.size(), 2u);
  EXPECT_EQ(spec.value().to_string(), "loss=0.5,seed=3,drop:psn=7,dup:kind=ack");
  EXPECT_FALSE(FaultSpec::parse("drop:psn=7,lose:psn=8"));
  EXPECT_FALSE(FaultSpec::parse("drop:psn=7,"));
  std::string many = "drop";
  for (int i = 0; i < 63; ++i) many += ",drop";
  EXPECT_TRUE(FaultSpec::parse(many));
  EXPECT_FALSE(FaultSpec::parse(many + ",drop"));
}

}  // namespace
}  // namespace urnic::drivers::exact_fault
