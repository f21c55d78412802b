// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Queue pairs for RSS and the work queues that receive for them.
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "nic/raw/indirection_table.h"
#include "tests/unit/nic/raw/flow_frame.h"
#include "tests/unit/nic/raw/raw_packet_pair.h"

namespace urnic::nic {
namespace {

constexpr std::array<unsigned, 40> kMicrosoftKey{0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                                 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                                 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                                 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

/// Eight work queues at B, all in RDY and without receives, a table of them, and a queue pair that gets all
/// UDP.
class RssTest : public RawPacketTest {
 protected:
  static constexpr std::size_t kQueues = 8;

  RssTest() {
    for (std::size_t i = 0; i < kQueues; ++i) {
      work_queues.push_back(device().create_qp(work_queue_attributes()).value());
      EXPECT_TRUE(work_queues.back()->modify({.state = QpState::kReadyToReceive}));
    }
    table = device().create_indirection_table(pointers()).value();
    rss = device().create_qp(rss_attributes()).value();
    flow = device().create_flow(*rss, {}).value();
  }
  ~RssTest() override {
    EXPECT_TRUE(device().destroy_flow(flow));
    device().destroy_qp(std::move(rss));
    EXPECT_TRUE(device().destroy_indirection_table(table));
    for (auto& queue : work_queues) device().destroy_qp(std::move(queue));
    if (tiny != nullptr) {
      EXPECT_TRUE(device().destroy_cq(tiny));
    }
  }

  Device& device() { return pair.b().device(); }
  QpCreateAttributes work_queue_attributes() {
    return {.type = QpType::kWorkQueue,
            .capabilities = {.max_receive_wr = 4, .max_receive_sge = 1},
            .pd = &pair.b().pd(),
            .receive_queue = tiny != nullptr ? tiny.get() : &pair.b().cq()};
  }
  QpCreateAttributes rss_attributes() {
    ToeplitzKey key;
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(kMicrosoftKey[i]);
    return {.type = QpType::kRss,
            .pd = &pair.b().pd(),
            .rss = {.table = table.get(),
                    .hash = RssHash(key, HashFields::kSourceIpv4 | HashFields::kDestinationIpv4)}};
  }
  std::vector<QueuePair*> pointers() const {
    std::vector<QueuePair*> result;
    for (const auto& queue : work_queues) result.push_back(queue.get());
    return result;
  }
  PostStatus post(QueuePair& queue, std::uint64_t wr_id, std::size_t length = kLongest) {
    QueuePair::ReceiveBatch batch(queue);
    const transport::Sge sge = pair.b().sge(kTo, length);
    return batch.post({.wr_id = wr_id}, std::span(&sge, 1));
  }
  void post_everywhere() {
    for (std::size_t i = 0; i < kQueues; ++i) EXPECT_EQ(post(*work_queues[i], i), PostStatus::kPosted);
  }
  void deliver(const FrameBytes& frame) {
    pair.wire.deliver(1, frame);
    pair.settle();
  }
  static FrameBytes from_to(std::array<unsigned, 4> source, std::array<unsigned, 4> destination) {
    FrameBytes frame = udp_over_ipv4();
    for (std::size_t i = 0; i < 4; ++i) {
      frame[26 + i] = static_cast<std::byte>(source[i]);
      frame[30 + i] = static_cast<std::byte>(destination[i]);
    }
    return frame;
  }
  /// Goes to place 2: it hashes to 0x323e8fc2 by Microsoft's table.
  static FrameBytes for_place_2() { return from_to({66, 9, 149, 187}, {161, 142, 100, 80}); }

  std::vector<std::unique_ptr<QueuePair>> work_queues;
  std::unique_ptr<IndirectionTable> table;
  std::unique_ptr<QueuePair> rss;
  std::unique_ptr<CompletionQueue> tiny;
  FlowId flow{};
};

TEST_F(RssTest, SpreadsFramesByTheLowBitsOfMicrosoftsHash) {
  struct Vector {
    std::array<unsigned, 4> source;
    std::array<unsigned, 4> destination;
    std::uint32_t hash;
  };
  constexpr Vector kVectors[] = {{{66, 9, 149, 187}, {161, 142, 100, 80}, 0x323e8fc2},
                                 {{199, 92, 111, 2}, {65, 69, 140, 83}, 0xd718262a},
                                 {{24, 19, 198, 95}, {12, 22, 207, 184}, 0xd2d0a5de},
                                 {{38, 27, 205, 30}, {209, 142, 163, 6}, 0x82989176},
                                 {{153, 39, 163, 191}, {202, 188, 127, 2}, 0x5d1809c5}};
  for (const Vector& vector : kVectors) {
    const std::size_t place = vector.hash % kQueues;
    ASSERT_EQ(post(*work_queues[place], place), PostStatus::kPosted);
    const FrameBytes frame = from_to(vector.source, vector.destination);
    deliver(frame);
    const std::vector<Completion> completions = pair.b().poll();
    ASSERT_EQ(completions.size(), 1u) << std::hex << vector.hash;
    EXPECT_EQ(completions[0].status, CompletionStatus::kSuccess);
    EXPECT_EQ(completions[0].wr_id, place);
    EXPECT_EQ(completions[0].qp_number, work_queues[place]->number()) << "not the number of the queue pair";
    EXPECT_EQ(received(completions[0].byte_length), frame);
  }
  EXPECT_EQ(pair.b().counter("rx_steered_frames"), std::size(kVectors));
}

TEST_F(RssTest, GivesFramesWithoutTheFieldsToTheFirstPlace) {
  post_everywhere();
  deliver(macs() + bytes_of({0x88, 0xb5}) + FrameBytes(50));
  deliver(tcp_over_ipv6());
  EXPECT_EQ(pair.b().poll_text(), "0 ok") << "one receive was posted there";
  EXPECT_EQ(pair.b().counter("out_of_buffer"), 1u);
}

TEST_F(RssTest, DropsWhatItsWorkQueueHasNoReceiveFor) {
  EXPECT_EQ(post(*work_queues[1], 1), PostStatus::kPosted);
  deliver(for_place_2());
  EXPECT_EQ(pair.b().poll_text(), "");
  EXPECT_EQ(pair.b().counter("out_of_buffer"), 1u);
}

TEST_F(RssTest, GivesNothingToAWorkQueueThatIsNotReady) {
  QueuePair& queue = *work_queues[2];
  EXPECT_TRUE(queue.modify({.state = QpState::kReset}));
  EXPECT_EQ(post(queue, 1), PostStatus::kWrongState);
  deliver(for_place_2());
  EXPECT_TRUE(queue.modify({.state = QpState::kReadyToReceive}));
  EXPECT_EQ(post(queue, 2), PostStatus::kPosted);
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "");
  deliver(for_place_2());
  EXPECT_EQ(pair.b().poll_text(), "2 ok");
}

TEST_F(RssTest, FlushesAWorkQueueInError) {
  QueuePair& queue = *work_queues[2];
  EXPECT_EQ(post(queue, 1), PostStatus::kPosted);
  EXPECT_TRUE(queue.modify({.state = QpState::kError}));
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "1 flushed");
  EXPECT_EQ(post(queue, 2), PostStatus::kPosted);
  pair.settle();
  EXPECT_EQ(pair.b().poll_text(), "2 flushed");
  deliver(for_place_2());
  EXPECT_EQ(pair.b().poll_text(), "");
}

TEST_F(RssTest, EndsAWorkQueueWhoseReceiveIsTooShort) {
  EXPECT_EQ(post(*work_queues[2], 1, 41), PostStatus::kPosted);
  EXPECT_EQ(post(*work_queues[2], 2), PostStatus::kPosted);
  deliver(for_place_2());
  EXPECT_EQ(pair.b().poll_text(), "1 failed, 2 flushed");
  EXPECT_EQ(work_queues[2]->query().state, QpState::kError);
}

TEST_F(RssTest, TellsOfAWorkQueueWhoseCompletionQueueOverflowed) {
  tiny = device().create_cq(1, nullptr, nullptr).value();
  work_queues.push_back(device().create_qp(work_queue_attributes()).value());
  QueuePair& queue = *work_queues.back();
  EXPECT_TRUE(queue.modify({.state = QpState::kReadyToReceive}));
  QueuePair* const only[] = {&queue};
  auto other_table = device().create_indirection_table(only).value();
  QpCreateAttributes attributes = rss_attributes();
  attributes.rss.table = other_table.get();
  auto other = device().create_qp(attributes).value();
  const FlowId sniffer = device().create_flow(*other, {.kind = FlowKind::kSniffer}).value();
  for (std::uint32_t i = 0; i <= tiny->capacity(); ++i) {
    EXPECT_EQ(post(queue, i), PostStatus::kPosted);
    deliver(for_place_2());
  }
  EXPECT_EQ(pair.b().events(), std::vector<std::string>({"cq overrun", "wq fatal"}));
  EXPECT_EQ(queue.query().state, QpState::kError);
  EXPECT_TRUE(device().destroy_flow(sniffer));
  device().destroy_qp(std::move(other));
  EXPECT_TRUE(device().destroy_indirection_table(other_table));
}

TEST_F(RssTest, HasNoStatesAndNoQueuesOfItsOwn) {
  EXPECT_EQ(rss->modify({.state = QpState::kInit}).error().code, EOPNOTSUPP);
  EXPECT_EQ(post(*rss, 1), PostStatus::kWrongState);
  QueuePair::SendBatch batch(*rss);
  EXPECT_EQ(batch.post({}, {}), PostStatus::kWrongState);
  for (const auto& queue : work_queues) {
    QueuePair::SendBatch to_queue(*queue);
    EXPECT_EQ(to_queue.post({}, {}), PostStatus::kWrongState);
  }
}

TEST_F(RssTest, WorkQueuesHaveThreeStates) {
  const auto error = [](QueuePair& queue, QpState state) {
    const auto done = queue.modify({.state = state});
    return done ? 0 : done.error().code;
  };
  QueuePair& queue = *work_queues[0];
  EXPECT_EQ(error(queue, QpState::kInit), EINVAL);
  EXPECT_EQ(error(queue, QpState::kReadyToSend), EINVAL);
  EXPECT_EQ(error(queue, QpState::kReadyToReceive), 0);
  EXPECT_EQ(error(queue, QpState::kError), 0);
  EXPECT_EQ(error(queue, QpState::kReadyToReceive), EINVAL);
  EXPECT_EQ(error(queue, QpState::kReset), 0);
  EXPECT_EQ(error(queue, QpState::kError), EINVAL);
  EXPECT_EQ(error(queue, QpState::kReadyToReceive), 0);
  EXPECT_EQ(queue.modify({.access = transport::Access::kLocalWrite}).error().code, EINVAL);
}

TEST_F(RssTest, KeepsWhatItUsesFromBeingDestroyed) {
  EXPECT_EQ(device().check_destroyable(*rss).error().code, EBUSY) << "there is a flow rule";
  EXPECT_EQ(device().destroy_indirection_table(table).error().code, EBUSY);
  EXPECT_EQ(device().check_destroyable(*work_queues[3]).error().code, EBUSY);
  ASSERT_NE(table, nullptr);
  tiny = device().create_cq(8, nullptr, nullptr).value();
  auto queue = device().create_qp(work_queue_attributes()).value();
  EXPECT_TRUE(device().check_destroyable(*queue));
  EXPECT_EQ(device().destroy_cq(tiny).error().code, EBUSY);
  device().destroy_qp(std::move(queue));
}

TEST_F(RssTest, TablesHaveAPowerOfTwoOfWorkQueues) {
  const auto error = [&](std::vector<QueuePair*> queues) {
    auto made = device().create_indirection_table(queues);
    if (!made) return made.error().code;
    EXPECT_TRUE(device().destroy_indirection_table(made.value()));
    return 0;
  };
  QueuePair* const queue = work_queues[0].get();
  EXPECT_EQ(error({queue}), 0);
  EXPECT_EQ(error({queue, queue}), 0) << "one may be there twice";
  EXPECT_EQ(error(std::vector(DeviceLimits::kMaxIndirectionTableSize, queue)), 0);
  EXPECT_EQ(error({}), EINVAL);
  EXPECT_EQ(error({queue, queue, queue}), EINVAL);
  EXPECT_EQ(error(std::vector(DeviceLimits::kMaxIndirectionTableSize * 2, queue)), EINVAL);
  EXPECT_EQ(error({queue, &pair.b().qp()}), EINVAL) << "a queue pair";
  EXPECT_EQ(error({queue, rss.get()}), EINVAL);
}

TEST_F(RssTest, NeedsATableAndNothingThatReceivesOrSends) {
  const auto error = [&](const QpCreateAttributes& attributes) {
    const auto made = device().create_qp(attributes);
    return made ? 0 : made.error().code;
  };
  QpCreateAttributes without_table = rss_attributes();
  without_table.rss.table = nullptr;
  EXPECT_EQ(error(without_table), EINVAL);
  QpCreateAttributes without_pd = rss_attributes();
  without_pd.pd = nullptr;
  EXPECT_EQ(error(without_pd), EINVAL);
  QpCreateAttributes raw = attributes(pair.b());
  raw.rss.table = table.get();
  EXPECT_EQ(error(raw), EINVAL);
  QpCreateAttributes queue = work_queue_attributes();
  queue.receive_queue = nullptr;
  EXPECT_EQ(error(queue), EINVAL);
}

}  // namespace
}  // namespace urnic::nic
