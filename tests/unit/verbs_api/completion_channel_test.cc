// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Events of completion queues: the descriptor is a contract, and so is the counting of acknowledgements.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/support/sanitizers.h"
#include "tests/unit/verbs_api/edge_triggered_epoll.h"
#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

using namespace std::chrono_literals;

bool is_readable(int fd, std::chrono::milliseconds patience) {
  pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, static_cast<int>(patience.count())) == 1;
}

/// A connection whose B side reports on a channel. Sends nothing by itself.
class CompletionChannel : public testing::Test {
 protected:
  CompletionChannel() {
    ibv_qp_init_attr of_a = rc_attributes(cq_a_.get());
    ibv_qp_init_attr of_b = rc_attributes(cq_b_.get());
    a_.reset(ibv_create_qp(pd_.get(), &of_a));
    b_.reset(ibv_create_qp(pd_.get(), &of_b));
    EXPECT_EQ(connect(a_.get(), b_->qp_num), 0);
    EXPECT_EQ(connect(b_.get(), a_->qp_num), 0);
  }

  void send_one(unsigned int flags = 0) {
    ASSERT_EQ(post_receive(b_.get(), 1, {}), 0);
    ibv_send_wr wr = request(IBV_WR_SEND);
    wr.send_flags |= flags;
    ASSERT_EQ(post_send(a_.get(), wr, {}), 0);
    ASSERT_EQ(next_completion(cq_a_.get()).status, IBV_WC_SUCCESS);
  }

  /// Fetches one event, which must be of `cq_b_`.
  void fetch() {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel_.get(), &cq, &context), 0);
    EXPECT_EQ(cq, cq_b_.get());
    EXPECT_EQ(context, this);
  }

  const ContextPtr context_ = open_device();
  const PdPtr pd_{ibv_alloc_pd(context_.get())};
  const ChannelPtr channel_{ibv_create_comp_channel(context_.get())};
  const CqPtr cq_a_{ibv_create_cq(context_.get(), 64, nullptr, nullptr, 0)};
  CqPtr cq_b_{ibv_create_cq(context_.get(), 64, this, channel_.get(), 0)};
  QpPtr a_;
  QpPtr b_;
};

TEST_F(CompletionChannel, TellsOfTheNextCompletionAfterAskingAndOfNoOther) {
  send_one();
  EXPECT_FALSE(is_readable(channel_->fd, 10ms));
  ASSERT_EQ(ibv_req_notify_cq(cq_b_.get(), 0), 0);
  send_one();
  ASSERT_TRUE(is_readable(channel_->fd, 5000ms));
  fetch();
  send_one();
  EXPECT_FALSE(is_readable(channel_->fd, 10ms));
  ibv_ack_cq_events(cq_b_.get(), 1);
}

TEST_F(CompletionChannel, WakesAnEdgeTriggeredEpollForEachEvent) {
  EdgeTriggeredEpoll epoll(channel_->fd);
  ASSERT_EQ(ibv_req_notify_cq(cq_b_.get(), 0), 0);
  send_one();
  ASSERT_TRUE(epoll.is_woken(5000ms));
  ASSERT_EQ(ibv_req_notify_cq(cq_b_.get(), 0), 0);
  send_one();
  EXPECT_TRUE(epoll.is_woken(5000ms));
  fetch();
  fetch();
  EXPECT_FALSE(epoll.is_woken(0ms));
  ibv_ack_cq_events(cq_b_.get(), 2);
}

TEST_F(CompletionChannel, TellsOfSolicitedCompletionsOnlyWhenAskedSo) {
  ASSERT_EQ(ibv_req_notify_cq(cq_b_.get(), 1), 0);
  send_one();
  EXPECT_FALSE(is_readable(channel_->fd, 10ms));
  send_one(IBV_SEND_SOLICITED);
  ASSERT_TRUE(is_readable(channel_->fd, 5000ms));
  fetch();
  ibv_ack_cq_events(cq_b_.get(), 1);
}

TEST_F(CompletionChannel, TellsOfSeveralCompletionsAtOnceWhenTheyAreModerated) {
  ibv_modify_cq_attr attributes{.attr_mask = IBV_CQ_ATTR_MODERATE,
                                .moderate = {.cq_count = 3, .cq_period = 65535}};
  ASSERT_EQ(ibv_modify_cq(cq_b_.get(), &attributes), 0);
  ASSERT_EQ(ibv_req_notify_cq(cq_b_.get(), 0), 0);
  const auto begin = std::chrono::steady_clock::now();
  send_one();
  send_one();
  const bool is_early = is_readable(channel_->fd, 10ms);
  // Unless this machine was so busy that the time was over.
  EXPECT_TRUE(!is_early || std::chrono::steady_clock::now() - begin > 65ms);
  send_one();
  ASSERT_TRUE(is_readable(channel_->fd, 5000ms));
  fetch();
  EXPECT_FALSE(is_readable(channel_->fd, 0ms));
  ibv_ack_cq_events(cq_b_.get(), 1);
}

