// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A NIC whose process is killed: another process sends what it has left.
#include "nic/port/last_words.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "nic/engine/engine.h"
#include "tests/unit/nic/rdma_cm/cm_pair.h"

namespace urnic::nic::rdma_cm {
namespace {

using Frames = std::map<std::uint32_t, FakeWire::Bytes>;

class KeptFrames final : public LastWords {
 public:
  explicit KeptFrames(std::shared_ptr<Frames> frames) : frames_(std::move(frames)) {}
  void keep(std::uint32_t key, std::span<const std::byte> frame, Delivery) override {
    EXPECT_LE(frame.size(), kMaxBytes);
    (*frames_)[key] = {frame.begin(), frame.end()};
  }
  void forget(std::uint32_t key) override { frames_->erase(key); }

 private:
  const std::shared_ptr<Frames> frames_;  // the device outlives the test
};

class LastWordsOf : public CmTest, public testing::WithParamInterface<Medium> {
 protected:
  LastWordsOf() : CmTest({.medium = GetParam()}) {
    for (std::size_t i = 0; i < 2; ++i) {
      pair.hosts[i]->device().engine().pipeline().gsi().use(std::make_unique<KeptFrames>(frames[i]));
    }
  }
  /// All that the NIC at that end has left comes to the other one.
  void speak_for(std::size_t end) {
    for (const auto& [key, frame] : *frames[end]) pair.wire.deliver(1 - end, frame);
    pair.settle();
  }

  const std::array<std::shared_ptr<Frames>, 2> frames{std::make_shared<Frames>(), std::make_shared<Frames>()};
};

TEST_P(LastWordsOf, AClientDisconnectItsServer) {
  passive.listen();
  connected();
  EXPECT_EQ(frames[0]->size(), 1u);
  speak_for(0);
  EXPECT_EQ(passive.take(EventType::kDisconnected).status, 0);
}

TEST_P(LastWordsOf, AServerDisconnectItsClient) {
  passive.listen();
  connected();
  EXPECT_EQ(frames[1]->size(), 1u);
  speak_for(1);
  EXPECT_EQ(active.take(EventType::kDisconnected).status, 0);
}

TEST_P(LastWordsOf, AServerThatHasNotDecidedYetRejectTheRequest) {
  passive.listen();
  const IdNumber id = routed();
  ASSERT_EQ(connect(id), 0);
  pair.settle();
  passive.take(EventType::kConnectRequest);
  speak_for(1);
  active.take(EventType::kRejected);
}

TEST_P(LastWordsOf, AProgramThatWaitsForDrepAreItsDreqOnceMore) {
  passive.listen();
  const Connected connection = connected();
  pair.wire.is_lost = [](std::size_t from, const FakeWire::Bytes&) { return from == 1; };
  ASSERT_TRUE(active.cm().disconnect(active.channel(), connection.active, active.now()));
  pair.settle();
  const auto mad_of = [](const FakeWire::Bytes& frame) {
    const auto end = frame.end() - 4;  // the ICRC
    return FakeWire::Bytes(end - static_cast<std::ptrdiff_t>(cm::kMadBytes), end);
  };
  ASSERT_EQ(frames[0]->size(), 1u);
  EXPECT_EQ(mad_of(frames[0]->begin()->second), mad_of(pair.wire.sent_by(0).back()));
}

TEST_P(LastWordsOf, AProgramThatHasDisconnectedAreNone) {
  passive.listen();
  const Connected connection = connected();
  ASSERT_TRUE(active.cm().disconnect(active.channel(), connection.active, active.now()));
  pair.settle();
  ASSERT_TRUE(passive.cm().disconnect(passive.channel(), connection.passive, passive.now()));
  pair.settle();
  EXPECT_TRUE(frames[0]->empty());
  EXPECT_TRUE(frames[1]->empty());
}

INSTANTIATE_TEST_SUITE_P(Media, LastWordsOf, testing::Values(Medium::kEthernet, Medium::kIp));

}  // namespace
}  // namespace urnic::nic::rdma_cm
