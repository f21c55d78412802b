// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* How many requests fit into a queue, and what brings the room back. */
#include <errno.h>
#include <stddef.h>

#include "observation.h"
#include "sections.h"

enum { ASKED = 16 };

static int post_write(const struct nic* nic, struct ibv_qp* qp, bool is_signaled) {
  struct request request;
  request_make(nic, &request, IBV_WR_RDMA_WRITE, 8);
  request.wr.send_flags = is_signaled ? IBV_SEND_SIGNALED : 0;
  return request_post(qp, &request);
}

/* Posts requests until one is refused, with pauses in which the NIC does what was posted; at most `most`.
 * Returns how many were taken. */
static unsigned fill(const struct nic* nic, struct ibv_qp* qp, unsigned most, int* error) {
  for (unsigned count = 0; count < most; ++count) {
    if (count % ASKED == 0) let_it_work();
    *error = post_write(nic, qp, false);
    if (*error != 0) return count;
  }
  *error = 0;
  return most;
}

static void observe_unsignaled(const struct nic* nic, const struct pair* pair) {
  const uint32_t granted = pair->near.cap.max_send_wr;
  int error = 0;
  const unsigned count = fill(nic, pair->near.qp, 2 * granted, &error);
  observe_number(granted, "room.send.granted");
  observe_number(count, "room.send.unsignaled_fit");
  observe_text(error == 0         ? "never full"
               : count == granted ? "granted"
               : count < granted  ? "less than granted"
                                  : "more than granted",
               "room.send.unsignaled_fit_is");
  observe_text(error_name(error), "room.send.errno_when_full");
  let_it_work();
  if (error == 0)
    observe_nothing("it was never full", "room.send.errno_after_they_ended");
  else
    observe_text(error_name(post_write(nic, pair->near.qp, false)), "room.send.errno_after_they_ended");
}

/* One signaled request in the middle: its completion, once polled, is what frees it and those before. */
static void observe_poll(const struct nic* nic, const struct pair* pair) {
  const uint32_t granted = pair->near.cap.max_send_wr;
  const uint32_t middle = granted / 2;
  int error = 0;
  for (uint32_t i = 0; i < granted && error == 0; ++i)
    error = post_write(nic, pair->near.qp, i + 1 == middle);
  if (error != 0) {
    observe_nothing("less fits than was granted", "room.send.errno_before_poll");
    observe_nothing("less fits than was granted", "room.send.after_poll_fit_is");
    return;
  }
  let_it_work();
  error = post_write(nic, pair->near.qp, false);
  observe_text(error_name(error), "room.send.errno_before_poll");
  struct ibv_wc completion;
  if (error == 0 || !completion_wait(pair->near.send_cq, &completion, 1)) {
    observe_nothing(error == 0 ? "it was not full" : "no completion came", "room.send.after_poll_fit_is");
    return;
  }
  const unsigned count = fill(nic, pair->near.qp, 2 * granted, &error);
  observe_text(count == middle  ? "up to the polled"
               : count < middle ? "less"
                                : "more",
               "room.send.after_poll_fit_is");
}

static void observe_receives(const struct nic* nic, const struct pair* pair) {
  const uint32_t granted = pair->far.cap.max_recv_wr;
  unsigned count = 0;
  int error = 0;
  while (count < 2 * granted && (error = receive_post(nic, pair->far.qp, 64, count)) == 0) ++count;
  observe_number(granted, "room.receive.granted");
  observe_text(count == granted  ? "granted"
               : count < granted ? "less than granted"
                                 : "more than granted",
               "room.receive.fit_is");
  observe_text(error_name(error), "room.receive.errno_when_full");
  struct request send;
  request_make(nic, &send, IBV_WR_SEND, 8);
  struct ibv_wc completion;
  if (error == 0 || request_post(pair->near.qp, &send) != 0 ||
      !completion_wait(pair->near.send_cq, &completion, 1)) {
    observe_nothing("the send did not complete", "room.receive.errno_before_poll");
    observe_nothing("the send did not complete", "room.receive.errno_after_poll");
    return;
  }
  let_it_work();
  error = receive_post(nic, pair->far.qp, 64, count);
  observe_text(error_name(error), "room.receive.errno_before_poll");
  if (error == 0 || !completion_wait(pair->far.recv_cq, &completion, 1))
    observe_nothing("it was not full", "room.receive.errno_after_poll");
  else
    observe_text(error_name(receive_post(nic, pair->far.qp, 64, count)), "room.receive.errno_after_poll");
}

/* A queue may hold more than the program requests, and not less. */
static void observe_asked(const struct pair* pair) {
  observe_bool(pair->near.cap.max_send_wr >= ASKED, "room.send.granted_is_enough");
}

static void with_pair(const struct nic* nic, void (*observe)(const struct nic*, const struct pair*)) {
  struct pair_options options = usual_options();
  options.cap.max_send_wr = options.cap.max_recv_wr = ASKED;
  struct pair pair;
  if (!pair_open(nic, &options, &pair)) return;
  if (observe == observe_unsignaled) observe_asked(&pair);
  observe(nic, &pair);
  pair_close(&pair);
}

void observe_room(const struct nic* nic) {
  with_pair(nic, observe_unsignaled);
  with_pair(nic, observe_poll);
  with_pair(nic, observe_receives);
}
