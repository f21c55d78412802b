// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Prints what a program sees of the NIC that it has: 'name value', a line each. Or, with 'timeout TIMEOUT
 * RETRIES [SECONDS]', after how many milliseconds the NIC gives up a peer that does not answer; 'endless' if
 * it has not after SECONDS, 6 if nothing is said. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_client.h"
#include "verbs_objects.h"

enum { kBytes = 65536, kEntries = 1024, kPiece = 64, kPathMtu = 1024, kOld = 0xa5 };
enum { kRights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };

static struct verbs_objects nic;

static const char* name_of(int error) {
  switch (error) {
    case 0:
      return "0";
    case EINVAL:
      return "EINVAL";
    case ENOMEM:
      return "ENOMEM";
    case EOPNOTSUPP:
      return "EOPNOTSUPP";
    default:
      return strerror(error);
  }
}

static void tell(const char* name, long long value) {
  printf("%s %lld\n", name, value);
}

static void tell_error(const char* name, int error) {
  printf("%s %s\n", name, name_of(error));
}

/* --- Queue pairs --- */

static struct ibv_qp* try_qp(enum ibv_qp_type type, struct ibv_qp_cap* capabilities) {
  struct ibv_qp_init_attr init = {
      .send_cq = nic.cq, .recv_cq = nic.cq, .cap = *capabilities, .qp_type = type};
  struct ibv_qp* const qp = ibv_create_qp(nic.pd, &init);
  if (qp != NULL) *capabilities = init.cap;
  return qp;
}

static void to_init(struct ibv_qp* qp, int rights) {
  struct ibv_qp_attr attributes = {
      .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = (unsigned)rights};
  if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) !=
      0)
    broken("INIT is refused: %m");
}

static void to_rts(struct ibv_qp* qp, uint32_t peer, uint8_t timeout, uint8_t retries) {
  struct ibv_qp_attr attributes = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = IBV_MTU_1024,
      .dest_qp_num = peer,
      .max_dest_rd_atomic = 1,
      .min_rnr_timer = 1,
      .ah_attr = {.is_global = 1,
                  .port_num = 1,
                  .grh = {.dgid = nic.gid, .sgid_index = (uint8_t)nic.gid_index, .hop_limit = 64}}};
  if (ibv_modify_qp(qp, &attributes,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
    broken("RTR is refused: %m");
  attributes = (struct ibv_qp_attr){
      .qp_state = IBV_QPS_RTS, .timeout = timeout, .retry_cnt = retries, .max_rd_atomic = 1};
  if (ibv_modify_qp(qp, &attributes,
                    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                        IBV_QP_MAX_QP_RD_ATOMIC) != 0)
    broken("RTS is refused: %m");
}

static void to_error(struct ibv_qp* qp) {
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_ERR};
  if (ibv_modify_qp(qp, &attributes, IBV_QP_STATE) != 0) broken("ERR is refused: %m");
}

struct pair {
  struct ibv_qp *near_qp, *far_qp;
  struct ibv_qp_cap capabilities;
};

static struct pair connect_pair(uint32_t sends, uint32_t receives, int rights) {
  struct pair pair = {.capabilities = {.max_send_wr = sends,
                                       .max_recv_wr = receives,
                                       .max_send_sge = 1,
                                       .max_recv_sge = 1,
                                       .max_inline_data = 8}};
  struct ibv_qp_cap again = pair.capabilities;
  pair.near_qp = try_qp(IBV_QPT_RC, &pair.capabilities);
  pair.far_qp = try_qp(IBV_QPT_RC, &again);
  if (pair.near_qp == NULL || pair.far_qp == NULL) broken("no queue pair: %m");
  to_init(pair.near_qp, kRights);
  to_init(pair.far_qp, rights);
  to_rts(pair.near_qp, pair.far_qp->qp_num, 14, 7);
  to_rts(pair.far_qp, pair.near_qp->qp_num, 14, 7);
  return pair;
}

static void destroy(struct ibv_qp* qp) {
  if (ibv_destroy_qp(qp) != 0) broken("ibv_destroy_qp: %m");
}

static void disconnect(const struct pair* pair) {
  destroy(pair->near_qp);
  destroy(pair->far_qp);
  struct ibv_wc ignored;
  while (ibv_poll_cq(nic.cq, 1, &ignored) > 0) {
  }
}

/* --- Requests --- */

static uint64_t place(unsigned piece) {
  return (uintptr_t)nic.memory + (uint64_t)piece * kPiece;
}

struct wish {
  enum ibv_wr_opcode opcode;
  unsigned flags;
  uint64_t from, to, wr_id;
  uint32_t length, lkey, rkey;
};

