// The rights, for you to make as small as they can be. As they are, a peer can do everything.
#include "vault.h"

// GAP 1: the peer may read page 0, nothing else.
int rights_of_public(void) {
  return IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
}

// GAP 2: page 2 is not for the peer.
int rights_of_secret(void) {
  return IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
}

// GAP 3: the window opens the first LETTER bytes, for writing only.
struct ibv_mw_bind_info window_of(struct ibv_mr* region, char* letterbox) {
  return (struct ibv_mw_bind_info){.mr = region,
                                   .addr = (uintptr_t)letterbox,
                                   .length = PAGE,
                                   .mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE};
}

// GAP 4: instead of a work request that does nothing (a WRITE of 0 bytes), post one that invalidates `rkey`:
// opcode IBV_WR_LOCAL_INV, and the key in .invalidate_rkey.
int close_window(struct ibv_qp* qp, uint32_t rkey) {
  (void)rkey;
  struct ibv_send_wr nothing = {.wr_id = 2, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED},
                     *bad;
  return ibv_post_send(qp, &nothing, &bad);
}
