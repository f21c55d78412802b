// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Keys, bounds and rights at a UC responder (facts 30, 31): what may not be written is not, without a word.
#include "tests/support/qp_fixture.h"

namespace urnic::transport::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UcResponderAccess : public UcTest {
 protected:
  UcResponderAccess() {
    connect();
    post_receives({1});
  }

  void expect_refused(const QpPacket& packet, Counter counter) {
    const std::uint64_t before = count(counter);
    peer_sends(packet);
    EXPECT_EQ(count(counter) - before, 1u);
    EXPECT_TRUE(shared_memory_is_untouched());
    EXPECT_THAT(receive_completions(), IsEmpty());
    EXPECT_THAT(events(), IsEmpty());
    EXPECT_EQ(endpoint_.state(), QpState::kReadyToSend);
  }

  static constexpr Remote kEnd{.address = kShared.address + kRegionBytes, .rkey = kShared.rkey};
};

TEST_F(UcResponderAccess, RefusesWritesThatTheQueuePairDoesNotAllow) {
  config_.access = Access::kRemoteRead;
  endpoint_.update(config_);
  expect_refused(write_only(Psn(100), payload(8)), Counter::kRequestInvalid);
  expect_refused(write_only_with_immediate(Psn(101), {}, 7), Counter::kRequestInvalid);
  EXPECT_THAT(dma_.calls(), IsEmpty()) << "the queue pair's rights come first";
}

TEST_F(UcResponderAccess, RefusesAnUnknownKey) {
  expect_refused(write_only(Psn(100), payload(8)).with_rkey(Rkey{0xbad}), Counter::kRequestAccessError);
}

TEST_F(UcResponderAccess, RefusesMemoryOfAnotherProtectionDomain) {
  dma_.add_region(
      {.key = 0xd0, .address = 0x90000, .length = 100, .pd = PdId{8}, .access = Access::kRemoteWrite});
  expect_refused(write_only(Psn(100), payload(8), {.address = 0x90000, .rkey = Rkey{0xd0}}),
                 Counter::kRequestAccessError);
}

TEST_F(UcResponderAccess, RefusesMemoryWithoutTheRight) {
  dma_.set_access(to_integer(kShared.rkey), Access::kLocalWrite | Access::kRemoteRead);
  expect_refused(write_only(Psn(100), payload(8)), Counter::kRequestAccessError);
}

TEST_F(UcResponderAccess, RefusesARangeThatEndsBehindTheRegion) {
  expect_refused(write_only(Psn(100), payload(8), {kEnd.address - 7, kEnd.rkey}),
                 Counter::kRequestAccessError);
  expect_refused(write_only(Psn(101), payload(1), kEnd), Counter::kRequestAccessError);
  peer_sends(write_only(Psn(102), payload(8), {kEnd.address - 8, kEnd.rkey}));
  EXPECT_EQ(shared_memory(kRegionBytes - 8, 8), payload(8));
}

// The first packet would fit.
TEST_F(UcResponderAccess, ChecksTheWholeRangeWithTheFirstPacket) {
  expect_refused(write_first(Psn(100), payload(1024), 1025, {kEnd.address - 1024, kEnd.rkey}),
                 Counter::kRequestAccessError);
}

// Fact 31.
TEST_F(UcResponderAccess, LooksAtNeitherKeyNorAddressOfAnEmptyWrite) {
  peer_sends(write_only_with_immediate(Psn(100), {}, 7, {.address = 0xdead, .rkey = Rkey{0xbad}}));
  EXPECT_THAT(receive_completions(), ElementsAre(Succeeded(1)));
  EXPECT_THAT(dma_.calls(), IsEmpty());
}

TEST_F(UcResponderAccess, WritesNothingMoreOnceTheRegionIsGone) {
  const auto packets = write_message(Psn(100), payload(3000), kMtu);
  peer_sends(packets[0]);
  dma_.set_access(to_integer(kShared.rkey), Access::kLocalWrite);
  peer_sends(packets[1]);
  dma_.set_access(to_integer(kShared.rkey), Access::kRemoteWrite);
  peer_sends(packets[2]);
  EXPECT_EQ(shared_memory(0, 1024), payload(1024));
  EXPECT_EQ(shared_memory(1024, 2000), pattern(kShared.address + 1024, 2000)) << "the message was dropped";
  EXPECT_EQ(count(Counter::kRequestAccessError), 1u);
}

}  // namespace
}  // namespace urnic::transport::test
