// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Three messages of 16 packets each, one after the other. The fault injector of the client's NIC loses four
// packets.
//
//   urnic run -- ./three                                                          the server
//   urnic run --fault loss=0.04,seed=SEED,direction=tx -- ./three localhost       the client; README.md has
//   the seed
#include <infiniband/verbs.h>
#include <stdio.h>
#include <time.h>

#include "end.h"
#include "meet.h"

enum { MESSAGES = 3, PACKETS = 16, MTU = 256, BYTES = PACKETS * MTU };

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

int main(int argc, char** argv) {
  const char* host = argc > 1 ? argv[1] : NULL;
  struct end end;
  end_open(&end, BYTES, IBV_ACCESS_REMOTE_WRITE);
  end.path_mtu = IBV_MTU_256;
  end.ack_timeout = 16;  // 4.096 us x 2^16 = 268 ms
  const int socket = meet(host);
  end_connect(&end, socket);
  for (int i = 0; host != NULL && i < MESSAGES; i++) {
    struct ibv_sge part = end_part(&end, 0, BYTES);
    struct ibv_send_wr write = end_write_request(&end, i, &part, 0);
    const double begin = now_ms();
    end_post(&end, &write);
    end_wait_for_success(&end);
    printf("message %d: complete after %.1f ms\n", i + 1, now_ms() - begin);
  }
  wait_for_each_other(socket);
  end_close(&end);
  return 0;
}