static struct wish write_of(uint64_t wr_id, unsigned flags) {
  return (struct wish){.opcode = IBV_WR_RDMA_WRITE,
                       .flags = flags,
                       .from = place(1),
                       .to = place(500),
                       .wr_id = wr_id,
                       .length = kPiece,
                       .lkey = nic.mr->lkey,
                       .rkey = nic.mr->rkey};
}

static int post(struct ibv_qp* qp, const struct wish* wish, int elements) {
  struct ibv_sge list[64];
  for (int i = 0; i < elements; ++i)
    list[i] = (struct ibv_sge){.addr = wish->from, .length = wish->length, .lkey = wish->lkey};
  struct ibv_send_wr request = {.wr_id = wish->wr_id,
                                .sg_list = list,
                                .num_sge = elements,
                                .opcode = wish->opcode,
                                .send_flags = wish->flags};
  request.wr.rdma.remote_addr = wish->to;
  request.wr.rdma.rkey = wish->rkey;
  if (wish->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    request.wr.atomic.remote_addr = wish->to;
    request.wr.atomic.rkey = wish->rkey;
  } else if (wish->opcode == IBV_WR_SEND_WITH_IMM) {
    request.imm_data = 7;
  }
  struct ibv_send_wr* bad = NULL;
  return ibv_post_send(qp, &request, &bad);
}

static void must_post(struct ibv_qp* qp, const struct wish* wish) {
  const int error = post(qp, wish, 1);
  if (error != 0) broken("ibv_post_send: %s", name_of(error));
}

static int post_receives(struct ibv_qp* qp, uint32_t length, int elements) {
  struct ibv_sge list[64];
  for (int i = 0; i < elements; ++i)
    list[i] = (struct ibv_sge){.addr = place(900), .length = length, .lkey = nic.mr->lkey};
  struct ibv_recv_wr request = {.wr_id = 77, .sg_list = list, .num_sge = elements};
  struct ibv_recv_wr* bad = NULL;
  return ibv_post_recv(qp, &request, &bad);
}

/* Waits for a completion of that queue pair; all its bytes are kOld before. */
static struct ibv_wc next_completion(void) {
  struct ibv_wc completion;
  const double end = seconds_now() + 10;
  do {
    memset(&completion, kOld, sizeof completion);
    if (seconds_now() > end) broken("no completion came");
  } while (ibv_poll_cq(nic.cq, 1, &completion) == 0);
  return completion;
}

static bool is_old(uint32_t value) {
  return value == 0xa5a5a5a5u;
}

static void tell_field(const char* what, const char* field, uint32_t value) {
  printf("%s.%s %s\n", what, field, is_old(value) ? "untouched" : value == 0 ? "0" : "set");
}

static void tell_fields(const char* what, const struct ibv_wc* completion) {
  printf("%s.status %s\n", what, ibv_wc_status_str(completion->status));
  tell_field(what, "opcode", (uint32_t)completion->opcode);
  tell_field(what, "byte_len", completion->byte_len);
  if (completion->src_qp == completion->qp_num) {
    printf("%s.src_qp own\n", what);
  } else {
    tell_field(what, "src_qp", completion->src_qp);
  }
  if (is_old(completion->vendor_err)) {
    printf("%s.vendor_err untouched\n", what);
  } else {
    printf("%s.vendor_err %#x\n", what, completion->vendor_err);
  }
}

/* --- What there is to see --- */

static void look_at_device(void) {
  struct ibv_device_attr device;
  struct ibv_port_attr port;
  if (ibv_query_device(nic.context, &device) != 0 || ibv_query_port(nic.context, 1, &port) != 0)
    broken("nothing can be queried");
  tell("device.max_qp_wr", device.max_qp_wr);
  tell("device.max_sge", device.max_sge);
  tell("device.max_cqe", device.max_cqe);
  tell("device.max_qp_rd_atom", device.max_qp_rd_atom);
  tell("device.max_srq", device.max_srq);
  tell("device.atomic_cap", device.atomic_cap);
  tell("device.local_ca_ack_delay", device.local_ca_ack_delay);
  tell("device.vendor_id", device.vendor_id);
  tell("port.max_msg_sz", port.max_msg_sz);
  tell("port.lid", port.lid);
}