TEST_F(CompletionChannel, TellsOfAModeratedCompletionAfterItsTime) {
  ibv_modify_cq_attr attributes{.attr_mask = IBV_CQ_ATTR_MODERATE,
                                .moderate = {.cq_count = 3, .cq_period = 30000}};
  ASSERT_EQ(ibv_modify_cq(cq_b_.get(), &attributes), 0);
  ASSERT_EQ(ibv_req_notify_cq(cq_b_.get(), 0), 0);
  const auto begin = std::chrono::steady_clock::now();
  send_one();
  ASSERT_TRUE(is_readable(channel_->fd, 5000ms));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 30ms);
  fetch();
  attributes.moderate = {};
  ASSERT_EQ(ibv_modify_cq(cq_b_.get(), &attributes), 0);
  ASSERT_EQ(ibv_req_notify_cq(cq_b_.get(), 0), 0);
  send_one();
  ASSERT_TRUE(is_readable(channel_->fd, 5000ms));
  fetch();
  ibv_ack_cq_events(cq_b_.get(), 2);
}

TEST_F(CompletionChannel, RefusesToModifyWhatItDoesNotKnow) {
  ibv_modify_cq_attr attributes{.attr_mask = IBV_CQ_ATTR_MODERATE | IBV_CQ_ATTR_RESERVED,
                                .moderate = {3, 30000}};
  EXPECT_EQ(ibv_modify_cq(cq_b_.get(), &attributes), EOPNOTSUPP);
  EXPECT_EQ(ibv_modify_cq(cq_b_.get(), nullptr), EINVAL);
  attributes.attr_mask = 0;
  EXPECT_EQ(ibv_modify_cq(cq_b_.get(), &attributes), 0);
  // None of which has put anything off: B's completion is there before the acknowledgement that ends A's.
  ASSERT_EQ(ibv_req_notify_cq(cq_b_.get(), 0), 0);
  send_one();
  ASSERT_TRUE(is_readable(channel_->fd, 0ms));
  fetch();
  ibv_ack_cq_events(cq_b_.get(), 1);
}

// No channel is told, and so no event is put off.
TEST_F(CompletionChannel, MayBeAbsentWhereCompletionsAreModerated) {
  ibv_modify_cq_attr attributes{.attr_mask = IBV_CQ_ATTR_MODERATE,
                                .moderate = {.cq_count = 3, .cq_period = 30000}};
  EXPECT_EQ(ibv_modify_cq(cq_a_.get(), &attributes), 0);
  ASSERT_EQ(ibv_req_notify_cq(cq_a_.get(), 0), 0);
  send_one();
}

TEST_F(CompletionChannel, DoesNotWaitWhenTheProgramSetItNonBlocking) {
  ASSERT_EQ(fcntl(channel_->fd, F_SETFL, O_NONBLOCK), 0);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  errno = 0;
  EXPECT_EQ(ibv_get_cq_event(channel_.get(), &cq, &context), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(CompletionChannel, WakesAThreadThatWaits) {
  ASSERT_EQ(ibv_req_notify_cq(cq_b_.get(), 0), 0);
  std::atomic<bool> woken{false};
  std::thread waiting([this, &woken] {
    fetch();
    woken = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(woken);
  send_one();
  waiting.join();
  ibv_ack_cq_events(cq_b_.get(), 1);
}

// rping cancels the thread that waits.
TEST_F(CompletionChannel, LetsAThreadThatWaitsBeCancelled) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "AddressSanitizer loses track of the stack of a cancelled thread";
  pthread_t waiting{};
  ASSERT_EQ(pthread_create(
                &waiting, nullptr,
                [](void* channel) -> void* {
                  ibv_cq* cq = nullptr;
                  void* context = nullptr;
                  ibv_get_cq_event(static_cast<ibv_comp_channel*>(channel), &cq, &context);
                  return nullptr;
                },
                channel_.get()),
            0);
  std::this_thread::sleep_for(20ms);
  ASSERT_EQ(pthread_cancel(waiting), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(waiting, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
}

TEST_F(CompletionChannel, DestroyingItsQueueWaitsForAcknowledgements) {
  ASSERT_EQ(ibv_req_notify_cq(cq_b_.get(), 0), 0);
  send_one();
  fetch();
  b_.reset();
  std::atomic<bool> destroyed{false};
  std::thread destroyer([this, &destroyed] {
    EXPECT_EQ(ibv_destroy_cq(cq_b_.get()), 0);
    destroyed = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(destroyed);
  ibv_ack_cq_events(cq_b_.get(), 1);
  destroyer.join();
  static_cast<void>(cq_b_.release());
}

// fio acknowledges completions instead of events.
TEST_F(CompletionChannel, DestroyingItsQueueIsContentWithTooManyAcknowledgements) {
  ASSERT_EQ(ibv_req_notify_cq(cq_b_.get(), 0), 0);
  send_one();
  fetch();
  ibv_ack_cq_events(cq_b_.get(), 5);
  b_.reset();
  cq_b_.reset();
}

TEST_F(CompletionChannel, ForgetsEventsOfADestroyedQueue) {
  ASSERT_EQ(ibv_req_notify_cq(cq_b_.get(), 0), 0);
  send_one();
  ASSERT_TRUE(is_readable(channel_->fd, 5000ms));
  b_.reset();
  cq_b_.reset();
  EXPECT_FALSE(is_readable(channel_->fd, 10ms));
}

}  // namespace
}  // namespace urnic::test
