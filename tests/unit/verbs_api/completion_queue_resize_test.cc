// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Changing the size of completion queues as a program does.
#include <poll.h>

#include <atomic>
#include <cerrno>
#include <limits>
#include <thread>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

TEST(CompletionQueueResize, GrowsAndShrinksAndSaysHowLargeTheQueueIsNow) {
  const ContextPtr context = open_device();
  const CqPtr cq(ibv_create_cq(context.get(), 8, nullptr, nullptr, 0));
  EXPECT_EQ(ibv_resize_cq(cq.get(), 100), 0);
  EXPECT_GE(cq->cqe, 100);
  EXPECT_EQ(ibv_resize_cq(cq.get(), 1), 0);
  EXPECT_GE(cq->cqe, 1);
  EXPECT_LT(cq->cqe, 100);
}

TEST(CompletionQueueResize, RefusesImpossibleSizes) {
  const ContextPtr context = open_device();
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(context.get(), &device), 0);
  const CqPtr cq(ibv_create_cq(context.get(), 8, nullptr, nullptr, 0));
  for (const int size :
       {0, -1, device.max_cqe + 1, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    errno = 0;
    EXPECT_EQ(ibv_resize_cq(cq.get(), size), EINVAL);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(cq->cqe, 8);
  }
  EXPECT_EQ(ibv_resize_cq(cq.get(), device.max_cqe), 0);
  EXPECT_EQ(cq->cqe, device.max_cqe);
}

TEST(CompletionQueueResize, KeepsCompletionsAndRefusesToHaveNoRoomForThem) {
  Pair pair;
  constexpr std::uint64_t kSent = 5;
  for (std::uint64_t i = 0; i < kSent; ++i) {
    ASSERT_EQ(post_receive(pair.b(), i, {}), 0);
    ASSERT_EQ(post_send(pair.a(), request(IBV_WR_SEND, i), {}), 0);
    ASSERT_EQ(next_completion(pair.cq_a()).status, IBV_WC_SUCCESS);
  }
  // A's completions say that B's receives are done.
  EXPECT_EQ(ibv_resize_cq(pair.cq_b(), kSent - 1), EINVAL);
  EXPECT_EQ(pair.cq_b()->cqe, 64);
  EXPECT_EQ(ibv_resize_cq(pair.cq_b(), kSent), 0);
  for (std::uint64_t i = 0; i < kSent; ++i) EXPECT_EQ(next_completion(pair.cq_b()).wr_id, i);
}

TEST(CompletionQueueResize, MayHappenInTheMiddleOfAnExtendedPoll) {
  Pair pair;
  ibv_cq_init_attr_ex init_attr{};
  init_attr.cqe = 16;
  init_attr.wc_flags = IBV_WC_STANDARD_FLAGS;
  ibv_cq_ex* const extended = ibv_create_cq_ex(pair.context(), &init_attr);
  ASSERT_NE(extended, nullptr);
  const CqPtr cq(ibv_cq_ex_to_cq(extended));
  ibv_qp_init_attr attributes = rc_attributes(cq.get());
  const QpPtr a(ibv_create_qp(pair.pd(), &attributes));
  const QpPtr b(ibv_create_qp(pair.pd(), &attributes));
  ASSERT_EQ(connect(a.get(), b->qp_num), 0);
  ASSERT_EQ(connect(b.get(), a->qp_num), 0);
  ASSERT_EQ(post_receive(b.get(), 1, {}), 0);
  ASSERT_EQ(post_send(a.get(), request(IBV_WR_SEND, 2), {}), 0);
  ibv_poll_cq_attr none{};
  while (ibv_start_poll(extended, &none) == ENOENT) {
  }
  const std::uint64_t first = extended->wr_id;
  EXPECT_EQ(ibv_resize_cq(cq.get(), 1000), 0);
  EXPECT_GE(extended->cqe, 1000);
  EXPECT_EQ(extended->wr_id, first);
  while (ibv_next_poll(extended) == ENOENT) {
  }
  EXPECT_EQ(extended->wr_id, 3 - first);
  ibv_end_poll(extended);
}

