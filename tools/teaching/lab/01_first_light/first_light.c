// First light: one message from the client to the server, with every object made by hand.
//
//   urnic run -- ./first_light                 the server, in one terminal
//   urnic run -- ./first_light localhost       the client, in another
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#include "meet.h"

enum { PORT = 1, GID_INDEX = 1, BYTES = 64 };

struct address {  // what a queue pair must know of its peer
  union ibv_gid gid;
  uint32_t qp_number, psn;
};

// INIT: which port. RTR ("ready to receive"): where the peer is. RTS ("ready to send"): what to do when no
// answer comes.
static void connect_qp(struct ibv_qp* qp, uint32_t own_psn, const struct address* peer) {
  struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = PORT};
  errno = ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (errno != 0) fail("INIT: %m");
  struct ibv_qp_attr receive = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = IBV_MTU_1024,
      .dest_qp_num = peer->qp_number,
      .rq_psn = peer->psn,
      .max_dest_rd_atomic = 1,
      .min_rnr_timer = 12,
      .ah_attr = {.is_global = 1,
                  .port_num = PORT,
                  .grh = {.dgid = peer->gid, .sgid_index = GID_INDEX, .hop_limit = 64}}};
  errno = ibv_modify_qp(qp, &receive,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (errno != 0) fail("RTR: %m");
  struct ibv_qp_attr send = {.qp_state = IBV_QPS_RTS,
                             .sq_psn = own_psn,
                             .timeout = 14,
                             .retry_cnt = 7,
                             .rnr_retry = 7,
                             .max_rd_atomic = 1};
  errno = ibv_modify_qp(qp, &send,
                        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_MAX_QP_RD_ATOMIC);
  if (errno != 0) fail("RTS: %m");
}

int main(int argc, char** argv) {
  const char* host = argc > 1 ? argv[1] : NULL;  // NULL: this is the server
  static char memory[BYTES];
  struct ibv_device** devices = ibv_get_device_list(NULL);
  if (devices == NULL || devices[0] == NULL)
    fail("there is no RDMA device: start this with  urnic run -- ./first_light");
  struct ibv_context* context = ibv_open_device(devices[0]);
  if (context == NULL) fail("cannot open the device: %m");

  // A protection domain: what belongs together. A queue pair reaches only memory of its own domain.
  struct ibv_pd* pd = NULL;  // GAP 1: ibv_alloc_pd() makes one, for `context`
  if (pd == NULL) fail("GAP 1: there is no protection domain yet");

  // A completion queue: where the NIC says which work requests have ended.
  struct ibv_cq* cq = NULL;  // GAP 2: ibv_create_cq(); 16 entries, no context and no channel (NULL), vector 0
  if (cq == NULL) fail("GAP 2: there is no completion queue yet");

  // A memory region: the NIC may read and write `memory`, under the keys lkey (here) and rkey (for the peer).
  struct ibv_mr* mr = NULL;  // GAP 3: ibv_reg_mr(), with IBV_ACCESS_LOCAL_WRITE: the NIC is to write, too
  if (mr == NULL) fail("GAP 3: the memory is not registered yet");

  // A queue pair: a send queue and a receive queue, of a reliable connection.
  struct ibv_qp_init_attr attributes = {
      .send_cq = cq,
      .recv_cq = cq,
      .qp_type = IBV_QPT_RC,
      .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
  (void)attributes;          // no warning as long as the gap is open; you may leave such lines
  struct ibv_qp* qp = NULL;  // GAP 4: ibv_create_qp(), in the protection domain, with `attributes`
  if (qp == NULL) fail("GAP 4: there is no queue pair yet");

  struct address mine = {.qp_number = qp->qp_num, .psn = host != NULL ? 100 : 200}, peer;
  if (ibv_query_gid(context, PORT, GID_INDEX, &mine.gid) != 0) fail("port 1 has no GID 1: see  urnic doctor");
  const int socket = meet(host);
  exchange(socket, &mine, &peer, sizeof mine);
  connect_qp(qp, mine.psn, &peer);

  struct ibv_sge part = {.addr = (uintptr_t)memory, .length = BYTES, .lkey = mr->lkey};
  if (host == NULL) {
    // The receive is there before the client sends: it says so by the barrier below.
    struct ibv_recv_wr receive = {.wr_id = 1, .sg_list = &part, .num_sge = 1}, *bad;
    (void)receive, (void)bad;
    if (1 /* GAP 5: ibv_post_recv() returns 0 when all is well */) fail("GAP 5: no receive is posted");
  }
  wait_for_each_other(socket);
  if (host != NULL) {
    part.length = (uint32_t)snprintf(memory, BYTES, "first light!!!");
    struct ibv_send_wr send = {.wr_id = 2,
                               .sg_list = &part,
                               .num_sge = 1,
                               .opcode = IBV_WR_SEND,
                               .send_flags = IBV_SEND_SIGNALED},
                       *bad;
    (void)send, (void)bad;
    if (1 /* GAP 6: ibv_post_send(), likewise */) fail("GAP 6: nothing is sent");
  }

  // Posting only asks for work. The completion says that it has ended, and how.
  struct ibv_wc completion;
  while (ibv_poll_cq(cq, 1, &completion) == 0) continue;
  if (completion.status != IBV_WC_SUCCESS)
    fail("status %d: %s", completion.status, ibv_wc_status_str(completion.status));
  printf("work request %d is complete; the memory says \"%s\"\n", (int)completion.wr_id, memory);
  wait_for_each_other(socket);
  return 0;
}
