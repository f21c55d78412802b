// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A primary writes blocks into the memory of its replica, over one connection. Over another one the replica
// answers that it has a block, and the primary commits eight blocks at a time, by a message for each. works.c
// (program works) or mended.c (program mended) has four decisions about this.
//
//   urnic run -- ./works                the replica
//   urnic run -- ./works localhost      the primary
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "decisions.h"
#include "meet.h"

enum { BLOCKS = 64, BLOCK = WORDS * (int)sizeof(uint32_t), ANSWER = 8, PAGE = 4096 };
// Where things stand in the memory of both.
enum { BLOCK_AT = 0, MESSAGES_AT = 2 * PAGE, ANSWERS_AT = 4 * PAGE, ALL = 5 * PAGE };
enum { SPARE = 2 };  // receives for what comes one by one: answers, and immediates

// Each queue has a completion queue of its own: completions of different queues come in no order.
struct ends {
  struct end blocks;  // the primary's WRITEs
  struct end out;     // the messages that this program sends ...
  struct end in;      // ... and those that come: the same queue pair, with another completion queue
  uint32_t inline_bytes;
};

static uint32_t* block_of(struct ends* ends) {
  return (uint32_t*)(ends->blocks.memory + BLOCK_AT);
}

static struct ibv_sge message_part(const struct ends* ends, uint64_t place) {
  return end_part(&ends->blocks, MESSAGES_AT + place * COMMIT, COMMIT);
}

static struct ibv_sge answer_part(const struct ends* ends, uint64_t place) {
  return end_part(&ends->blocks, ANSWERS_AT + place * ANSWER, ANSWER);
}

// For an immediate: the data go where the WRITE says.
static void post_empty_receive(struct end* end) {
  struct ibv_recv_wr request = {.wr_id = 0}, *bad;
  errno = ibv_post_recv(end->qp, &request, &bad);
  if (errno != 0) fail("cannot post a receive: %m");
}

// --- the connection for messages ---

static struct ibv_cq* make_cq(struct ibv_context* context) {
  struct ibv_cq* cq = ibv_create_cq(context, 2 * TOGETHER, NULL, NULL, 0);
  if (cq == NULL) fail("cannot make a completion queue: %m");
  return cq;
}

static void open_messages(struct ends* ends) {
  ends->out = ends->in = ends->blocks;
  ends->out.cq = make_cq(ends->out.context);
  ends->in.cq = make_cq(ends->in.context);
  struct ibv_qp_init_attr init = {
      .send_cq = ends->out.cq,
      .recv_cq = ends->in.cq,
      .qp_type = IBV_QPT_RC,
      .cap = {.max_send_wr = TOGETHER, .max_recv_wr = TOGETHER, .max_send_sge = 1, .max_recv_sge = 1}};
  struct ibv_qp* qp = make_message_qp(ends->blocks.pd, &init);
  if (qp == NULL)
    fail("GAP 2: the NIC refuses a queue pair with %u bytes inline: %m", init.cap.max_inline_data);
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = PORT};
  errno = ibv_modify_qp(qp, &attributes,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (errno != 0) fail("the queue pair refuses INIT: %m");
  ends->inline_bytes = init.cap.max_inline_data;
  ends->out.qp = ends->in.qp = qp;
}

static void connect_messages(struct ends* ends, int socket) {
  struct address mine = ends->blocks.mine, peers;
  mine.qp_number = ends->out.qp->qp_num;
  mine.psn += 1 << 16;  // so that a reader of the packets can tell the connections apart
  exchange(socket, &mine, &peers, sizeof mine);
  end_connect_qp(&ends->out, ends->out.qp, mine.psn, &peers);
  wait_for_each_other(socket);
}

// --- the primary ---

static void write_block(struct ends* ends, uint32_t number) {
  uint32_t* block = block_of(ends);
  for (int i = 0; i < WORDS; i++) block[i] = number;
  struct ibv_sge part = end_part(&ends->blocks, BLOCK_AT, BLOCK);
  struct ibv_send_wr write = end_write_request(&ends->blocks, number, &part, BLOCK_AT);
  write.opcode = opcode_of_block();
  write.imm_data = htonl(number);
  end_post(&ends->blocks, &write);
}

static void wait_for_answer(struct ends* ends, uint32_t number) {
  const uint64_t place = end_wait_for_success(&ends->in).wr_id;
  uint32_t answered;
  memcpy(&answered, ends->in.memory + ANSWERS_AT + place * ANSWER, sizeof answered);
  if (answered != number) fail("block %u is answered by %u", number, answered);
  end_post_receive(&ends->in, place, answer_part(ends, place));
}

