// Writes messages of several lengths into the server's memory, one after another, and says before each what
// will be on the wire.
//
//   urnic run -- ./anatomy                  the server, which does nothing
//   urnic run -- ./anatomy localhost        the client
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>

#include "end.h"
#include "meet.h"

enum { PATH_MTU = 1024, LONGEST = 4096 };

static const int kLengths[] = {0, 1, 1024, 1025, 4096};

// How many packets a WRITE of so many bytes takes.
static int packets_of(int bytes) {
  return bytes == 0 ? 1 : (bytes + PATH_MTU - 1) / PATH_MTU;
}

// How many bytes of padding its last packet has.
static int padding_of(int bytes) {
  return (4 - bytes % 4) % 4;
}

int main(int argc, char** argv) {
  const char* host = argc > 1 ? argv[1] : NULL;
  struct end end;
  end_open(&end, LONGEST, IBV_ACCESS_REMOTE_WRITE);
  const int socket = meet(host);
  end_connect(&end, socket);
  uint32_t psn = end.mine.psn;
  for (int i = 0; host != NULL && i < 5; i++) {
    const int packets = packets_of(kLengths[i]);
    printf("%d bytes: %d packets, PSN %u to %u, padding %d\n", kLengths[i], packets, psn, psn + packets - 1,
           padding_of(kLengths[i]));
    psn += packets;
    struct ibv_sge part = end_part(&end, 0, kLengths[i]);
    struct ibv_send_wr request = end_write_request(&end, i, &part, 0);
    end_post(&end, &request);
    end_wait_for_success(&end);
  }
  wait_for_each_other(socket);
  end_close(&end);
  return 0;
}
