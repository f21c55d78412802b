// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* How long a request to a queue pair that says nothing takes until it fails, by timeout and retry count. All
 * wait at the same time, each on queue pairs of its own. */
#include <stddef.h>
#include <unistd.h>

#include "../test_client.h"
#include "observation.h"
#include "sections.h"

static const struct {
  uint8_t timeout, retry_cnt;
  bool is_slow;
} waits[] = {
    {8, 7, false},  {14, 7, false}, {14, 0, false}, {14, 3, false}, {14, 1, false},
    {17, 1, false}, {16, 7, true},  {17, 7, true},  {18, 7, true},
};

enum { WAITS = sizeof waits / sizeof *waits };

struct waiting {
  struct pair pair;
  bool is_posted, has_ended;
  double start;
};

static void begin(const struct nic* nic, struct waiting* waiting, size_t which) {
  struct pair_options options = usual_options();
  options.far_stays_in_reset = true;
  options.timeout = waits[which].timeout;
  options.retry_cnt = waits[which].retry_cnt;
  if (!pair_open(nic, &options, &waiting->pair)) return;
  struct request request;
  request_make(nic, &request, IBV_WR_RDMA_WRITE, 64);
  waiting->start = seconds_now();
  waiting->is_posted = request_post(waiting->pair.near.qp, &request) == 0;
}

static bool take(struct waiting* waiting, size_t which) {
  struct ibv_wc wc;
  if (!completion_wait(waiting->pair.near.send_cq, &wc, 0)) return false;
  const unsigned timeout = waits[which].timeout, retries = waits[which].retry_cnt;
  observe_number((uint64_t)((seconds_now() - waiting->start) * 1000), "time.%u.%u.ms", timeout, retries);
  observe_text(status_name(wc.status), "time.%u.%u.status", timeout, retries);
  observe_number(wc.vendor_err, "time.%u.%u.vendor_err", timeout, retries);
  return true;
}

void observe_timing(const struct nic* nic, bool is_slow) {
  const double most = is_slow ? 20 : 6;
  struct waiting waiting[WAITS] = {0};
  size_t left = 0;
  for (size_t i = 0; i < WAITS; ++i) {
    if (waits[i].is_slow && !is_slow) continue;
    begin(nic, &waiting[i], i);
    if (waiting[i].is_posted) ++left;
  }
  const double end = seconds_now() + most;
  while (left != 0 && seconds_now() < end) {
    for (size_t i = 0; i < WAITS; ++i) {
      if (!waiting[i].is_posted || waiting[i].has_ended || !take(&waiting[i], i)) continue;
      waiting[i].has_ended = true;
      --left;
    }
    usleep(200);
  }
  for (size_t i = 0; i < WAITS; ++i) {
    const unsigned timeout = waits[i].timeout, retries = waits[i].retry_cnt;
    if (waiting[i].is_posted && !waiting[i].has_ended) {
      observe_text("never", "time.%u.%u.ms", timeout, retries);
      observe_nothing("no completion came", "time.%u.%u.status", timeout, retries);
      observe_nothing("no completion came", "time.%u.%u.vendor_err", timeout, retries);
    }
    if (waiting[i].is_posted) pair_close(&waiting[i].pair);
  }
}