static void look_at_room(const char* name, struct ibv_qp_cap wanted) {
  errno = 0;
  struct ibv_qp* const qp = try_qp(IBV_QPT_RC, &wanted);
  char line[64];
  snprintf(line, sizeof line, "%s.error", name);
  tell_error(line, qp == NULL ? errno : 0);
  if (qp == NULL) return;
  snprintf(line, sizeof line, "%s.sends", name);
  tell(line, wanted.max_send_wr);
  snprintf(line, sizeof line, "%s.receives", name);
  tell(line, wanted.max_recv_wr);
  snprintf(line, sizeof line, "%s.receive_sges", name);
  tell(line, wanted.max_recv_sge);
  snprintf(line, sizeof line, "%s.inline", name);
  tell(line, wanted.max_inline_data);
  destroy(qp);
}

static void look_at_queues(void) {
  look_at_room("qp100", (struct ibv_qp_cap){
                            .max_send_wr = 100, .max_recv_wr = 100, .max_send_sge = 1, .max_recv_sge = 3});
  look_at_room("qp1", (struct ibv_qp_cap){.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1});
  look_at_room("inline102", (struct ibv_qp_cap){.max_send_wr = 1, .max_send_sge = 1, .max_inline_data = 102});
  look_at_room("sge14", (struct ibv_qp_cap){.max_send_wr = 1, .max_send_sge = 14});
  look_at_room("sge31", (struct ibv_qp_cap){.max_send_wr = 1, .max_send_sge = 31});
  look_at_room("sends10000", (struct ibv_qp_cap){.max_send_wr = 10000, .max_send_sge = 1});
  const int sizes[] = {100, 128};
  for (unsigned i = 0; i < 2; ++i) {
    struct ibv_cq* const cq = ibv_create_cq(nic.context, sizes[i], NULL, NULL, 0);
    if (cq == NULL) broken("ibv_create_cq: %m");
    printf("cq%d %d\n", sizes[i], cq->cqe);
    ibv_destroy_cq(cq);
  }
  struct ibv_srq_init_attr srq_wish = {.attr = {.max_wr = 100, .max_sge = 2}};
  struct ibv_srq* const srq = ibv_create_srq(nic.pd, &srq_wish);
  tell_error("srq.error", srq == NULL ? errno : 0);
  if (srq != NULL) {
    tell("srq.receives", srq_wish.attr.max_wr);
    tell("srq.sges", srq_wish.attr.max_sge);
    ibv_destroy_srq(srq);
  }
  struct ibv_qp_cap plain = {.max_send_wr = 1, .max_send_sge = 1, .max_recv_wr = 1, .max_recv_sge = 1};
  struct ibv_qp* const uc = try_qp(IBV_QPT_UC, &plain);
  tell_error("uc.error", uc == NULL ? errno : 0);
  if (uc != NULL) destroy(uc);
}

static void look_at_posts(void) {
  const struct pair pair = connect_pair(16, 4, kRights);
  struct wish wish = write_of(1, 0);
  tell_error("post.elements", post(pair.near_qp, &wish, 40));
  wish.flags = IBV_SEND_INLINE;
  wish.length = 2000;
  tell_error("post.inline", post(pair.near_qp, &wish, 1));
  tell_error("post.receive_elements", post_receives(pair.far_qp, kPiece, 40));
  wish = write_of(1, IBV_SEND_SIGNALED);
  wish.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  wish.length = 8;
  tell_error("post.atomic", post(pair.near_qp, &wish, 1));
  wish.to += 4;
  tell_error("post.misaligned_atomic", post(pair.near_qp, &wish, 1));
  disconnect(&pair);

  struct ibv_qp_cap plain = {.max_send_wr = 1, .max_send_sge = 1, .max_recv_wr = 1, .max_recv_sge = 1};
  struct ibv_qp* const early = try_qp(IBV_QPT_RC, &plain);
  if (early == NULL) broken("no queue pair: %m");
  to_init(early, kRights);
  wish = write_of(1, 0);
  tell_error("post.early", post(early, &wish, 1));
  destroy(early);
}

/* Unsignaled WRITEs, each of which is done before the next one. */
static void look_at_send_room(void) {
  const struct pair pair = connect_pair(4, 1, kRights);
  const struct wish plain = write_of(1, 0);
  const uint32_t granted = pair.capabilities.max_send_wr;
  uint32_t posted = 0;
  while (posted != granted + 8 && post(pair.near_qp, &plain, 1) == 0) {
    ++posted;
    if (posted % 64 == 0 || posted + 8 > granted) usleep(20000);
  }
  tell("room.granted", granted);
  tell("room.unsignaled", posted);
  tell("room.is_endless", posted > granted);
  disconnect(&pair);
}

