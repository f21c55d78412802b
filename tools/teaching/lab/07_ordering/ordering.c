// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Four small programs in which the order matters. racy.c (program racy) or mended.c (program mended) has the
// decisions.
//
//   urnic run -- ./racy two                the server
//   urnic run -- ./racy localhost two      the client
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "decisions.h"
#include "end.h"
#include "meet.h"

enum { DATA = 512 << 10, NOTICE = DATA, ALL = DATA + 4096, MESSAGES = 64, WRITES = 320 };

// --- two: data over one queue pair, the notice that they are there over the same one or another ---

static void two(struct end* end, int socket, int is_client) {
  struct ibv_qp* other = end_another_qp(end, 0);
  struct address mine = end->mine, peers;
  mine.qp_number = other->qp_num;
  exchange(socket, &mine, &peers, sizeof mine);
  end_connect_qp(end, other, mine.psn, &peers);
  struct ibv_sge notice = end_part(end, NOTICE, 8), data = end_part(end, 0, DATA);
  if (!is_client) {  // ready on both, whichever the client takes
    struct ibv_recv_wr receive = {.sg_list = &notice, .num_sge = 1}, *bad;
    end_post_receive(end, 0, notice);
    if (ibv_post_recv(other, &receive, &bad) != 0) fail("cannot post a receive");
    memset(end->memory, 0, DATA);
  } else {
    memset(end->memory, 1, DATA);
  }
  wait_for_each_other(socket);
  if (is_client) {
    struct ibv_send_wr write = end_write_request(end, 1, &data, 0), *bad;
    struct ibv_send_wr send = {
        .wr_id = 2, .sg_list = &notice, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
    end_post(end, &write);
    if (ibv_post_send(qp_of_notice(end->qp, other), &send, &bad) != 0) fail("cannot post the notice");
    end_wait_for_success(end);
    end_wait_for_success(end);
  } else {
    end_wait_for_success(end);
    int there = 0;
    for (int i = 0; i < DATA; i++) there += end->memory[i];
    printf("the notice is there, and %d of %d bytes of data\n", there, DATA);
  }
}

// --- fence: the client fetches the server's text by READ, and sends it back ---

static void fence(struct end* end, int socket, int is_client) {
  strcpy(end->memory, is_client ? "old text" : "new text");
  struct ibv_sge text = end_part(end, 0, 16);
  if (!is_client) end_post_receive(end, 0, end_part(end, NOTICE, 16));
  wait_for_each_other(socket);
  if (is_client) {
    struct ibv_send_wr read = end_write_request(end, 1, &text, 0);
    struct ibv_send_wr send = {
        .wr_id = 2, .sg_list = &text, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = flags_behind_read()};
    read.opcode = IBV_WR_RDMA_READ;
    read.next = &send;  // one list: both are posted at once
    end_post(end, &read);
    end_wait_for_success(end);
    end_wait_for_success(end);
  } else {
    end_wait_for_success(end);
    printf("the client sent back: \"%s\"\n", end->memory + NOTICE);
  }
}

// --- reuse: messages 1, 2, 3 and so on, all from one buffer ---

static void reuse(struct end* end, int socket, int is_client) {
  enum { LENGTH = 8 };
  for (int i = 0; i < MESSAGES && !is_client; i++)
    end_post_receive(end, i, end_part(end, i * LENGTH, LENGTH));
  wait_for_each_other(socket);
  if (is_client) {
    int completed = 0;
    for (int posted = 0; posted < MESSAGES; posted++) {
      for (; !may_reuse(posted, completed); completed++) {
        if (completed == posted)
          fail("GAP 3: all that was posted is complete, and may_reuse() still says no");
        end_wait_for_success(end);
      }
      end->memory[0] = (char)(posted + 1);
      end_post_send(end, posted, end_part(end, 0, LENGTH));
    }
    for (; completed < MESSAGES; completed++) end_wait_for_success(end);
  } else {
    int wrong = 0;
    for (int i = 0; i < MESSAGES; i++) end_wait_for_success(end);
    for (int i = 0; i < MESSAGES; i++) wrong += end->memory[i * LENGTH] != i + 1;
    printf("%d messages are there, and %d of them have the text of another one\n", MESSAGES, wrong);
  }
}

// --- signal: many WRITEs, as few completions as possible ---

static void signal_some(struct end* end, int socket, int is_client) {
  wait_for_each_other(socket);
  struct ibv_sge part = end_part(end, 0, 8);
  static struct ibv_send_wr writes[WRITES];
  for (int begin = 0, next = 0; next < WRITES && is_client; begin = next) {
    int is_signaled = 0;
    while (next < WRITES && !is_signaled) {  // a list, up to the next one that is signaled
      writes[next] = end_write_request(end, next, &part, 0);
      writes[next].send_flags = flags_of_write(next);
      is_signaled = writes[next].send_flags & IBV_SEND_SIGNALED;
      if (next > begin) writes[next - 1].next = &writes[next];
      next++;
    }
    struct ibv_send_wr* bad = NULL;
    errno = ibv_post_send(end->qp, &writes[begin], &bad);
    if (errno != 0) fail("GAP 4: WRITE number %d is refused, as the send queue is full: %m", (int)bad->wr_id);
    if (is_signaled) end_wait_for_success(end);
  }
  if (is_client) printf("%d WRITEs are posted\n", WRITES);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(struct end* end, int socket, int is_client);
  } kCases[] = {{"two", two}, {"fence", fence}, {"reuse", reuse}, {"signal", signal_some}};
  const char* host = argc > 2 ? argv[1] : NULL;
  struct end end;
  end_open(&end, ALL, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  if (strcmp(argv[argc - 1], "reuse") == 0)
    end.ack_timeout = 12;  // 17 ms: packets get lost, and this is to be over soon
  const int socket = meet(host);
  end_connect(&end, socket);
  for (int i = 0; i < 4; i++) {
    if (argc > 1 && strcmp(argv[argc - 1], kCases[i].name) == 0) {
      kCases[i].run(&end, socket, host != NULL);
      wait_for_each_other(socket);
      return 0;
    }
  }
  fail("which case? two, fence, reuse or signal");
}
