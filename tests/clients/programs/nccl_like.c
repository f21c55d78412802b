// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* nccl_like: talks to its like as NCCL's network layer for InfiniBand does, without NCCL and without a GPU.
 *
 *   nccl_like (--receive | --send) PORT [--rounds N] [--qps N] [--bytes N]
 *
 * libibverbs is opened by name. The receiver tells, by inline WRITEs into a ring in the sender's memory,
 * where it wants the next message; the sender spreads it in chunks over the queue pairs, by WRITE and WRITE
 * with immediate, the immediate being the size of the whole; the receiver takes that from receives without
 * buffers, and flushes by a READ from a queue pair connected to itself. Sizes from 0 to --bytes; everything
 * that arrives is verified. It prints 'library PATH' and, at its end, 'done N'; 'broken ...', and exits with
 * 1, when anything is not as it must be.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pattern.h"
#include "rendezvous.h"
#include "test_client.h"
#include "verbs_by_name.h"

enum {
  MOST_QPS = 16,
  RING = 32,     /* slots of the ring of announcements: NCCL's MAX_REQUESTS */
  IN_FLIGHT = 8, /* messages under way: NCCL's NCCL_STEPS */
  CHUNK_ALIGNMENT = 128,
  GUARD = 64, /* bytes after a message that must stay as they are */
  GUARD_BYTE = 0xee,
  PATIENCE_S = 60
};

/* One slot of the ring; valid when `number` is the round's, counted from 1. */
struct announcement {
  uint64_t address;
  uint32_t rkey;
  uint32_t size;
  uint32_t unused[3];
  volatile uint32_t number;
};

struct introduction {
  union ibv_gid gid;
  uint64_t ring;
  uint32_t ring_rkey;
  uint32_t qps[MOST_QPS];
  enum ibv_mtu mtu;
};

struct request {
  uint64_t round;
  int events; /* completions still to come; 0 when the slot is free */
  bool flushing;
};

static struct verbs_by_name verbs;
static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_cq* cq;
static struct ibv_qp *qps[MOST_QPS], *flush_qp;
static struct ibv_mr *data_mr, *ring_mr, *flush_mr;
static struct introduction own, peer;
static struct announcement ring[RING];
static struct request requests[IN_FLIGHT];
static char* data; /* IN_FLIGHT buffers of `stride` bytes */
static size_t stride;
static int flush_target;
static int gid_index, qp_count = 4;
static uint32_t longest = 1 << 20;
static uint64_t rounds = 200;

/* Every fourth message is short; sizes are no multiples of anything. */
static uint32_t size_of(uint64_t round) {
  const uint64_t drawn = pattern_mix(round);
  return (uint32_t)(drawn % ((round % 4 == 3 ? 64 : (uint64_t)longest) + 1));
}

static uint64_t seed_of(uint64_t round) {
  return pattern_mix(round ^ 0x6e63636c);
}

static void* watch_events(void* unused) {
  struct ibv_async_event event;
  while (verbs.get_async_event(context, &event) == 0) {
    broken("asynchronous event: %s", verbs.event_type_str(event.event_type));
  }
  return unused;
}

/* NCCL asks the files of sysfs which GIDs are RoCEv2, and fails without them. */
static bool is_roce_v2(const char* device, int index) {
  char path[128], type[32] = "";
  snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/1/gid_attrs/types/%d", device, index);
  FILE* file = fopen(path, "r");
  if (file == NULL) return false;
  const bool is_v2 = fgets(type, sizeof type, file) != NULL && strstr(type, "RoCE v2") != NULL;
  fclose(file);
  return is_v2;
}

static void choose_gid(const char* device, int table_size) {
  static const uint8_t kMapped[12] = {[10] = 0xff, [11] = 0xff};
  for (gid_index = 0; gid_index < table_size; gid_index++) {
    if (verbs.query_gid(context, 1, gid_index, &own.gid) != 0) broken("no GID %d", gid_index);
    if (memcmp(own.gid.raw, kMapped, sizeof kMapped) == 0 && is_roce_v2(device, gid_index)) return;
  }
  broken("no GID of an IPv4 address is RoCEv2");
}

