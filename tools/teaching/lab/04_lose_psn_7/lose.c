// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A connection on which one packet is lost. The client does what its arguments say; `urnic run --fault` loses
// the packet.
//
//   urnic run -- ./lose write 12                  the server, in one terminal
//   urnic run -- ./lose localhost write 12        the client, in another
//
//   write N       one WRITE of N packets
//   two N         a WRITE of N packets, and 20 ms later another one
//   read N        one READ of N packets
//   add N         N times FETCH AND ADD of 1 to the same number
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "end.h"
#include "meet.h"

enum { MTU = 1024, MOST_PACKETS = 64, FIRST_PSN = 100, LATER_US = 20000 };

static void post_write(struct end* end, uint64_t wr_id, int packets) {
  struct ibv_sge part = end_part(end, 0, (size_t)packets * MTU);
  struct ibv_send_wr request = end_write_request(end, wr_id, &part, 0);
  end_post(end, &request);
}

static void post_read(struct end* end, int packets) {
  struct ibv_sge part = end_part(end, 0, (size_t)packets * MTU);
  struct ibv_send_wr request = end_write_request(end, 1, &part, 0);
  request.opcode = IBV_WR_RDMA_READ;
  end_post(end, &request);
}

// The number is the first one of the server's memory; what it was before comes to the n-th of ours.
static void post_add(struct end* end, int n) {
  struct ibv_sge part = end_part(end, 8 * (size_t)n, 8);
  struct ibv_send_wr request = {
      .wr_id = (uint64_t)n,
      .sg_list = &part,
      .num_sge = 1,
      .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
      .send_flags = IBV_SEND_SIGNALED,
      .wr.atomic = {.remote_addr = end->peers.memory, .rkey = end->peers.rkey, .compare_add = 1}};
  end_post(end, &request);
}

static void run_client(struct end* end, const char* what, int packets) {
  int requests = 1;
  if (strcmp(what, "write") == 0) {
    post_write(end, 1, packets);
  } else if (strcmp(what, "two") == 0) {
    requests = 2;
    post_write(end, 1, packets);
    usleep(LATER_US);  // less than the ACK timeout
    post_write(end, 2, packets);
  } else if (strcmp(what, "read") == 0) {
    post_read(end, packets);
  } else {
    requests = packets;
    for (int n = 0; n < packets; n++) post_add(end, n);
  }
  for (int i = 0; i < requests; i++) end_wait_for_success(end);
  if (strcmp(what, "add") != 0) return;
  for (int n = 0; n < packets; n++) printf("%s%d", n > 0 ? " " : "the number was ", (int)((uint64_t*)end->memory)[n]);
  printf("\n");
}

int main(int argc, char** argv) {
  if (argc < 3) fail("what, and how many packets? write 12, two 4, read 12, add 10");
  const char* host = argc > 3 ? argv[1] : NULL;
  const char* what = argv[argc - 2];
  const int packets = atoi(argv[argc - 1]);
  if (packets < 1 || packets > MOST_PACKETS) fail("1 to %d packets, please", MOST_PACKETS);
  struct end end;
  end_open(&end, MOST_PACKETS * MTU, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
  end.mine.psn = FIRST_PSN;
  end.path_mtu = IBV_MTU_1024;
  end.ack_timeout = 16;  // 268 ms
  memset(end.memory, 0, end.bytes);
  const int socket = meet(host);
  end_connect(&end, socket);
  if (host != NULL) run_client(&end, what, packets);
  wait_for_each_other(socket);
  if (host == NULL && strcmp(what, "add") == 0) printf("the number is %d\n", (int)*(uint64_t*)end.memory);
  end_close(&end);
  return 0;
}
