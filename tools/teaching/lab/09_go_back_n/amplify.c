// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// WRITEs of different sizes through a network that loses packets: how many packets does the client's NIC send
// for each packet of payload? The program only writes; the packets are counted in the recording.
//
//   urnic run -- ./amplify 1024                                                         the server
//   urnic run --fault loss=0.05,seed=SEED,direction=tx -- ./amplify localhost 1024      the client
//
// The number says for how many packets of payload: so many for the largest message, fewer for the smaller
// ones.
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>

#include "end.h"
#include "meet.h"

enum { MTU = 256, LARGEST = 32 };

// Each case has a queue pair of its own. `messages` WRITEs of `packets` packets each are posted at once; the
// next ones follow when all of them are complete. So never more than LARGEST packets are on their way.
static const struct {
  int messages, packets, share;  // of the payload: 1 / share
} kCases[] = {{1, 1, 8}, {1, 4, 4}, {1, 16, 2}, {1, 32, 1}, {32, 1, 2}};
enum { CASES = sizeof kCases / sizeof *kCases };

static void write_at_once(struct end* end, int messages, int packets) {
  struct ibv_sge part = end_part(end, 0, (size_t)packets * MTU);
  struct ibv_send_wr writes[LARGEST];
  for (int i = 0; i < messages; i++) {
    writes[i] = end_write_request(end, i, &part, 0);
    if (i > 0) writes[i - 1].next = &writes[i];
  }
  end_post(end, writes);
  for (int i = 0; i < messages; i++) end_wait_for_success(end);
}

int main(int argc, char** argv) {
  const char* host = argc > 2 ? argv[1] : NULL;
  const int payload = atoi(argv[argc - 1]);
  if (payload < 2 * LARGEST) fail("how many packets of payload? 64 or more");
  struct end end;
  end_open(&end, LARGEST * MTU, IBV_ACCESS_REMOTE_WRITE);
  end.path_mtu = IBV_MTU_256;
  end.ack_timeout = 13;  // 4.096 us x 2^13 = 34 ms
  const int socket = meet(host);
  for (int i = 0; i < CASES; i++) {
    if (i > 0) end.qp = end_another_qp(&end, IBV_ACCESS_REMOTE_WRITE);
    end.mine.qp_number = end.qp->qp_num;
    end_connect(&end, socket);
    const int at_once = kCases[i].messages * kCases[i].packets;
    for (int left = payload / kCases[i].share; host != NULL && left >= at_once; left -= at_once)
      write_at_once(&end, kCases[i].messages, kCases[i].packets);
    if (host != NULL) printf("%d x %d packets at a time: done\n", kCases[i].messages, kCases[i].packets);
    wait_for_each_other(socket);
  }
  return 0;
}
