// How long until a request without an answer fails? Foretells it for several ACK timeouts and retry counts,
// then measures. One program, no peer: its packets go to a queue pair that does not exist.
//
//   urnic run -- ./timers
#include <infiniband/verbs.h>
#include <stdio.h>
#include <time.h>

#include "end.h"
#include "meet.h"

static const struct { int timeout, retry_count; } kCases[] = {{12, 7}, {14, 2}, {15, 1}, {16, 0}};

// How long the NIC waits for an acknowledgement when the attribute `timeout` is `code`, in ms. (Code 0:
// forever.)
static double ack_timeout_ms(int code) {
  return 0.004096 * (1 << code);
}

// How often a request is on the wire before it fails.
static int transmissions(int retry_count) {
  return retry_count + 1;
}

// From the post to the completion with status 12.
static double time_to_failure_ms(int timeout, int retry_count) {
  return transmissions(retry_count) * ack_timeout_ms(timeout);
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

int main(void) {
  struct end end;
  end_open(&end, 64, 0);
  struct address nowhere = end.mine;
  for (int i = 0; i < 4; i++) {
    end.ack_timeout = kCases[i].timeout;
    end.retry_count = kCases[i].retry_count;
    if (i > 0) end.qp = end_another_qp(&end, 0);
    nowhere.qp_number = end.qp->qp_num + 100;  // the NIC drops what comes for it
    end_connect_qp(&end, end.qp, 100, &nowhere);
    const double begin = now_ms();
    end_post_send(&end, i, end_part(&end, 0, 8));
    const struct ibv_wc completion = end_wait_for_completion(&end);
    printf("timeout %d, retry_cnt %d: %d transmissions and %.1f ms foretold; %.1f ms until status %d\n",
           kCases[i].timeout, kCases[i].retry_count, transmissions(kCases[i].retry_count),
           time_to_failure_ms(kCases[i].timeout, kCases[i].retry_count), now_ms() - begin, completion.status);
  }
  return 0;
}
