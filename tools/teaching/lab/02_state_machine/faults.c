// Makes a work request fail on purpose, with the status that the argument says.
//
//   urnic run --explain -- ./faults 10                the server
//   urnic run --explain -- ./faults localhost 10      the client, whose work request fails
//
// 4 local protection error, 5 flushed, 10 remote access error, 12 retry exceeded, 13 RNR retry exceeded
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "end.h"
#include "meet.h"

enum { BYTES = 4096, LENGTH = 100 };

// The client, before the queue pairs are connected: `end->mine` and `end->peers` are known, and the
// attributes can be changed.
static void before_connecting(struct end* end, int wanted) {
  end->ack_timeout = wanted == 12 ? 12 : 18;  // 17 ms, or 1.07 s
  end->retry_count = 3;
  end->rnr_retry = 2;
  if (wanted == 12) {
    // GAP 12: an address that leads to no queue pair. What stands in end->peers?
  }
}

// The client, before it posts `request`, whose only element is `part`: a WRITE to the peer, or a SEND where
// 13 is wanted.
static void before_posting(struct ibv_sge* part, struct ibv_send_wr* request, int wanted) {
  if (wanted == 4) {
    // GAP 4: an element that this NIC's own check of local memory refuses. What stands in *part? (Leave its
    // length: of a WRITE that is longer than the memory the first packets leave, before the NIC comes to the
    // end.)
    (void)part;
  }
  if (wanted == 10) {
    // GAP 10: a request that the peer's NIC refuses. What stands in request->wr.rdma?
    (void)request;
  }
}

// The client, where 5 is wanted: three receives are posted, for messages that never come.
static void flush(struct end* end) {
  // GAP 5: take end->qp to the state in which all that is posted is flushed.
  (void)end;
}

// The server, before the client posts.
static void prepare_server(struct end* end, int wanted) {
  (void)wanted;  // GAP 13: where 13 is wanted, the server is not ready. What must be left out?
  end_post_receive(end, 1, end_part(end, 0, LENGTH));
}

static void expect(const struct ibv_wc* completion, int wanted) {
  printf("work request %d: status %d, %s\n", (int)completion->wr_id, completion->status,
         ibv_wc_status_str(completion->status));
  if ((int)completion->status != wanted) fail("GAP %d: make it end with status %d", wanted, wanted);
}

// A receive that is flushed completes soon; one that is still posted does not.
static int completes_soon(struct end* end, struct ibv_wc* completion) {
  const time_t limit = time(NULL) + 1;
  while (time(NULL) <= limit) {
    if (ibv_poll_cq(end->cq, 1, completion) == 1) return 1;
  }
  return 0;
}

static void run_client(struct end* end, int wanted) {
  if (wanted == 5) {
    for (int i = 1; i <= 3; i++) end_post_receive(end, (uint64_t)i, end_part(end, 0, LENGTH));
    flush(end);
    for (int i = 1; i <= 3; i++) {
      struct ibv_wc completion;
      if (!completes_soon(end, &completion))
        fail("GAP 5: receive %d is not flushed: make it end with status 5", i);
      expect(&completion, wanted);
    }
    return;
  }
  struct ibv_sge part = end_part(end, 0, LENGTH);
  struct ibv_send_wr request = end_write_request(end, 7, &part, 0);
  if (wanted == 13) request.opcode = IBV_WR_SEND;
  before_posting(&part, &request, wanted);
  end_post(end, &request);
  const struct ibv_wc completion = end_wait_for_completion(end);
  expect(&completion, wanted);
}

int main(int argc, char** argv) {
  if (argc < 2) fail("which status? 4, 5, 10, 12 or 13");
  const char* host = argc > 2 ? argv[1] : NULL;
  const int wanted = atoi(argv[argc - 1]);
  struct end end;
  end_open(&end, BYTES, IBV_ACCESS_REMOTE_WRITE);
  const int socket = meet(host);
  exchange(socket, &end.mine, &end.peers, sizeof end.mine);
  if (host != NULL) before_connecting(&end, wanted);
  end_connect_qp(&end, end.qp, end.mine.psn, &end.peers);
  if (host == NULL) prepare_server(&end, wanted);
  wait_for_each_other(socket);
  if (host != NULL) run_client(&end, wanted);
  wait_for_each_other(socket);
  return 0;
}
