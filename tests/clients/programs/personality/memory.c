// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* What a refused WRITE leaves in memory, what the end of a registration looks like to a peer that is writing,
 * and which registrations are refused. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "../test_client.h"
#include "observation.h"
#include "sections.h"

enum { WRITTEN = 0x5a, STREAM_BYTES = 4096, STREAM_WRITES = 200, WHOLE_PACKETS = 4, ODD_BYTES = 100 };

static const int kRemoteWrite = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

/* A WRITE of eight packets into a region that ends in the fifth. */
static void observe_write_past_end(const struct nic* nic, const struct pair* pair) {
  memset(nic->near, WRITTEN, 2 * WHOLE_PACKETS * nic->mtu);
  memset(nic->far, 0, 2 * WHOLE_PACKETS * nic->mtu);
  struct ibv_mr* const region =
      ibv_reg_mr(nic->pd, nic->far, WHOLE_PACKETS * nic->mtu + ODD_BYTES, kRemoteWrite);
  if (region == NULL) return;
  struct request request;
  request_make(nic, &request, IBV_WR_RDMA_WRITE, 2 * WHOLE_PACKETS * nic->mtu);
  request.wr.wr.rdma.rkey = region->rkey;
  struct ibv_wc completion;
  if (request_post(pair->near.qp, &request) == 0 && completion_wait(pair->near.send_cq, &completion, 2)) {
    unsigned bytes = 0;
    while (bytes < 2 * WHOLE_PACKETS * nic->mtu && nic->far[bytes] == WRITTEN) ++bytes;
    observe_text(status_name(completion.status), "write_past_end.status");
    observe_number(bytes / nic->mtu, "write_past_end.whole_packets_left");
    observe_number(bytes % nic->mtu, "write_past_end.odd_bytes_left");
  } else {
    observe_nothing("no completion came", "write_past_end.status");
  }
  ibv_dereg_mr(region);
}

/* WRITEs go on, one after the other, while their region is deregistered. */
static void observe_deregistration(const struct nic* nic, const struct pair* pair) {
  struct ibv_mr* const region = ibv_reg_mr(nic->pd, nic->far, STREAM_BYTES, kRemoteWrite);
  if (region == NULL) return;
  struct request request;
  request_make(nic, &request, IBV_WR_RDMA_WRITE, STREAM_BYTES);
  request.wr.wr.rdma.rkey = region->rkey;
  struct ibv_wc completion = {.status = IBV_WC_SUCCESS};
  for (unsigned i = 0; i < STREAM_WRITES && completion.status == IBV_WC_SUCCESS; ++i) {
    if (request_post(pair->near.qp, &request) != 0 || !completion_wait(pair->near.send_cq, &completion, 2))
      break;
  }
  if (completion.status != IBV_WC_SUCCESS) {
    observe_nothing("the WRITEs before fail", "dereg.status");
    ibv_dereg_mr(region);
    return;
  }
  const bool is_in_flight = request_post(pair->near.qp, &request) == 0;
  const double start = seconds_now();
  const int error = ibv_dereg_mr(region);
  observe_text(error_name(error), "dereg.errno");
  if (is_in_flight) completion_wait(pair->near.send_cq, &completion, 2);
  for (unsigned i = 0; i < 3 && completion.status == IBV_WC_SUCCESS; ++i) {
    if (request_post(pair->near.qp, &request) != 0) break;
    if (!completion_wait(pair->near.send_cq, &completion, 8)) break;
  }
  observe_text(status_name(completion.status), "dereg.status");
  observe_number((uint64_t)((seconds_now() - start) * 1e6), "dereg.silence_us");
  observe_number(completion.vendor_err, "dereg.vendor_err");
}

static void observe_registrations(const struct nic* nic) {
  static const struct {
    const char* name;
    int rights;
  } tries[] = {
      {"remote_write_without_local_write", IBV_ACCESS_REMOTE_WRITE},
      {"remote_atomic_without_local_write", IBV_ACCESS_REMOTE_ATOMIC},
      {"remote_read_alone", IBV_ACCESS_REMOTE_READ},
  };
  for (size_t i = 0; i < sizeof tries / sizeof *tries; ++i) {
    errno = 0;
    struct ibv_mr* const region = ibv_reg_mr(nic->pd, nic->far, 4096, tries[i].rights);
    observe_text(error_name(region == NULL ? errno : 0), "reg_mr.%s", tries[i].name);
    if (region != NULL) ibv_dereg_mr(region);
  }
  struct ibv_mr* const region = ibv_reg_mr(nic->pd, nic->far, 4096, kRemoteWrite);
  if (region == NULL) return;
  observe_bool(region->lkey == region->rkey, "reg_mr.keys_are_equal");
  ibv_dereg_mr(region);
}

void observe_memory(const struct nic* nic) {
  with_usual_pair(nic, observe_write_past_end);
  with_usual_pair(nic, observe_deregistration);
  observe_registrations(nic);
}
