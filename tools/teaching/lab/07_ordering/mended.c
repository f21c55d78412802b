// The decisions, for you to mend. At first they are the same as in racy.c.
#include "decisions.h"

// GAP 1: with which of the two does the notice come after the data?
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

// GAP 4: a work request's room in the send queue is free when the program has polled its completion, or a
// later request's.
unsigned flags_of_write(int number) {
  (void)number;
  return 0;
}
