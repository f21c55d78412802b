// The decisions, for you to mend. They are those of racy.c.
#include "decisions.h"

// GAP 1: which of the two keeps the notice behind the data?
struct ibv_qp* qp_of_notice(struct ibv_qp* of_data, struct ibv_qp* other) {
  (void)of_data;
  return other;
}

// GAP 2: which flag makes the SEND wait for the READ before it? (man ibv_post_send)
unsigned flags_behind_read(void) {
  return IBV_SEND_SIGNALED;
}

// GAP 3: what tells that the NIC does not need the memory any more?
int may_reuse(int posted, int completed) {
  (void)posted, (void)completed;
  return 1;
}

// GAP 4: the room of a work request in the send queue is free when a completion, its own or that of a later one, was polled.
unsigned flags_of_write(int number) {
  (void)number;
  return 0;
}
