// The same 64 messages for the same slow receiver, with flow control of our own: the receiver tells the
// sender how many messages it may have sent in all, its credit, by an RDMA WRITE into the sender's memory.
//
//   urnic run -- ./credits                the receiver
//   urnic run -- ./credits localhost      the sender
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "end.h"
#include "meet.h"

enum { MESSAGES = 64, BYTES = 1024, WORK_US = 1000, RECEIVES = 8, PATIENCE_SECONDS = 3 };

// The memory of both ends: RECEIVES places for messages, and then the credit. The receiver writes the
// sender's credit.
enum { CREDIT = RECEIVES * BYTES, ALL = CREDIT + sizeof(uint32_t) };

static uint32_t* credit_of(struct end* end) {
  return (uint32_t*)(end->memory + CREDIT);
}

static void post_receive(struct end* end, int message) {
  end_post_receive(end, message, end_part(end, message % RECEIVES * BYTES, BYTES));
}

// The receiver tells the sender its credit: so many messages in all.
static void tell_credit(struct end* end, uint32_t credit) {
  *credit_of(end) = credit;
  struct ibv_sge part = end_part(end, CREDIT, sizeof credit);
  struct ibv_send_wr request = end_write_request(end, 1000 + credit, &part, CREDIT);
  end_post(end, &request);
}

static void receive_all(struct end* end) {
  int received = 0;
  while (received < MESSAGES) {
    if (end_wait_for_success(end).opcode != IBV_WC_RECV) continue;  // a WRITE of ours is done
    usleep(WORK_US);
    received++;
    // The place of the message is free again. Which receive is the next one, and what may the sender know
    // then?
    const int next = received - 1 + RECEIVES;
    post_receive(end, next);
    tell_credit(end, next + 1);
  }
}

// Whether the sender, which has sent so many messages, may send another one.
static int may_send(int sent, uint32_t credit) {
  return (uint32_t)sent < credit;
}

static void send_all(struct end* end) {
  // The compiler does not know that the NIC changes this word.
  const volatile uint32_t* credit = credit_of(end);
  for (int sent = 0; sent < MESSAGES; sent++) {
    const time_t limit = time(NULL) + PATIENCE_SECONDS;
    while (!may_send(sent, *credit)) {
      if (time(NULL) > limit)
        fail("GAP 1: %d messages are sent, and no more credit came within %d s (it is %u)", sent,
             PATIENCE_SECONDS, *credit);
    }
    end_post_send(end, sent, end_part(end, sent % RECEIVES * BYTES, BYTES));
  }
  for (int i = 0; i < MESSAGES; i++) end_wait_for_success(end);
}

int main(int argc, char** argv) {
  const char* host = argc > 1 ? argv[1] : NULL;
  struct end end;
  end_open(&end, ALL, IBV_ACCESS_REMOTE_WRITE);
  *credit_of(&end) = RECEIVES;  // what both ends agree on before they begin
  const int socket = meet(host);
  for (int i = 0; host == NULL && i < RECEIVES; i++) post_receive(&end, i);
  end_connect(&end, socket);
  if (host == NULL) receive_all(&end);
  if (host != NULL) send_all(&end);
  printf("%d messages are %s\n", MESSAGES, host == NULL ? "received" : "sent");
  wait_for_each_other(socket);
  return 0;
}
