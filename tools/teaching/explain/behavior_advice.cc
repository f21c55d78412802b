// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a program does, so that it bears each behavior of a legal adversary.
#include "tools/teaching/explain/advice.h"

namespace urnic::explain {
namespace {

using verbs_api::Finding;

// post_write(), wait_for_completion() and so on stand for what a program makes of several verbs.
constexpr Advice kOnBehaviors[] = {
    {"late-payload", "poll the completion before you write to the buffer, or use another one meanwhile",
     Finding::kBufferChangedBeforeCompletion},
    {.name = "slow-queue-pair",
     .text = "send the notice on the queue pair that the data go by, after them",
     .wrong = R"(post_write(qp_of_data, data, 0);
post_send(qp_of_notices, notice, IBV_SEND_SIGNALED);)",
     .right = R"(post_write(qp, data, 0);
post_send(qp, notice, IBV_SEND_SIGNALED);)"},
    {.name = "slow-read",
     .text = "put a version or a checksum into what changes, and read again where it does not fit",
     .wrong = R"(post_read(qp, record, IBV_SEND_SIGNALED);  // the peer changes it now and then
wait_for_completion(cq);
use(record);)",
     .right = R"(do {
  post_read(qp, record, IBV_SEND_SIGNALED);
  wait_for_completion(cq);
} while (checksum_of(record) != record->checksum);
use(record);)"},
    {.name = "late-placement",
     .text = "wait for a completion that tells of the data: WRITE with immediate, or a SEND after it",
     .wrong = R"(while (buffer[0] == 0) {}  // what the peer writes
use(buffer);)",
     .right = R"(/* the peer posts IBV_WR_RDMA_WRITE_WITH_IMM */
wait_for_completion(cq);
use(buffer);)"},
    {.name = "last-bytes-first",
     .text = "wait for a completion that tells of the data: WRITE with immediate, or a SEND after it",
     .wrong = R"(while (buffer[length - 1] == 0) {}  // the last byte, so the rest is there
use(buffer);)",
     .right = R"(/* the peer posts IBV_WR_RDMA_WRITE_WITH_IMM */
wait_for_completion(cq);
use(buffer);)"},
    {.name = "late-completion",
     .text = "poll until the completion is there; give up by the clock, if at all",
     .wrong = R"(for (int i = 0; i < 1000; ++i) {
  if (ibv_poll_cq(cq, 1, &wc) == 1) return handle(&wc);
}
give_up();)",
     .right = R"(while (ibv_poll_cq(cq, 1, &wc) == 0) {
  if (now() > deadline) give_up();
}
handle(&wc);)"},
    {.name = "completions-in-parts",
     .text = "count what ibv_poll_cq() has returned, and poll on",
     .wrong = R"(wait_for_event(channel);
ibv_poll_cq(cq, 8, wc);  // eight were posted, so eight are there)",
     .right = R"(for (int got = 0; got < 8; got += count) {
  count = ibv_poll_cq(cq, 8 - got, wc + got);
  if (count < 0) fail();
})"},
    {.name = "queues-out-of-order",
     .text = "find out by wr_id what has completed; expect no order of different queues",
     .wrong = R"(post_request(qp);
handle_sent(next_completion(cq));
handle_reply(next_completion(cq));)",
     .right = R"(post_request(qp);
for (int i = 0; i < 2; ++i) {
  wc = next_completion(cq);
  if (wc.wr_id == kReply) handle_reply(wc);
  else handle_sent(wc);
})"},
    {.name = "garbage-in-undefined-fields",
     .text = "look at the status first, and find the request by its wr_id",
     .finding = Finding::kUndefinedFieldRead,
     .wrong = R"(if (wc.opcode == IBV_WC_RECV) handle_message(wc.byte_len);
else if (wc.status != IBV_WC_SUCCESS) fail();)",
     .right = R"(if (wc.status != IBV_WC_SUCCESS) fail();
else if (wc.opcode == IBV_WC_RECV) handle_message(wc.byte_len);)"},
    {.name = "completion-after-destroy",
     .text = "poll all completions of the queue pair, and free what their wr_id points to after that",
     .finding = Finding::kDestroyedWithWorkOutstanding,
     .wrong = R"(ibv_destroy_qp(qp);
free(requests);
while (ibv_poll_cq(cq, 1, &wc) == 1) handle((struct request*)wc.wr_id);)",
     .right = R"(modify_to_error(qp);
