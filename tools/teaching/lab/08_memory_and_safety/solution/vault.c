// The rights, as small as they can be.
#include "vault.h"

int rights_of_public(void) {
  return IBV_ACCESS_REMOTE_READ;
}

int rights_of_secret(void) {
  return 0;
}

struct ibv_mw_bind_info window_of(struct ibv_mr* region, char* letterbox) {
  return (struct ibv_mw_bind_info){.mr = region,
                                   .addr = (uintptr_t)letterbox,
                                   .length = LETTER,
                                   .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
}

int close_window(struct ibv_qp* qp, uint32_t rkey) {
  struct ibv_send_wr invalidate = {.wr_id = 2,
                                   .opcode = IBV_WR_LOCAL_INV,
                                   .send_flags = IBV_SEND_SIGNALED,
                                   .invalidate_rkey = rkey},
                     *bad;
  return ibv_post_send(qp, &invalidate, &bad);
}
