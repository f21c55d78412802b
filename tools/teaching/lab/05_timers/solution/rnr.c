// How long does a requester wait when the responder is not ready? The responder says so, by a code in its RNR
// NAK.
//
//   urnic run -- ./rnr                the server: four queue pairs, and never a receive
//   urnic run -- ./rnr localhost      the client, which sends to each
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>

#include "end.h"
#include "meet.h"

// The last one: the code with which the client waits at least 5 ms and less than 10 ms. Fact 35 has the
// table.
enum { YOUR_CODE = 18 };

static const uint8_t kCodes[] = {14, 31, 0, YOUR_CODE};

int main(int argc, char** argv) {
  const char* host = argc > 1 ? argv[1] : NULL;
  struct end end;
  end_open(&end, 64, 0);
  const int socket = meet(host);
  for (int i = 0; i < 4; i++) {
    end.min_rnr_timer = kCodes[i];  // of the responder: it goes into its RNR NAKs
    end.rnr_retry = 1;              // of the requester: how often it tries again
    end.qp = end_another_qp(&end, 0);
    end.mine.qp_number = end.qp->qp_num;
    end_connect(&end, socket);
    if (host != NULL) {
      end_post_send(&end, i, end_part(&end, 0, 8));
      const struct ibv_wc completion = end_wait_for_completion(&end);
      printf("min_rnr_timer %d: status %d\n", kCodes[i], completion.status);
    }
    wait_for_each_other(socket);
  }
  return 0;
}
