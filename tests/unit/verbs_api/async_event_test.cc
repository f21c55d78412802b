// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Asynchronous events of queue pairs.
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

/// A write with a wrong key: the peer's queue pair fails, and its program is told.
void provoke_access_error(Pair& pair) {
  Buffer from(pair.pd(), 8);
  Buffer to(pair.pd(), 8);
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, to);
  wr.wr.rdma.rkey ^= 0x100;
  ASSERT_EQ(post_send(pair.a(), wr, {from.sge()}), 0);
  ASSERT_EQ(next_completion(pair.cq_a()).status, IBV_WC_REM_ACCESS_ERR);
}

bool is_readable(int fd) {
  pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, 5000) == 1;
}

TEST(AsyncEvent, NamesTheQueuePairThatAPeerBroke) {
  Pair pair;
  provoke_access_error(pair);
  ASSERT_TRUE(is_readable(pair.context()->async_fd));
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(pair.context(), &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(event.element.qp, pair.b());
  ibv_ack_async_event(&event);
}

TEST(AsyncEvent, WakesAnEdgeTriggeredEpollForEachEvent) {
  Pair pair;
  EdgeTriggeredEpoll epoll(pair.context()->async_fd);
  provoke_access_error(pair);
  ASSERT_TRUE(epoll.is_woken(5000ms));
  for (ibv_qp* const qp : {pair.a(), pair.b()}) {
    ibv_qp_attr reset{};
    reset.qp_state = IBV_QPS_RESET;
    ASSERT_EQ(ibv_modify_qp(qp, &reset, IBV_QP_STATE), 0);
  }
  ASSERT_EQ(connect(pair.a(), pair.b()->qp_num), 0);
  ASSERT_EQ(connect(pair.b(), pair.a()->qp_num), 0);
  provoke_access_error(pair);
  EXPECT_TRUE(epoll.is_woken(5000ms));
}

TEST(AsyncEvent, DoesNotWaitWhenTheProgramSetTheDescriptorNonBlocking) {
  const ContextPtr context = open_device();
  ASSERT_EQ(fcntl(context->async_fd, F_SETFL, O_NONBLOCK), 0);
  ibv_async_event event{};
  errno = 0;
  EXPECT_EQ(ibv_get_async_event(context.get(), &event), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST(AsyncEvent, LetsAThreadThatWaitsBeCancelled) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "AddressSanitizer loses track of the stack of a cancelled thread";
  const ContextPtr context = open_device();
  pthread_t waiting{};
  ASSERT_EQ(pthread_create(
                &waiting, nullptr,
                [](void* opened) -> void* {
                  ibv_async_event event{};
                  ibv_get_async_event(static_cast<ibv_context*>(opened), &event);
                  return nullptr;
                },
                context.get()),
            0);
  std::this_thread::sleep_for(20ms);
  ASSERT_EQ(pthread_cancel(waiting), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(waiting, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
}

TEST(AsyncEvent, TellsOnceThatACompletionQueueOverflowed) {
  const ContextPtr context = open_device();
  const PdPtr pd(ibv_alloc_pd(context.get()));
  const CqPtr tiny(ibv_create_cq(context.get(), 1, nullptr, nullptr, 0));
  const CqPtr cq(ibv_create_cq(context.get(), 64, nullptr, nullptr, 0));
  ibv_qp_init_attr attributes = rc_attributes(tiny.get());
  const QpPtr a(ibv_create_qp(pd.get(), &attributes));
  attributes = rc_attributes(cq.get());
  const QpPtr b(ibv_create_qp(pd.get(), &attributes));
  ASSERT_EQ(connect(a.get(), b->qp_num), 0);
  ASSERT_EQ(connect(b.get(), a->qp_num), 0);
  const int sends = tiny->cqe + 1;
  for (int i = 0; i < sends; ++i) {
    ASSERT_EQ(post_receive(b.get(), 1, {}), 0);
    ASSERT_EQ(post_send(a.get(), request(IBV_WR_SEND), {}), 0);
  }
  for (int i = 0; i < sends; ++i) ASSERT_EQ(next_completion(cq.get()).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(stays_empty(cq.get()));  // time for the last acknowledgement

  ASSERT_EQ(fcntl(context->async_fd, F_SETFL, O_NONBLOCK), 0);
  for (int i = 0; i < tiny->cqe; ++i) EXPECT_EQ(next_completion(tiny.get()).status, IBV_WC_SUCCESS);
  EXPECT_TRUE(stays_empty(tiny.get()));
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context.get(), &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(event.element.cq, tiny.get());
  ibv_ack_async_event(&event);
  // The queue pair has an event of its own, for a thread that waits for the lost completion.
  ASSERT_EQ(ibv_get_async_event(context.get(), &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_FATAL);
  EXPECT_EQ(event.element.qp, a.get());
  ibv_ack_async_event(&event);
  EXPECT_EQ(ibv_get_async_event(context.get(), &event), -1);
}

TEST(AsyncEvent, IsForgottenWithItsQueuePair) {
  const ContextPtr context = open_device();
  int fd = -1;
  {
    Pair pair;
    fd = pair.context()->async_fd;
    provoke_access_error(pair);
    ASSERT_TRUE(is_readable(fd));
  }
  // Nothing waited for an acknowledgement that could not come.
}

TEST(AsyncEvent, KeepsItsQueuePairUntilItIsAcknowledged) {
  const ContextPtr context = open_device();
  const PdPtr pd(ibv_alloc_pd(context.get()));
  const CqPtr cq(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0));
  ibv_qp_init_attr attributes = rc_attributes(cq.get());
  const QpPtr a(ibv_create_qp(pd.get(), &attributes));
  ibv_qp* const b = ibv_create_qp(pd.get(), &attributes);
  ASSERT_EQ(connect(a.get(), b->qp_num), 0);
  ASSERT_EQ(connect(b, a->qp_num), 0);
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE);
  Buffer from(pd.get(), 8);
  ASSERT_EQ(post_send(a.get(), wr, {from.sge()}), 0);
  ASSERT_EQ(next_completion(cq.get()).status, IBV_WC_REM_ACCESS_ERR);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context.get(), &event), 0);

  std::atomic<bool> destroyed{false};
  std::thread destroyer([b, &destroyed] {
    EXPECT_EQ(ibv_destroy_qp(b), 0);
    destroyed = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(destroyed);
  ibv_ack_async_event(&event);
  destroyer.join();
}

}  // namespace
}  // namespace urnic::test