/* One signaled WRITE whose completion is polled gives the room of all before it back. */
static void look_at_polled_room(void) {
  const struct pair pair = connect_pair(4, 1, kRights);
  const uint32_t granted = pair.capabilities.max_send_wr;
  struct wish wish = write_of(1, 0);
  for (uint32_t i = 0; i < 3 * granted; ++i) {
    wish.flags = (i + 1) % granted == 0 ? IBV_SEND_SIGNALED : 0;
    must_post(pair.near_qp, &wish);
    if (wish.flags != 0 && next_completion().status != IBV_WC_SUCCESS) broken("a WRITE has failed");
  }
  disconnect(&pair);
  tell("room.comes_back", 1);
}

static void look_at_receive_room(void) {
  const struct pair pair = connect_pair(4, 4, kRights);
  struct wish wish = write_of(1, IBV_SEND_SIGNALED);
  wish.opcode = IBV_WR_SEND_WITH_IMM;
  uint32_t posted = 0;
  while (post_receives(pair.far_qp, kPiece, 1) == 0) ++posted;
  tell("room.receives", posted);
  must_post(pair.near_qp, &wish);
  usleep(50000);
  tell("room.receive_is_free_before_poll", post_receives(pair.far_qp, kPiece, 1) == 0);
  const struct ibv_wc one = next_completion();
  const struct ibv_wc other = next_completion();
  const struct ibv_wc* const received = one.opcode == IBV_WC_RECV ? &one : &other;
  tell("received.wc_flags", (long long)received->wc_flags);
  tell("room.receive_is_free_after_poll", post_receives(pair.far_qp, kPiece, 1) == 0);
  disconnect(&pair);
}

/* How a WRITE or READ ends that differs from a right one; `what` names it. */
static void look_at_failure(const char* what, const struct wish* wish, int rights) {
  const struct pair pair = connect_pair(16, 4, rights);
  must_post(pair.near_qp, wish);
  const struct ibv_wc completion = next_completion();
  tell_fields(what, &completion);
  disconnect(&pair);
}

static void look_at_failures(void) {
  struct wish wish = write_of(1, IBV_SEND_SIGNALED);
  look_at_failure("write", &wish, kRights);
  look_at_failure("no_right_of_qp", &wish, 0);
  wish.rkey ^= 0x5a5a00;
  look_at_failure("unknown_rkey", &wish, kRights);
  wish = write_of(1, IBV_SEND_SIGNALED);
  wish.lkey ^= 0x5a5a00;
  look_at_failure("unknown_lkey", &wish, kRights);
  wish = write_of(1, IBV_SEND_SIGNALED);
  wish.from = place(0) + kBytes - 8;
  look_at_failure("too_long", &wish, kRights);
  struct ibv_mr* const read_only = ibv_reg_mr(nic.pd, nic.memory, kBytes, 0);
  if (read_only == NULL) broken("ibv_reg_mr: %m");
  wish = write_of(1, IBV_SEND_SIGNALED);
  wish.opcode = IBV_WR_RDMA_READ;
  wish.lkey = read_only->lkey;
  look_at_failure("read_only", &wish, kRights);
  ibv_dereg_mr(read_only);
}

/* A SEND that is longer than the receive; both ends. */
static void look_at_long_send(void) {
  const struct pair pair = connect_pair(16, 4, kRights);
  struct wish wish = write_of(1, IBV_SEND_SIGNALED);
  wish.opcode = IBV_WR_SEND;
  if (post_receives(pair.far_qp, kPiece / 2, 1) != 0) broken("ibv_post_recv: %m");
  must_post(pair.near_qp, &wish);
  for (int i = 0; i < 2; ++i) {
    const struct ibv_wc completion = next_completion();
    const bool is_receive = completion.qp_num == pair.far_qp->qp_num;
    printf("long_send.%s %s\n", is_receive ? "receiver" : "sender", ibv_wc_status_str(completion.status));
  }
  disconnect(&pair);
}

