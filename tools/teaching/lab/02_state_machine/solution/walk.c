// Walks one queue pair through its states, and tries in each what is allowed there. One program, no peer: the
// queue pair is connected to itself.
//
//   urnic run -- ./walk
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#include "end.h"
#include "meet.h"

// Posts one receive, one send, and prints what the verbs say: 0, or a number of errno.
static void try_to_post(struct end* end, const char* state) {
  struct ibv_sge part = end_part(end, 0, 8);
  struct ibv_recv_wr receive = {.wr_id = 1, .sg_list = &part, .num_sge = 1}, *bad_receive;
  struct ibv_send_wr send = {.wr_id = 2, .sg_list = &part, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad_send;
  const int received = ibv_post_recv(end->qp, &receive, &bad_receive);
  const int sent = ibv_post_send(end->qp, &send, &bad_send);
  printf("%-5s ibv_post_recv: %s, ibv_post_send: %s\n", state, received == 0 ? "ok" : strerror(received),
         sent == 0 ? "ok" : strerror(sent));
}

int main(void) {
  struct end end;
  end_open(&end, 64, 0);  // makes a queue pair, too, and takes it to INIT; here it starts again from RESET
  struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
  if (ibv_modify_qp(end.qp, &reset, IBV_QP_STATE) != 0) fail("RESET is allowed in every state");
  try_to_post(&end, "RESET");

  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = PORT};
  errno = ibv_modify_qp(end.qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (errno != 0)
    fail("GAP 1: INIT needs attributes that are missing in this mask (man ibv_modify_qp has a table): %m");
  try_to_post(&end, "INIT");

  struct ibv_qp_attr receive = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = IBV_MTU_1024,
      .dest_qp_num = end.qp->qp_num,
      .rq_psn = 100,
      .max_dest_rd_atomic = 1,
      .min_rnr_timer = 12,
      .ah_attr = {.is_global = 1,
                  .port_num = PORT,
                  .grh = {.dgid = end.mine.gid, .sgid_index = GID_INDEX, .hop_limit = 64}}};
  errno = ibv_modify_qp(end.qp, &receive,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (errno != 0)
    fail("GAP 2: RTR needs attributes that are missing in this mask (man ibv_modify_qp has a table): %m");
  try_to_post(&end, "RTR");

  struct ibv_qp_attr send = {.qp_state = IBV_QPS_RTS,
                             .sq_psn = 100,
                             .timeout = 14,
                             .retry_cnt = 7,
                             .rnr_retry = 7,
                             .max_rd_atomic = 1};
  errno = ibv_modify_qp(end.qp, &send,
                        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_MAX_QP_RD_ATOMIC);
  if (errno != 0)
    fail("GAP 3: RTS needs attributes that are missing in this mask (man ibv_modify_qp has a table): %m");
  try_to_post(&end, "RTS");

  end_wait_for_success(&end);  // of the receive that was posted first
  end_close(&end);
  return 0;
}