while (outstanding > 0) {
  if (ibv_poll_cq(cq, 1, &wc) == 1) --outstanding;
}
ibv_destroy_qp(qp);
free(requests);)"},
    {.name = "late-completion-event",
     .text = "wait for as long as the peer may take; a short limit is for a look at other things only",
     .wrong = R"(if (poll(&channel_fd, 1, /*ms=*/5) == 0) reconnect();)",
     .right = R"(while (poll(&channel_fd, 1, /*ms=*/5) == 0) {
  do_something_else();
  if (now() > deadline) reconnect();
})"},
    {.name = "spurious-completion-event",
     .text = "look at what ibv_poll_cq() returns after each event",
     .wrong = R"(ibv_get_cq_event(channel, &cq, &context);
ibv_poll_cq(cq, 1, &wc);
handle(&wc);)",
     .right = R"(ibv_get_cq_event(channel, &cq, &context);
ibv_req_notify_cq(cq, 0);
while (ibv_poll_cq(cq, 1, &wc) == 1) handle(&wc);)"},
    {"no-event-for-waiting", "arm the queue, then poll until it is empty, then wait for the event",
     Finding::kSleepWithCompletionsWaiting},
    {.name = "late-flush",
     .text = "count what is outstanding, and poll until all of it has come back",
     .finding = Finding::kDestroyedWithWorkOutstanding,
     .wrong = R"(modify_to_error(qp);
while (ibv_poll_cq(cq, 1, &wc) == 1) {}  // empty, so all is flushed
free(buffers);)",
     .right = R"(modify_to_error(qp);
while (outstanding > 0) {
  if (ibv_poll_cq(cq, 1, &wc) == 1) --outstanding;
}
free(buffers);)"},
    {"exact-room", "request the room that you use", Finding::kRoomNotRequested},
    {.name = "different-keys",
     .text = "put mr->lkey into elements, and give mr->rkey to the peer",
     .finding = Finding::kUnknownLocalKey,
     .wrong = R"(sge.lkey = mr->rkey;)",
     .right = R"(sge.lkey = mr->lkey;
tell_peer(mr->rkey);)"},
    {.name = "garbage-in-query",
     .text = "name each attribute that you read in the mask",
     .wrong = R"(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
mtu = attr.path_mtu;)",
     .right = R"(ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PATH_MTU, &init);
mtu = attr.path_mtu;)"},
    {"slow-control-verbs", "make what you need before you begin, and keep it",
     Finding::kRegistrationPerMessage},
    {.name = "unexpected-events",
     .text = "heed the events that you know, acknowledge all of them, and go on",
     .finding = Finding::kEventsNotAcknowledged,
     .wrong = R"(ibv_get_async_event(context, &event);
abort();  // something has happened)",
     .right = R"(ibv_get_async_event(context, &event);
if (event.event_type == IBV_EVENT_QP_FATAL) close_connection(event.element.qp);
ibv_ack_async_event(&event);)"},
    {"lost-packets", "poll the completion before you write to the buffer: it may be read again",
     Finding::kBufferChangedBeforeCompletion},
    {.name = "duplicated-packets",
     .text = "wait for completions, and never for a time",
     .wrong = R"(post_write(qp, data, 0);
usleep(100);  // it takes 2 us
reuse(data);)",
     .right = R"(post_write(qp, data, IBV_SEND_SIGNALED);
wait_for_completion(cq);
reuse(data);)"},
    {"reordered-packets", "poll the completion before you write to the buffer: it may be read again",
     Finding::kBufferChangedBeforeCompletion},
    {.name = "lost-datagrams",
     .text = "number the datagrams, wait with a limit, and request what is missing",
     .wrong = R"(for (int got = 0; got < count; ++got) wait_for_completion(cq);)",
     .right = R"(while (!is_complete(numbers)) {
  if (ibv_poll_cq(cq, 1, &wc) == 1) add(numbers, &wc);
  else if (now() > deadline) request_again(missing(numbers));
})"},
};

}  // namespace

std::span<const Advice> advice_on_behaviors() {
  return kOnBehaviors;
}

}  // namespace urnic::explain
