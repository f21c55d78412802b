// The decisions, mended. Each function says what must come before what.
#include "decisions.h"

// One queue pair keeps its order, two know nothing of each other.
struct ibv_qp* qp_of_notice(struct ibv_qp* of_data, struct ibv_qp* other) {
  (void)other;
  return of_data;
}

// A READ is done when its response has come; requests posted after it do not wait for that, unless they are
// fenced.
unsigned flags_behind_read(void) {
  return IBV_SEND_SIGNALED | IBV_SEND_FENCE;
}

// Until the completion the NIC may read the memory again.
int may_reuse(int posted, int completed) {
  return completed == posted;
}

// The completion of a signaled request says that those before it are done, too, and makes room for them all.
unsigned flags_of_write(int number) {
  return number % 64 == 63 ? IBV_SEND_SIGNALED : 0;
}