// Sends the messages that commit the blocks up to `last`, all in one list.
static void commit(struct ends* ends, uint32_t last) {
  struct ibv_sge parts[TOGETHER];
  struct ibv_send_wr sends[TOGETHER];
  for (unsigned i = 0; i < TOGETHER; i++) {
    snprintf(ends->out.memory + MESSAGES_AT + i * COMMIT, COMMIT, "commit %u", last - TOGETHER + 1 + i);
    parts[i] = message_part(ends, i);
    sends[i] = (struct ibv_send_wr){
        .wr_id = i,
        .next = i + 1 < TOGETHER ? &sends[i + 1] : NULL,
        .sg_list = &parts[i],
        .num_sge = 1,
        .opcode = IBV_WR_SEND,
        .send_flags = IBV_SEND_SIGNALED | (ends->inline_bytes >= COMMIT ? (unsigned)IBV_SEND_INLINE : 0)};
  }
  end_post(&ends->out, &sends[0]);
  for (int i = 0; i < TOGETHER; i++) end_wait_for_success(&ends->out);
}

static void be_primary(struct ends* ends) {
  int unfinished = 0;
  for (uint32_t number = 1; number <= BLOCKS; number++) {
    write_block(ends, number);
    unfinished++;
    wait_for_answer(ends, number);
    unfinished -= wait_before_next_block(&ends->blocks);
    if (number % TOGETHER != 0) continue;
    for (; unfinished > 0; unfinished--) end_wait_for_success(&ends->blocks);
    commit(ends, number);
  }
  printf("%d blocks are written and committed\n", BLOCKS);
}

// --- the replica ---

static int is_whole(const uint32_t* block, uint32_t number) {
  for (int i = 0; i < WORDS; i++) {
    if (block[i] != number) return 0;
  }
  return 1;
}

static void answer(struct ends* ends, uint32_t number) {
  memcpy(ends->out.memory + ANSWERS_AT, &number, sizeof number);
  end_post_send(&ends->out, number, answer_part(ends, 0));
  end_wait_for_success(&ends->out);
}

// Takes the messages that commit the blocks up to `last`.
static void take_commits(struct ends* ends, uint32_t last) {
  for (uint32_t number = last - TOGETHER + 1; number <= last; number++) {
    const uint64_t place = end_wait_for_success(&ends->in).wr_id;
    const char* text = ends->in.memory + MESSAGES_AT + place * COMMIT;
    char expected[COMMIT];
    snprintf(expected, sizeof expected, "commit %u", number);
    if (strcmp(text, expected) != 0) fail("the message is \"%s\", and not \"%s\"", text, expected);
    end_post_receive(&ends->in, place, message_part(ends, place));
  }
}

static void be_replica(struct ends* ends) {
  int torn = 0;
  for (uint32_t number = 1; number <= BLOCKS; number++) {
    wait_for_block(&ends->blocks, block_of(ends), number);
    torn += !is_whole(block_of(ends), number);
    if (opcode_of_block() == IBV_WR_RDMA_WRITE_WITH_IMM) post_empty_receive(&ends->blocks);
    answer(ends, number);
    if (number % TOGETHER == 0) take_commits(ends, number);
  }
  if (torn != 0) fail("%d of %d blocks were not whole when the replica used them", torn, BLOCKS);
  printf("%d blocks are there, all whole, and %d messages\n", BLOCKS, BLOCKS);
}

int main(int argc, char** argv) {
  const int is_primary = argc > 1;
  struct ends ends;
  end_open(&ends.blocks, ALL, IBV_ACCESS_REMOTE_WRITE);
  open_messages(&ends);
  for (uint64_t i = 0; i < SPARE; i++) {
    if (is_primary) end_post_receive(&ends.in, i, answer_part(&ends, i));
    if (!is_primary) post_empty_receive(&ends.blocks);
  }
  for (uint64_t i = 0; i < (uint64_t)receives_for_messages() && !is_primary; i++)
    end_post_receive(&ends.in, i, message_part(&ends, i));
  const int socket = meet(is_primary ? argv[1] : NULL);
  end_connect(&ends.blocks, socket);
  connect_messages(&ends, socket);
  if (is_primary) be_primary(&ends);
  if (!is_primary) be_replica(&ends);
  wait_for_each_other(socket);
  return 0;
}