// One thread sends, one takes what arrives and sleeps between, and one changes the queue's size all the time:
// nothing is lost, nothing comes twice or out of order, and no thread sleeps forever.
TEST(CompletionQueueResize, DoesNotDisturbWhoSendsAndWhoReceives) {
  const ContextPtr context = open_device();
  const PdPtr pd(ibv_alloc_pd(context.get()));
  const ChannelPtr channel(ibv_create_comp_channel(context.get()));
  const CqPtr cq_a(ibv_create_cq(context.get(), 64, nullptr, nullptr, 0));
  const CqPtr cq_b(ibv_create_cq(context.get(), 16, nullptr, channel.get(), 0));
  ibv_qp_init_attr of_a = rc_attributes(cq_a.get());
  ibv_qp_init_attr of_b = rc_attributes(cq_b.get());
  const QpPtr a(ibv_create_qp(pd.get(), &of_a));
  const QpPtr b(ibv_create_qp(pd.get(), &of_b));
  ASSERT_EQ(connect(a.get(), b->qp_num), 0);
  ASSERT_EQ(connect(b.get(), a->qp_num), 0);

  constexpr std::uint64_t kMessages = 4000;
  constexpr std::uint64_t kReceives = 16;
  std::atomic<std::uint64_t> received{0};
  std::atomic<bool> is_over{false};
  for (std::uint64_t i = 0; i < kReceives; ++i) ASSERT_EQ(post_receive(b.get(), i, {}), 0);
  std::thread receiver([&] {
    unsigned int events = 0;
    ibv_req_notify_cq(cq_b.get(), 0);
    while (received < kMessages) {
      ibv_wc completion{};
      if (ibv_poll_cq(cq_b.get(), 1, &completion) == 1) {
        const std::uint64_t number = received++;
        EXPECT_EQ(completion.status, IBV_WC_SUCCESS);
        EXPECT_EQ(completion.wr_id, number);
        EXPECT_EQ(post_receive(b.get(), number + kReceives, {}), 0);
        continue;
      }
      pollfd waiting{.fd = channel->fd, .events = POLLIN, .revents = 0};
      if (poll(&waiting, 1, 5000) != 1) {
        ADD_FAILURE() << "no event after " << received << " messages";
        break;
      }
      ibv_cq* cq = nullptr;
      void* cq_context = nullptr;
      EXPECT_EQ(ibv_get_cq_event(channel.get(), &cq, &cq_context), 0);
      ++events;
      EXPECT_EQ(ibv_req_notify_cq(cq_b.get(), 0), 0);
    }
    ibv_ack_cq_events(cq_b.get(), events);
    is_over = true;
  });
  std::uint64_t grown = 0;
  std::uint64_t shrunk = 0;
  std::thread resizer([&] {
    while (!is_over) {
      grown += ibv_resize_cq(cq_b.get(), 500) == 0 ? 1 : 0;
      // As many as can ever wait: this cannot be refused, nor overrun.
      EXPECT_EQ(ibv_resize_cq(cq_b.get(), kReceives), 0);
      shrunk += 1;
    }
  });
  for (std::uint64_t i = 0; i < kMessages && !is_over; ++i) {
    if (post_send(a.get(), request(IBV_WR_SEND, i), {}) != 0) {
      ADD_FAILURE() << "cannot send message " << i;
      break;
    }
    EXPECT_EQ(next_completion(cq_a.get()).status, IBV_WC_SUCCESS);
  }
  receiver.join();
  resizer.join();
  EXPECT_EQ(received, kMessages);
  EXPECT_GT(grown, 0u);
  EXPECT_GT(shrunk, 0u);
}

}  // namespace
}  // namespace urnic::test
