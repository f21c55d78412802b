// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The decisions that look right at first. None of them fails at once, or always.
#include "decisions.h"

struct ibv_qp* qp_of_notice(struct ibv_qp* of_data, struct ibv_qp* other) {
  (void)of_data;
  return other;  // why should a small notice wait for large data?
}

unsigned flags_behind_read(void) {
  return IBV_SEND_SIGNALED;  // the READ is posted first, so it is done first. Is it?
}

int may_reuse(int posted, int completed) {
  (void)posted, (void)completed;
  return 1;  // ibv_post_send() has returned, so the message is on its way
}

unsigned flags_of_write(int number) {
  (void)number;
  return 0;  // completions cost time, so we ask for none
}
