// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Faults of calls, as a program meets them. Each test is a process of its own, and names its faults before it
// opens the device.
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "tests/unit/verbs_api/verbs_objects.h"

namespace urnic::test {
namespace {

void have_faults(const char* text) {
  setenv("URNIC_FAULT", text, 1);
}

ibv_qp_state state_of(ibv_qp* qp) {
  ibv_qp_attr attributes{};
  ibv_qp_init_attr init{};
  EXPECT_EQ(ibv_query_qp(qp, &attributes, IBV_QP_STATE, &init), 0);
  return attributes.qp_state;
}

ibv_async_event next_event(ibv_context* context) {
  ibv_async_event event{};
  EXPECT_EQ(ibv_get_async_event(context, &event), 0);
  ibv_ack_async_event(&event);
  return event;
}

bool has_event(ibv_context* context) {
  fcntl(context->async_fd, F_SETFL, fcntl(context->async_fd, F_GETFL) | O_NONBLOCK);
  ibv_async_event event{};
  const bool has = ibv_get_async_event(context, &event) == 0;
  if (has) ibv_ack_async_event(&event);
  return has;
}

TEST(Injection, APostThatFailsPostsNothingAndNamesItsFirstRequest) {
  have_faults("verb:ibv_post_send=ENOMEM:nth=2");
  Pair pair;
  Buffer buffer(pair.pd(), 8);
  ASSERT_EQ(post_send(pair.a(), request(IBV_WR_RDMA_WRITE, buffer, 1), {buffer.sge()}), 0);
  EXPECT_EQ(next_completion(pair.cq_a()).wr_id, 1u);
  ibv_send_wr second = request(IBV_WR_RDMA_WRITE, buffer, 3);
  ibv_send_wr first = request(IBV_WR_RDMA_WRITE, buffer, 2);
  first.next = &second;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(pair.a(), &first, &bad), ENOMEM);
  EXPECT_EQ(bad, &first);
  EXPECT_TRUE(stays_empty(pair.cq_a()));
  ASSERT_EQ(post_send(pair.a(), request(IBV_WR_RDMA_WRITE, buffer, 4), {buffer.sge()}), 0);
  EXPECT_EQ(next_completion(pair.cq_a()).wr_id, 4u);
}

TEST(Injection, AFailedCompletionBreaksItsQueuePairAndFlushesWhatCameAfterIt) {
  have_faults("verb:ibv_poll_cq:status=REM_ACCESS_ERR:nth=2");
  Pair pair;
  Buffer buffer(pair.pd(), 8);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    ASSERT_EQ(post_send(pair.a(), request(IBV_WR_RDMA_WRITE, buffer, i), {buffer.sge()}), 0);
  }
  const ibv_wc_status kExpected[] = {IBV_WC_SUCCESS, IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR,
                                     IBV_WC_WR_FLUSH_ERR};
  for (std::uint64_t i = 1; i <= 4; ++i) {
    const ibv_wc wc = next_completion(pair.cq_a());
    EXPECT_EQ(wc.wr_id, i);
    EXPECT_EQ(wc.status, kExpected[i - 1]);
    EXPECT_EQ(wc.qp_num, pair.a()->qp_num);
  }
  EXPECT_EQ(state_of(pair.a()), IBV_QPS_ERR);
  EXPECT_EQ(state_of(pair.b()), IBV_QPS_RTS);
  ASSERT_EQ(post_send(pair.a(), request(IBV_WR_RDMA_WRITE, buffer, 5), {buffer.sge()}), 0);
  EXPECT_EQ(next_completion(pair.cq_a()).status, IBV_WC_WR_FLUSH_ERR);
}