static struct ibv_mr* register_memory(void* address, size_t length) {
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  struct ibv_mr* mr = verbs.reg_mr_iova2 != NULL
                          ? verbs.reg_mr_iova2(pd, address, length, (uintptr_t)address,
                                               (unsigned)access | IBV_ACCESS_RELAXED_ORDERING)
                          : verbs.reg_mr(pd, address, length, access);
  if (mr == NULL) broken("cannot register memory");
  return mr;
}

static struct ibv_qp* create_qp(void) {
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .qp_type = IBV_QPT_RC,
                                  .cap = {.max_send_wr = 2 * RING,
                                          .max_recv_wr = RING,
                                          .max_send_sge = 1,
                                          .max_recv_sge = 1,
                                          .max_inline_data = sizeof(struct announcement)}};
  struct ibv_qp* qp = verbs.create_qp(pd, &init);
  struct ibv_qp_attr attributes = {
      .qp_state = IBV_QPS_INIT,
      .port_num = 1,
      .qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
  if (qp == NULL ||
      verbs.modify_qp(qp, &attributes,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
    broken("cannot make a queue pair");
  return qp;
}

static void connect_qp(struct ibv_qp* qp, uint32_t remote_qp, const union ibv_gid* remote_gid,
                       enum ibv_mtu mtu) {
  struct ibv_ece ece = {0};
  if (verbs.query_ece != NULL && verbs.query_ece(qp, &ece) == 0 && verbs.set_ece(qp, &ece) != 0)
    broken("a queue pair refuses its own ECE options");
  struct ibv_qp_attr attributes = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = mtu,
      .dest_qp_num = remote_qp,
      .max_dest_rd_atomic = 1,
      .min_rnr_timer = 12,
      .ah_attr = {.is_global = 1,
                  .port_num = 1,
                  .grh = {.dgid = *remote_gid, .sgid_index = (uint8_t)gid_index, .hop_limit = 255}}};
  if (verbs.modify_qp(qp, &attributes,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
    broken("a queue pair refuses RTR");
  attributes = (struct ibv_qp_attr){
      .qp_state = IBV_QPS_RTS, .timeout = 20, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
  if (verbs.modify_qp(qp, &attributes,
                      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                          IBV_QP_MAX_QP_RD_ATOMIC) != 0)
    broken("a queue pair refuses RTS");
  struct ibv_qp_init_attr init;
  if (verbs.query_qp(qp, &attributes, IBV_QP_STATE, &init) != 0 || attributes.qp_state != IBV_QPS_RTS)
    broken("a queue pair is not in RTS");
}

static void open_device(void) {
  int count = 0;
  if (verbs.fork_init() != 0) broken("ibv_fork_init fails");
  struct ibv_device** devices = verbs.get_device_list(&count);
  if (devices == NULL || count == 0) broken("no device");
  char name[64];
  snprintf(name, sizeof name, "%s", verbs.get_device_name(devices[0]));
  context = verbs.open_device(devices[0]);
  verbs.free_device_list(devices);
  if (context == NULL) broken("cannot open %s", name);

  struct ibv_device_attr device;
  struct ibv_port_attr port;
  if (verbs.query_device(context, &device) != 0 || device.phys_port_cnt != 1) broken("cannot query %s", name);
  if (verbs.query_port(context, 1, &port) != 0 || port.state != IBV_PORT_ACTIVE ||
      port.link_layer != IBV_LINK_LAYER_ETHERNET)
    broken("port 1 of %s is not an active Ethernet port", name);
  own.mtu = port.active_mtu;
  choose_gid(name, port.gid_tbl_len);

  pthread_t watcher;
  if (pthread_create(&watcher, NULL, watch_events, NULL) != 0 || pthread_detach(watcher) != 0)
    broken("no thread");
  pd = verbs.alloc_pd(context);
  cq = verbs.create_cq(context, 2 * RING * MOST_QPS, NULL, NULL, 0);
  if (pd == NULL || cq == NULL) broken("cannot make objects");
}

static void make_objects(bool receives) {
  stride = ((size_t)longest + GUARD + 4095) / 4096 * 4096;
  data = aligned_alloc(4096, stride * IN_FLIGHT);
  if (data == NULL) broken("no memory");
  memset(data, 0, stride * IN_FLIGHT);
  data_mr = register_memory(data, stride * IN_FLIGHT);
  ring_mr = register_memory(ring, sizeof ring);
  own.ring = (uintptr_t)ring;
  own.ring_rkey = ring_mr->rkey;
  for (int i = 0; i < qp_count; i++) own.qps[i] = (qps[i] = create_qp())->qp_num;
  if (receives) {
    flush_mr = register_memory(&flush_target, sizeof flush_target);
    flush_qp = create_qp();
    connect_qp(flush_qp, flush_qp->qp_num, &own.gid, own.mtu);
  }
}

static void post_send(struct ibv_qp* qp, struct ibv_send_wr* first) {
  struct ibv_send_wr* bad = NULL;
  const int error = qp->context->ops.post_send(qp, first, &bad);
  if (error != 0) broken("cannot post: %s", strerror(error));
}

/* Takes one completion, if there is any; the round it is of, or -1. */
static int64_t next_completion(struct ibv_wc* wc) {
  const int count = cq->context->ops.poll_cq(cq, 1, wc);
  if (count == 0) return -1;
  if (count < 0) broken("ibv_poll_cq fails");
  if (wc->status != IBV_WC_SUCCESS)
    broken("round %llu: completion with status %d, opcode %d", (unsigned long long)wc->wr_id, wc->status,
           wc->opcode);
  if (requests[wc->wr_id % IN_FLIGHT].round != wc->wr_id) broken("a completion of no round under way");
  return (int64_t)wc->wr_id;
}

/* What runs on every queue pair for one message. Even rounds: the data goes with the immediate. Odd rounds,
 * as with adaptive routing: the data goes in a WRITE of its own, and an empty WRITE with the immediate follows.
 */
static void send_message(uint64_t round, const struct announcement* to) {
  const uint32_t size = size_of(round);
  char* const buffer = data + (round % IN_FLIGHT) * stride;
  pattern_fill((uint64_t*)buffer, size, seed_of(round));
  const uint32_t share = (size + (uint32_t)qp_count - 1) / (uint32_t)qp_count;
  const uint32_t chunk = (share + CHUNK_ALIGNMENT - 1) / CHUNK_ALIGNMENT * CHUNK_ALIGNMENT;
  for (int i = 0; i < qp_count; i++) {
    const uint64_t offset = (uint64_t)i * chunk;
    const uint32_t length = offset >= size ? 0 : size - offset < chunk ? (uint32_t)(size - offset) : chunk;
    struct ibv_sge sge = {.addr = (uintptr_t)buffer + offset, .length = length, .lkey = data_mr->lkey};
    struct ibv_send_wr last = {.wr_id = round,
                               .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                               .send_flags = IBV_SEND_SIGNALED,
                               .imm_data = size};
    struct ibv_send_wr first = {.wr_id = round, .opcode = IBV_WR_RDMA_WRITE, .next = &last};
    struct ibv_send_wr* const carrier = round % 2 == 0 ? &last : &first;
    carrier->sg_list = length != 0 ? &sge : NULL;
    carrier->num_sge = length != 0;
    carrier->wr.rdma.remote_addr = to->address + offset;
    carrier->wr.rdma.rkey = to->rkey;
    post_send(qps[i], carrier);
  }
  requests[round % IN_FLIGHT] = (struct request){.round = round, .events = qp_count};
}

/* One step of the sender; whether anything happened. */
static bool send_step(uint64_t* started, uint64_t* finished) {
  bool worked = false;
  const struct announcement* const next = &ring[*started % RING];
  if (*started < rounds && requests[*started % IN_FLIGHT].events == 0 &&
      next->number == (uint32_t)*started + 1) {
    __sync_synchronize();
    if (next->size < size_of(*started)) broken("announcement of too little memory");
    send_message(*started, next);
    ++*started;
    worked = true;
  }
  if (*started == *finished) return worked; /* NCCL does not poll with nothing under way */
  struct ibv_wc wc;
  const int64_t round = next_completion(&wc);
  if (round < 0) return worked;
  if (wc.opcode != IBV_WC_RDMA_WRITE) broken("a sender's completion with opcode %d", wc.opcode);
  if (--requests[round % IN_FLIGHT].events == 0) ++*finished;
  return true;
}

/* Receives without buffers on every queue pair, then a slot of the sender's ring. Every 32nd of these WRITEs
 * is signaled, so that the send queue gets free. */
static void announce(uint64_t round) {
  char* const buffer = data + (round % IN_FLIGHT) * stride;
  memset(buffer + size_of(round), GUARD_BYTE, GUARD);
  for (int i = 0; i < qp_count; i++) {
    struct ibv_recv_wr receive = {.wr_id = round}, *bad;
    if (qps[i]->context->ops.post_recv(qps[i], &receive, &bad) != 0) broken("cannot post a receive");
  }
  const uint64_t slot = round % RING;
  ring[slot].address = (uintptr_t)buffer;
  ring[slot].rkey = data_mr->rkey;
  ring[slot].size = longest;
  ring[slot].number = (uint32_t)round + 1;
  struct ibv_sge sge = {.addr = (uintptr_t)&ring[slot], .length = sizeof ring[slot], .lkey = ring_mr->lkey};
  struct ibv_send_wr write = {
      .wr_id = round,
      .sg_list = &sge,
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_WRITE,
      .send_flags = IBV_SEND_INLINE | (slot == 0 ? IBV_SEND_SIGNALED : 0),
      .wr.rdma = {.remote_addr = peer.ring + slot * sizeof ring[slot], .rkey = peer.ring_rkey}};
  requests[round % IN_FLIGHT] = (struct request){.round = round, .events = qp_count + (slot == 0)};
  post_send(qps[0], &write);
}

static void flush(struct request* request) {
  struct ibv_sge sge = {
      .addr = (uintptr_t)&flush_target, .length = sizeof flush_target, .lkey = flush_mr->lkey};
  struct ibv_send_wr read = {
      .wr_id = request->round,
      .sg_list = &sge,
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_READ,
      .send_flags = IBV_SEND_SIGNALED,
      .wr.rdma = {.remote_addr = (uintptr_t)data + (request->round % IN_FLIGHT) * stride,
                  .rkey = data_mr->rkey}};
  request->flushing = true;
  request->events = 1;
  post_send(flush_qp, &read);
}

static void verify(uint64_t round) {
  const uint32_t size = size_of(round);
  const char* const buffer = data + (round % IN_FLIGHT) * stride;
  const uint32_t wrong = pattern_difference((const uint64_t*)buffer, size, seed_of(round));
  if (wrong != size) broken("round %llu differs near byte %u of %u", (unsigned long long)round, wrong, size);
  for (int i = 0; i < GUARD; i++) {
    if ((uint8_t)buffer[size + (uint32_t)i] != GUARD_BYTE)
      broken("round %llu wrote beyond its end", (unsigned long long)round);
  }
}

static bool receive_step(uint64_t* started, uint64_t* finished) {
  bool worked = false;
  if (*started < rounds && requests[*started % IN_FLIGHT].events == 0) {
    announce((*started)++);
    worked = true;
  }
  struct ibv_wc wc;
  const int64_t round = next_completion(&wc);
  if (round < 0) return worked;
  struct request* const request = &requests[round % IN_FLIGHT];
  const bool expected = request->flushing
                            ? wc.opcode == IBV_WC_RDMA_READ
                            : wc.opcode == IBV_WC_RDMA_WRITE || wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
  if (!expected) broken("a receiver's completion with opcode %d", wc.opcode);
  if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM &&
      (!(wc.wc_flags & IBV_WC_WITH_IMM) || wc.imm_data != size_of((uint64_t)round)))
    broken("round %lld came with %u for its size", (long long)round, wc.imm_data);
  if (--request->events > 0) return true;
  /* NCCL has nothing to flush after an empty message. */
  if (!request->flushing && size_of((uint64_t)round) > 0) {
    flush(request);
  } else {
    verify((uint64_t)round);
    ++*finished;
  }
  return true;
}

static void talk(bool receives) {
  uint64_t started = 0, finished = 0;
  time_t progress = time(NULL);
  while (finished < rounds) {
    if (receives ? receive_step(&started, &finished) : send_step(&started, &finished)) {
      progress = time(NULL);
    } else if (time(NULL) - progress > PATIENCE_S) {
      broken("nothing happens after %llu of %llu rounds", (unsigned long long)finished,
             (unsigned long long)rounds);
    } else {
      sched_yield();
    }
  }
}

static void destroy_objects(void) {
  for (int i = 0; i < qp_count; i++) {
    if (verbs.destroy_qp(qps[i]) != 0) broken("cannot destroy a queue pair");
  }
  if (flush_qp != NULL && (verbs.destroy_qp(flush_qp) != 0 || verbs.dereg_mr(flush_mr) != 0))
    broken("cannot destroy what flushes");
  if (verbs.dereg_mr(ring_mr) != 0 || verbs.dereg_mr(data_mr) != 0 || verbs.destroy_cq(cq) != 0 ||
      verbs.dealloc_pd(pd) != 0)
    broken("cannot destroy objects");
  /* The device stays open, as a thread waits for its events: NCCL ends so, too. */
}

int main(int argc, char** argv) {
  bool receives = false;
  int port = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const char *option = argv[i], *value = argv[i + 1];
    if (strcmp(option, "--receive") == 0 || strcmp(option, "--send") == 0) {
      receives = strcmp(option, "--receive") == 0;
      port = atoi(value);
    } else if (strcmp(option, "--rounds") == 0) {
      rounds = strtoull(value, NULL, 10);
    } else if (strcmp(option, "--qps") == 0) {
      qp_count = atoi(value);
    } else if (strcmp(option, "--bytes") == 0) {
      longest = (uint32_t)atoi(value);
    } else {
      broken("unknown option %s", option);
    }
  }
  if (argc % 2 == 0 || port == 0 || qp_count < 1 || qp_count > MOST_QPS)
    broken("say --receive PORT or --send PORT");
  setvbuf(stdout, NULL, _IOLBF, 0);

  const char *path = "", *complaint = "";
  if (!load_verbs(&verbs, &path, &complaint)) broken("%s", complaint);
  printf("library %s\n", path);
  open_device();
  make_objects(receives);
  struct rendezvous meeting;
  struct introduction both[2];
  const int rank = receives ? 0 : 1;
  if (!rendezvous_open(&meeting, rank, 2, NULL, (uint16_t)port, PATIENCE_S) ||
      !rendezvous_share(&meeting, &own, both, sizeof own))
    broken("no peer");
  peer = both[1 - rank];
  for (int i = 0; i < qp_count; i++) {
    connect_qp(qps[i], peer.qps[i], &peer.gid, own.mtu < peer.mtu ? own.mtu : peer.mtu);
  }
  char ready[2];
  if (!rendezvous_share(&meeting, "r", ready, 1)) broken("the peer is not ready");
  talk(receives);
  if (!rendezvous_share(&meeting, "d", ready, 1)) broken("the peer is not done");
  rendezvous_close(&meeting);
  destroy_objects();
  free(data);
  printf("done %llu\n", (unsigned long long)rounds);
  return 0;
}