/* Three packets, of which the third one crosses the end of the region. */
static void look_at_long_write(void) {
  const struct pair pair = connect_pair(16, 4, kRights);
  char* const target = (char*)nic.memory + kBytes / 2;
  memset(target, 0, 4 * kPathMtu);
  memset(nic.memory, 1, 4 * kPathMtu);
  struct ibv_mr* const small =
      ibv_reg_mr(nic.pd, target, 5 * kPathMtu / 2, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  if (small == NULL) broken("ibv_reg_mr: %m");
  struct wish wish = write_of(1, IBV_SEND_SIGNALED);
  wish.from = place(0);
  wish.to = (uintptr_t)target;
  wish.rkey = small->rkey;
  wish.length = 3 * kPathMtu;
  must_post(pair.near_qp, &wish);
  printf("long_write.status %s\n", ibv_wc_status_str(next_completion().status));
  long long written = 0;
  while (target[written] != 0) ++written;
  tell("long_write.bytes", written);
  disconnect(&pair);
  ibv_dereg_mr(small);
}

/* Two that succeed without a completion, one that fails, and one after it. */
static void look_at_named_failure(void) {
  const struct pair pair = connect_pair(16, 4, kRights);
  struct wish wish = write_of(1, 0);
  must_post(pair.near_qp, &wish);
  wish.wr_id = 2;
  must_post(pair.near_qp, &wish);
  usleep(50000);
  wish.wr_id = 3;
  wish.rkey ^= 0x5a5a00;
  must_post(pair.near_qp, &wish);
  wish.wr_id = 4;
  must_post(pair.near_qp, &wish);
  usleep(50000);
  printf("failed");
  struct ibv_wc completion;
  while (ibv_poll_cq(nic.cq, 1, &completion) > 0)
    printf(" %" PRIu64 "=%d/%#x", completion.wr_id, completion.status, completion.vendor_err);
  printf("\n");
  disconnect(&pair);
}

/* Sends to a queue pair that is not there, flushed by the program's own change to ERR. */
static void look_at_flush(void) {
  const struct pair pair = connect_pair(16, 4, kRights);
  destroy(pair.far_qp);
  struct wish wish = write_of(1, IBV_SEND_SIGNALED);
  must_post(pair.near_qp, &wish);
  wish.wr_id = 2;
  must_post(pair.near_qp, &wish);
  if (post_receives(pair.near_qp, kPiece, 1) != 0) broken("ibv_post_recv: %m");
  to_error(pair.near_qp);
  printf("flushed");
  uint32_t errors[3] = {0};
  for (int i = 0; i < 3; ++i) {
    const struct ibv_wc completion = next_completion();
    if (completion.status != IBV_WC_WR_FLUSH_ERR) broken("not flushed");
    errors[completion.wr_id == 77 ? 2 : completion.wr_id - 1] = completion.vendor_err;
  }
  printf(" %#x %#x %#x\n", errors[0], errors[1], errors[2]);
  destroy(pair.near_qp);
}

static void look_at_unpolled(void) {
  const struct pair pair = connect_pair(16, 4, kRights);
  const struct wish wish = write_of(1, IBV_SEND_SIGNALED);
  must_post(pair.near_qp, &wish);
  usleep(50000);
  destroy(pair.near_qp);
  destroy(pair.far_qp);
  struct ibv_wc completion;
  tell("completions_after_destroy", ibv_poll_cq(nic.cq, 1, &completion));
}

static void look_at_timeout(int timeout, int retries, int seconds) {
  const struct pair pair = connect_pair(16, 4, kRights);
  struct ibv_qp_cap plain = {.max_send_wr = 4, .max_send_sge = 1, .max_recv_wr = 1, .max_recv_sge = 1};
  struct ibv_qp* const asking = try_qp(IBV_QPT_RC, &plain);
  if (asking == NULL) broken("no queue pair: %m");
  to_init(asking, kRights);
  to_rts(asking, pair.far_qp->qp_num, (uint8_t)timeout, (uint8_t)retries);
  to_error(pair.far_qp); /* drops what comes, without an answer */
  const struct wish wish = write_of(1, IBV_SEND_SIGNALED);
  const double start = seconds_now();
  must_post(asking, &wish);
  struct ibv_wc completion;
  int polled = 0;
  while (polled == 0 && seconds_now() - start < seconds) {
    polled = ibv_poll_cq(nic.cq, 1, &completion);
    usleep(200);
  }
  if (polled == 0) {
    printf("timeout endless\n");
  } else {
    printf("timeout %.1f %s\n", 1000 * (seconds_now() - start), ibv_wc_status_str(completion.status));
  }
  destroy(asking);
  disconnect(&pair);
}

int main(int argc, char** argv) {
  verbs_open(&nic, "urnic0", VERBS_IPV4_GID, kEntries, kBytes);
  if (argc >= 4 && strcmp(argv[1], "timeout") == 0) {
    look_at_timeout(atoi(argv[2]), atoi(argv[3]), argc > 4 ? atoi(argv[4]) : 6);
  } else {
    look_at_device();
    look_at_queues();
    look_at_posts();
    look_at_send_room();
    look_at_polled_room();
    look_at_receive_room();
    look_at_failures();
    look_at_long_send();
    look_at_long_write();
    look_at_named_failure();
    look_at_flush();
    look_at_unpolled();
  }
  verbs_close(&nic);
  printf("done\n");
  return 0;
}
