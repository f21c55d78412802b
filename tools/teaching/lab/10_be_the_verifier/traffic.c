// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Something of everything, for a verifier to look at: SENDs, WRITEs and READs of several lengths, with PSNs
// that go beyond 0xffffff.
//
//   urnic run -- ./traffic                the server
//   urnic run -- ./traffic localhost      the client
#include <infiniband/verbs.h>
#include <stdio.h>

#include "end.h"
#include "meet.h"

enum { MESSAGES = 24, LARGEST = 5000, FIRST_PSN = 0xffffe8 };

static const size_t kLengths[] = {1, 1024, 2500, LARGEST};

static size_t length_of(int message) {
  return kLengths[message % 4];
}

static enum ibv_wr_opcode operation_of(int message) {
  static const enum ibv_wr_opcode kOperations[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ};
  return kOperations[message % 3];
}

int main(int argc, char** argv) {
  const char* host = argc > 1 ? argv[1] : NULL;
  struct end end;
  end_open(&end, LARGEST, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  end.mine.psn = FIRST_PSN;
  end.ack_timeout = 14;  // 4.096 us x 2^14 = 67 ms: packets get lost, and this is to be over soon
  const int socket = meet(host);
  for (int i = 0; host == NULL && i < MESSAGES; i++) {
    if (operation_of(i) == IBV_WR_SEND) end_post_receive(&end, i, end_part(&end, 0, LARGEST));
  }
  end_connect(&end, socket);
  for (int i = 0; host != NULL && i < MESSAGES; i++) {
    struct ibv_sge part = end_part(&end, 0, length_of(i));
    struct ibv_send_wr request = end_write_request(&end, i, &part, 0);
    request.opcode = operation_of(i);
    end_post(&end, &request);
    // A SEND is on its way alone; a WRITE and the READ after it are on their way together.
    if (request.opcode != IBV_WR_RDMA_WRITE) end_wait_for_success(&end);
    if (request.opcode == IBV_WR_RDMA_READ) end_wait_for_success(&end);
  }
  if (host != NULL) printf("%d messages are done\n", MESSAGES);
  wait_for_each_other(socket);
  end_close(&end);
  return 0;
}
