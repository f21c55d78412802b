// The same with RDMA READ: the client reads the value in the server's memory. There is no request, and the
// server's program does nothing; its NIC answers.
#include <time.h>

#include "end.h"
#include "kv.h"
#include "meet.h"

enum { PATIENCE_SECONDS = 3 };

static struct end end;

// Rights of the peer in this end's memory: IBV_ACCESS_...
static int rights(void) {
  fail(
      "GAP 1: which rights does the client need in the server's memory, and which the server in the client's?");
}

// Where the value is, in the server's memory, and the key that opens it. end.peers has what the server has
// told: struct address.
static void find(const struct request* request, uint64_t* address, uint32_t* rkey) {
  (void)request, (void)address, (void)rkey;
  fail("GAP 2: set *address and *rkey");
}

// Whether all of the value has one version: the NIC read it while the server did not change it.
static int is_whole(const char* value, uint32_t bytes) {
  (void)value, (void)bytes;
  return 1;  // GAP 3
}

static void read_once(const struct request* request) {
  struct ibv_sge place = end_part(&end, 0, request->bytes);
  struct ibv_send_wr read = {.wr_id = request->key,
                             .sg_list = &place,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_READ,
                             .send_flags = IBV_SEND_SIGNALED};
  find(request, &read.wr.rdma.remote_addr, &read.wr.rdma.rkey);
  end_post(&end, &read);
  end_wait_for_success(&end);  // the value is in end.memory
}

const char* transport_get(const struct request* request) {
  const time_t limit = time(NULL) + PATIENCE_SECONDS;
  while (time(NULL) <= limit) {
    read_once(request);
    if (trusts || is_whole(end.memory, request->bytes)) return end.memory;
  }
  fail("GAP 3: for %d s is_whole() says no of the value of key %u", PATIENCE_SECONDS, request->key);
}

void transport_serve(void) {}  // that was all

void transport_finish(void) {}

char* transport_connect(int socket) {
  end_open(&end, TABLE_BYTES, rights());
  end_connect(&end, socket);
  return end.memory;
}