TEST(Injection, WhatOnePollTakesIsFlushedAfterTheFailure) {
  have_faults("verb:ibv_poll_cq:status=RETRY_EXC_ERR");
  Pair pair;
  Buffer buffer(pair.pd(), 8);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(post_send(pair.a(), request(IBV_WR_RDMA_WRITE, buffer, i), {buffer.sge()}), 0);
  }
  // The peer's completion queue makes the NIC go on, and is not looked at.
  EXPECT_TRUE(stays_empty(pair.cq_b()));
  ibv_wc completions[3]{};
  ASSERT_EQ(ibv_poll_cq(pair.cq_a(), 3, completions), 3);
  EXPECT_EQ(completions[0].status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(completions[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(completions[2].status, IBV_WC_WR_FLUSH_ERR);
}

TEST(Injection, AReceiveFailsAndTheSendsThatWereDoneStayDone) {
  have_faults("verb:ibv_poll_cq:status=LOC_LEN_ERR:kind=receive");
  Pair pair;
  Buffer buffer(pair.pd(), 8);
  ASSERT_EQ(post_receive(pair.b(), 7, {buffer.sge()}), 0);
  ASSERT_EQ(post_receive(pair.b(), 8, {buffer.sge()}), 0);
  ASSERT_EQ(post_send(pair.b(), request(IBV_WR_RDMA_WRITE, buffer, 9), {buffer.sge()}), 0);
  EXPECT_EQ(next_completion(pair.cq_b()).wr_id, 9u);
  ASSERT_EQ(post_send(pair.a(), request(IBV_WR_SEND, 1), {buffer.sge()}), 0);
  EXPECT_EQ(next_completion(pair.cq_a()).status, IBV_WC_SUCCESS);
  ibv_wc wc = next_completion(pair.cq_b());
  EXPECT_EQ(wc.wr_id, 7u);
  EXPECT_EQ(wc.status, IBV_WC_LOC_LEN_ERR);
  wc = next_completion(pair.cq_b());
  EXPECT_EQ(wc.wr_id, 8u);
  EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(state_of(pair.b()), IBV_QPS_ERR);
}

TEST(Injection, APollThatFailsTakesNothing) {
  have_faults("verb:ibv_poll_cq=EFAULT");
  Pair pair;
  ibv_wc wc{};
  EXPECT_LT(ibv_poll_cq(pair.cq_a(), 1, &wc), 0);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(ibv_poll_cq(pair.cq_a(), 1, &wc), 0);
}

/// An extended completion queue, and a queue pair with builders that is connected to itself.
struct Extended {
  Extended() {
    ibv_cq_init_attr_ex of_cq{};
    of_cq.cqe = 16;
    of_cq.wc_flags = IBV_WC_STANDARD_FLAGS;
    cq = ibv_create_cq_ex(context.get(), &of_cq);
    ibv_qp_init_attr_ex of_qp{};
    of_qp.send_cq = of_qp.recv_cq = ibv_cq_ex_to_cq(cq);
    of_qp.qp_type = IBV_QPT_RC;
    of_qp.cap = {
        .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    of_qp.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    of_qp.pd = pd.get();
    of_qp.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
    qp = ibv_create_qp_ex(context.get(), &of_qp);
    EXPECT_EQ(connect(qp, qp->qp_num), 0);
  }
  ~Extended() {
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
  }
  int write(Buffer& buffer, std::uint64_t wr_id) {
    ibv_qp_ex* const builder = ibv_qp_to_qp_ex(qp);
    ibv_wr_start(builder);
    builder->wr_id = wr_id;
    builder->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_rdma_write(builder, buffer.rkey(), buffer.address());
    ibv_wr_set_sge(builder, buffer.mr()->lkey, buffer.address(), 8);
    return ibv_wr_complete(builder);
  }
  /// What start_poll() says when there is something.
  int poll() {
    ibv_poll_cq_attr attributes{};
    int result = ENOENT;
    for (int i = 0; i < 100000 && result == ENOENT; ++i) result = ibv_start_poll(cq, &attributes);
    return result;
  }

  ContextPtr context = open_device();
  PdPtr pd{ibv_alloc_pd(context.get())};
  ibv_cq_ex* cq = nullptr;
  ibv_qp* qp = nullptr;
};

TEST(Injection, ExtendedPollsSeeTheSameStatuses) {
  have_faults("verb:ibv_poll_cq:status=GENERAL_ERR:nth=2");
  Extended objects;
  Buffer buffer(objects.pd.get(), 8);
  for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_EQ(objects.write(buffer, i), 0);
  const ibv_wc_status kExpected[] = {IBV_WC_SUCCESS, IBV_WC_GENERAL_ERR, IBV_WC_WR_FLUSH_ERR};
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(objects.poll(), 0);
    EXPECT_EQ(objects.cq->wr_id, i);
    EXPECT_EQ(objects.cq->status, kExpected[i - 1]);
    EXPECT_EQ(ibv_wc_read_qp_num(objects.cq), objects.qp->qp_num);
    ibv_end_poll(objects.cq);
  }
  EXPECT_EQ(state_of(objects.qp), IBV_QPS_ERR);
}

TEST(Injection, StartAndNextPollFailByThemselves) {
  have_faults("verb:ibv_start_poll=EFAULT,verb:ibv_next_poll=EIO");
  Extended objects;
  Buffer buffer(objects.pd.get(), 8);
  ASSERT_EQ(objects.write(buffer, 1), 0);
  EXPECT_EQ(objects.poll(), EFAULT);
  ASSERT_EQ(objects.poll(), 0);
  EXPECT_EQ(ibv_next_poll(objects.cq), EIO);
  EXPECT_EQ(ibv_next_poll(objects.cq), ENOENT);
  ibv_end_poll(objects.cq);
}

TEST(Injection, ABatchThatFailsIsForgottenAndTheNextOneGoes) {
  have_faults("verb:ibv_wr_complete=ENOMEM");
  Extended objects;
  Buffer buffer(objects.pd.get(), 8);
  EXPECT_EQ(objects.write(buffer, 1), ENOMEM);
  ASSERT_EQ(objects.write(buffer, 2), 0);
  ASSERT_EQ(objects.poll(), 0);
  EXPECT_EQ(objects.cq->wr_id, 2u);
  ibv_end_poll(objects.cq);
}

TEST(Injection, ControlVerbsFailAsTheyDoOtherwise) {
  have_faults(
      "verb:ibv_alloc_pd=EAGAIN,verb:ibv_reg_mr=EFAULT,verb:ibv_create_cq=ENOSPC,verb:ibv_query_gid=EACCES,"
      "verb:ibv_query_port=EBADF,verb:ibv_alloc_mw=EPERM,verb:ibv_destroy_cq=EBUSY,"
      "verb:ibv_get_device_list=ENODEV");
  EXPECT_EQ(ibv_get_device_list(nullptr), nullptr);
  EXPECT_EQ(errno, ENODEV);
  const ContextPtr context = open_device();
  EXPECT_EQ(ibv_alloc_pd(context.get()), nullptr);
  EXPECT_EQ(errno, EAGAIN);
  const PdPtr pd(ibv_alloc_pd(context.get()));
  char byte = 0;
  // The header leads this call to ibv_reg_mr or to ibv_reg_mr_iova2.
  const int access = IBV_ACCESS_LOCAL_WRITE | static_cast<int>(std::getenv("URNIC_FAULT") == nullptr);
  EXPECT_EQ(ibv_reg_mr(pd.get(), &byte, 1, access), nullptr);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(ibv_create_cq(context.get(), 1, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, ENOSPC);
  ibv_gid gid{};
  EXPECT_EQ(ibv_query_gid(context.get(), 1, 0, &gid), -1);
  EXPECT_EQ(errno, EACCES);
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(context.get(), 1, &port), EBADF);
  EXPECT_EQ(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_2), nullptr);
  EXPECT_EQ(errno, EPERM);
  ibv_cq* const cq = ibv_create_cq(context.get(), 1, nullptr, nullptr, 0);
  ASSERT_NE(cq, nullptr);
  EXPECT_EQ(ibv_destroy_cq(cq), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
}

TEST(Injection, ADeadDeviceFlushesEverythingAndRefusesTheRest) {
  have_faults("async:DEVICE_FATAL:call=ibv_reg_mr:nth=2");
  Pair pair;
  Buffer buffer(pair.pd(), 8);
  ASSERT_EQ(post_receive(pair.b(), 7, {buffer.sge()}), 0);
  EXPECT_FALSE(has_event(pair.context()));
  EXPECT_EQ(ibv_reg_mr(pair.pd(), buffer.data(), 8, 0), nullptr);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(next_event(pair.context()).event_type, IBV_EVENT_DEVICE_FATAL);
  const ibv_wc wc = next_completion(pair.cq_b());
  EXPECT_EQ(wc.wr_id, 7u);
  EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(post_send(pair.a(), request(IBV_WR_RDMA_WRITE, buffer), {buffer.sge()}), EIO);
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(pair.context(), 1, &port), EIO);
  // What destroys the objects succeeds: their owners look.
}

TEST(Injection, APortGoesDownAndComesUpAgain) {
  have_faults("async:PORT_ERR:call=ibv_alloc_pd:for=50ms");
  const ContextPtr context = open_device();
  const PdPtr pd(ibv_alloc_pd(context.get()));
  EXPECT_EQ(next_event(context.get()).event_type, IBV_EVENT_PORT_ERR);
  ibv_port_attr port{};
  EXPECT_EQ(ibv_query_port(context.get(), 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_DOWN);
  EXPECT_EQ(next_event(context.get()).event_type, IBV_EVENT_PORT_ACTIVE);
  EXPECT_EQ(ibv_query_port(context.get(), 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
}

TEST(Injection, EventsNameTheObjectThatWasMadeAsThatOne) {
  have_faults(
      "async:QP_FATAL:qp=2:call=ibv_attach_mcast,async:CQ_ERR:cq=1:call=ibv_attach_mcast:nth=2,"
      "async:SRQ_ERR:call=ibv_attach_mcast:nth=3,async:CLIENT_REREGISTER:call=ibv_attach_mcast:nth=3,"
      "async:QP_FATAL:qp=9:call=ibv_attach_mcast");
  Pair pair;
  ibv_srq_init_attr of_srq{.srq_context = nullptr, .attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0}};
  const SrqPtr srq(ibv_create_srq(pair.pd(), &of_srq));
  const ibv_gid group{};
  const auto trigger = [&] { static_cast<void>(ibv_attach_mcast(pair.a(), &group, 0)); };
  trigger();
  ibv_async_event event = next_event(pair.context());
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_FATAL);
  EXPECT_EQ(event.element.qp, pair.b());
  EXPECT_EQ(state_of(pair.b()), IBV_QPS_ERR);
  EXPECT_EQ(state_of(pair.a()), IBV_QPS_RTS);
  trigger();
  event = next_event(pair.context());
  EXPECT_EQ(event.event_type, IBV_EVENT_CQ_ERR);
  EXPECT_EQ(event.element.cq, pair.cq_a());
  EXPECT_EQ(state_of(pair.a()), IBV_QPS_ERR);
  trigger();
  event = next_event(pair.context());
  EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_ERR);
  EXPECT_EQ(event.element.srq, srq.get());
  EXPECT_EQ(next_event(pair.context()).event_type, IBV_EVENT_CLIENT_REREGISTER);
  EXPECT_FALSE(has_event(pair.context())) << "there is no ninth queue pair";
}

/// What a program finds in the tables of a device that has these faults, in a process of its own.
struct Functions {
  decltype(ibv_context_ops::post_send) post_send;
  decltype(ibv_context_ops::post_recv) post_receive;
  decltype(ibv_context_ops::poll_cq) poll;
};

Functions functions_with(const char* faults) {
  int ends[2] = {};
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    have_faults(faults);
    ibv_context* const context = open_device().release();
    const Functions found{context->ops.post_send, context->ops.post_recv, context->ops.poll_cq};
    _exit(write(ends[1], &found, sizeof found) == sizeof found ? 0 : 1);
  }
  close(ends[1]);
  Functions found{};
  EXPECT_EQ(read(ends[0], &found, sizeof found), static_cast<ssize_t>(sizeof found));
  close(ends[0]);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  return found;
}

TEST(Injection, OnlyTheNamedCallGoesAnotherWay) {
  const Functions plain = functions_with("");
  const Functions faulty = functions_with("verb:ibv_post_recv=EIO:nth=1000");
  EXPECT_NE(faulty.post_receive, plain.post_receive);
  EXPECT_EQ(faulty.post_send, plain.post_send);
  EXPECT_EQ(faulty.poll, plain.poll);
}

}  // namespace
}  // namespace urnic::test
