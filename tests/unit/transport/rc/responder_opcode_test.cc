// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Opcodes at the responder: those that may not follow one another, and those it does not have.
#include <array>
#include <string>
#include <vector>

#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

enum class Inside { kNothing, kSend, kWrite };

/// A packet that may not come where it comes.
struct Misplaced {
  const char* name;
  Inside inside;
  QpPacket packet;
};

const Bytes kFull = payload(1024);

/// All carry PSN 101, and follow a FIRST with PSN 100 or a complete SEND.
const std::vector<Misplaced> kMisplaced = {
    {"SendMiddleWithoutFirst", Inside::kNothing, send_middle(Psn(101), kFull)},
    {"SendLastWithoutFirst", Inside::kNothing, send_last(Psn(101), payload(1))},
    {"SendLastWithImmediateWithoutFirst", Inside::kNothing,
     send_last_with_immediate(Psn(101), payload(1), 7)},
    {"WriteMiddleWithoutFirst", Inside::kNothing, write_middle(Psn(101), kFull)},
    {"WriteLastWithoutFirst", Inside::kNothing, write_last(Psn(101), payload(1))},
    {"WriteLastWithImmediateWithoutFirst", Inside::kNothing,
     write_last_with_immediate(Psn(101), payload(1), 7)},
    {"SendFirstInsideSend", Inside::kSend, send_first(Psn(101), kFull)},
    {"SendOnlyInsideSend", Inside::kSend, send_only(Psn(101), payload(1))},
    {"SendOnlyWithImmediateInsideSend", Inside::kSend, send_only_with_immediate(Psn(101), payload(1), 7)},
    {"WriteFirstInsideSend", Inside::kSend, write_first(Psn(101), kFull, 2048)},
    {"WriteMiddleInsideSend", Inside::kSend, write_middle(Psn(101), kFull)},
    {"WriteLastInsideSend", Inside::kSend, write_last(Psn(101), payload(1))},
    {"WriteLastWithImmediateInsideSend", Inside::kSend, write_last_with_immediate(Psn(101), payload(1), 7)},
    {"WriteOnlyInsideSend", Inside::kSend, write_only(Psn(101), payload(1))},
    {"ReadInsideSend", Inside::kSend, read_request(Psn(101), 1)},
    {"SendFirstInsideWrite", Inside::kWrite, send_first(Psn(101), kFull)},
    {"SendMiddleInsideWrite", Inside::kWrite, send_middle(Psn(101), kFull)},
    {"SendLastInsideWrite", Inside::kWrite, send_last(Psn(101), payload(1))},
    {"SendLastWithImmediateInsideWrite", Inside::kWrite, send_last_with_immediate(Psn(101), payload(1), 7)},
    {"SendOnlyInsideWrite", Inside::kWrite, send_only(Psn(101), payload(1))},
    {"WriteFirstInsideWrite", Inside::kWrite, write_first(Psn(101), kFull, 2048)},
    {"WriteOnlyInsideWrite", Inside::kWrite, write_only(Psn(101), payload(1))},
    {"WriteOnlyWithImmediateInsideWrite", Inside::kWrite, write_only_with_immediate(Psn(101), payload(1), 7)},
    {"ReadInsideWrite", Inside::kWrite, read_request(Psn(101), 1)},
};

class RcResponderOpcodeSequence : public RcTest, public ::testing::WithParamInterface<Misplaced> {
 protected:
  RcResponderOpcodeSequence() {
    connect();
    post_receives({1, 2, 3});
    switch (GetParam().inside) {
      case Inside::kNothing:
        peer_sends(send_only(Psn(100), payload(4)));
        break;
      case Inside::kSend:
        peer_sends(send_first(Psn(100), kFull));
        break;
      case Inside::kWrite:
        peer_sends(write_first(Psn(100), kFull, 3000));
        break;
    }
    sent();
  }
};

INSTANTIATE_TEST_SUITE_P(, RcResponderOpcodeSequence, ::testing::ValuesIn(kMisplaced),
                         [](const auto& misplaced) { return std::string(misplaced.param.name); });

TEST_P(RcResponderOpcodeSequence, RefusesAPacketThatDoesNotFollow) {
  const std::uint32_t completed = GetParam().inside == Inside::kNothing ? 1 : 0;

  peer_sends(GetParam().packet);

  EXPECT_THAT(sent(), ElementsAre(nak(Nak::kInvalidRequest, Psn(101), completed)));
  EXPECT_EQ(endpoint_.state(), QpState::kError);
}

class RcResponderOpcode : public RcTest {
 protected:
  RcResponderOpcode() {
    connect();
    post_receives({1});
  }
};

// Fact 30: the queue pair's rights come first. The peer may write and read here, and no more; a failing
// atomic is answered with opcode 0x11 (fact 32).
TEST_F(RcResponderOpcode, RefusesAtomicsAndFlushWithoutTheRightToThem) {
  for (const std::uint8_t opcode : std::to_array<std::uint8_t>({0x13, 0x14, 0x1c})) {
    endpoint_.reset();
    connect();
    peer_sends(request(opcode, Psn(100)));
    EXPECT_THAT(sent(), ElementsAre(nak(Nak::kInvalidRequest, Psn(100), 0))) << unsigned{opcode};
    EXPECT_EQ(endpoint_.state(), QpState::kError) << unsigned{opcode};
  }
}

}  // namespace
}  // namespace urnic::transport::test
