// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// agent: does on the machine of a NIC under test what a conformance tester says, by libibverbs alone.
//
//     cc -o agent agent.c -libverbs
//     CONFORM_TOKEN=... ./agent ADDRESS PORT
//
// It listens at ADDRESS only, serves one client at a time, and only one that says the token. What a client
// has made goes when the client goes. It writes no file, and reads only the counters of the device.
// PROTOCOL.md describes the lines.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <infiniband/verbs.h>

#include "line_server.h"

enum {
  kVersion = 3,
  kMostObjects = 32,  // of each kind
  kMostRegion = 1 << 20,
  kMostMem = 4096,  // that one line reads or writes
  kMostSges = 16,
  kMostDepth = 1024,
  kMostInline = 256,
  kMostWaitMs = 1000,
};

struct region {
  struct ibv_mr *mr;     // null once it is deregistered
  unsigned char *bytes;  // stay until the client goes
  size_t length;
  uint32_t lkey;
};
struct shared {
  struct ibv_srq *srq;
  struct ibv_cq *cq;  // of one for XRC; for the others the queue pairs have some
};
struct pair {
  struct ibv_qp *qp;
  struct ibv_cq *send_cq, *receive_cq;  // null: it does not send, or not receive
  struct ibv_srq *srq;                  // null: its receives are its own
  union ibv_gid peer;
  uint32_t peer_qpn;
  int is_connected;
};

// What the client has made. The client's number of a thing is its place here.
static struct ibv_context *device;
static uint8_t port, gid_index;
static struct ibv_pd *pds[kMostObjects];
static struct region regions[kMostObjects];
static struct ibv_mw *windows[kMostObjects];
static struct ibv_ah *handles[kMostObjects];
static struct shared shareds[kMostObjects];
static struct pair pairs[kMostObjects];
static unsigned pd_count, region_count, window_count, handle_count, shared_count, pair_count;
static struct ibv_xrcd *xrc_domain;  // of all shared queues for XRC; null until the first one is made

// What the words of the line name.
static struct region *region;
static struct ibv_mw *window;
static struct shared *shared;
static struct pair *pair;

// The same for a call that has set errno.
static int refuse_call(const char *call) {
  const int code = errno;
  reply_length = 0;
  say("error %s: %s (errno %d)", call, strerror(code), code);
  return 0;
}

// --- The device, and what goes with a client ---

// These end what there is of one, and keep errno for what is said of a call before.
static void end_pair(struct pair *old) {
  const int code = errno;
  if (old->qp != NULL) ibv_destroy_qp(old->qp);
  if (old->send_cq != NULL) ibv_destroy_cq(old->send_cq);
  if (old->receive_cq != NULL) ibv_destroy_cq(old->receive_cq);
  *old = (struct pair){0};
  errno = code;
}
static void end_shared(struct shared *old) {
  const int code = errno;
  if (old->srq != NULL) ibv_destroy_srq(old->srq);
  if (old->cq != NULL) ibv_destroy_cq(old->cq);
  *old = (struct shared){0};
  errno = code;
}

static void reset(void) {
  // A window of type 2 first: with rdma_rxe, ibv_destroy_qp() waits for as long as one is bound.
  for (unsigned i = 0; i < window_count; ++i) ibv_dealloc_mw(windows[i]);
  for (unsigned i = 0; i < pair_count; ++i) end_pair(&pairs[i]);
  for (unsigned i = 0; i < shared_count; ++i) end_shared(&shareds[i]);
  if (xrc_domain != NULL) ibv_close_xrcd(xrc_domain);
  for (unsigned i = 0; i < handle_count; ++i) ibv_destroy_ah(handles[i]);
  for (unsigned i = 0; i < region_count; ++i) {
    if (regions[i].mr != NULL) ibv_dereg_mr(regions[i].mr);
    free(regions[i].bytes);
  }
  for (unsigned i = 0; i < pd_count; ++i) ibv_dealloc_pd(pds[i]);
  memset(regions, 0, sizeof regions);
  pair_count = shared_count = handle_count = window_count = region_count = pd_count = 0;
  xrc_domain = NULL;
  if (device != NULL) ibv_close_device(device);
  device = NULL;
}

// A GID by its index, or a RoCEv2 one by its 32 digits.
static int choose_gid(const char *text, struct ibv_gid_entry *entry) {
  unsigned char wanted[16];
  uint64_t number = 0;
  const int has_digits = strlen(text) == 32 && read_hex(text, wanted, 16) == 16;
  if (!has_digits && !read_number(text, 255, &number)) return 0;
  for (; number < 256; ++number) {
    gid_index = (uint8_t)number;
    const int is_there = ibv_query_gid_ex(device, port, gid_index, entry, 0) == 0;
    if (!has_digits) return is_there;
    const int is_meant = is_there && memcmp(wanted, entry->gid.raw, 16) == 0;
    if (is_meant && entry->gid_type == IBV_GID_TYPE_ROCE_V2) return 1;
  }
  return 0;
}

static int command_open(void) {
  struct ibv_device_attr attr;
  struct ibv_port_attr port_attr;
  struct ibv_gid_entry entry;
  reset();
  if (numbers[2] > 255) return refuse("there is no such port");
  struct ibv_device **list = ibv_get_device_list(NULL);
  for (int i = 0; list != NULL && list[i] != NULL && device == NULL; ++i) {
    const int is_meant = strcmp(words[1], "-") == 0 || strcmp(words[1], ibv_get_device_name(list[i])) == 0;
    if (is_meant) device = ibv_open_device(list[i]);
  }
  if (list != NULL) ibv_free_device_list(list);
  if (device == NULL) return refuse("there is no such device, or it cannot be opened");
  port = (uint8_t)numbers[2];
  fcntl(device->async_fd, F_SETFL, fcntl(device->async_fd, F_GETFL) | O_NONBLOCK);
  if ((errno = ibv_query_device(device, &attr)) != 0) return refuse_call("ibv_query_device");
  if ((errno = ibv_query_port(device, port, &port_attr)) != 0) return refuse_call("ibv_query_port");
  if (!choose_gid(words[3], &entry)) return refuse("there is no such GID: --gid N chooses another");
  say(" device=%s gid-index=%u mtu=%d reads=%d atomics=%d gid=", ibv_get_device_name(device->device),
      gid_index, port_attr.active_mtu, attr.max_qp_rd_atom, attr.atomic_cap != IBV_ATOMIC_NONE);
  say_hex(entry.gid.raw, 16);
  return 1;
}

// --- Memory ---

static int command_pd(void) {
  if (pd_count == kMostObjects) return refuse("too many");
  if ((pds[pd_count] = ibv_alloc_pd(device)) == NULL) return refuse_call("ibv_alloc_pd");
  say(" %u", pd_count++);
  return 1;
}

static int command_mr(void) {
  void *bytes = NULL;
  const size_t length = numbers[2];
  if (numbers[1] >= pd_count) return refuse("there is no such protection domain");
  const int is_too_much = region_count == kMostObjects || length == 0 || length > kMostRegion;
  if (is_too_much) return refuse("too many, or too long");
  if (posix_memalign(&bytes, 4096, length) != 0) return refuse("no memory");
  memset(bytes, 0, length);
  struct ibv_mr *mr = ibv_reg_mr(pds[numbers[1]], bytes, length, (unsigned)numbers[3] & 0xffff);
  if (mr == NULL) {
    refuse_call("ibv_reg_mr");
    free(bytes);
    return 0;
  }
  regions[region_count] = (struct region){.mr = mr, .bytes = bytes, .length = length, .lkey = mr->lkey};
  const unsigned long long address = (uintptr_t)bytes;
  say(" %u address=%llu lkey=%u rkey=%u", region_count++, address, mr->lkey, mr->rkey);
  return 1;
}

static int command_dereg(void) {
  if (region->mr == NULL) return refuse("it is deregistered already");
  if ((errno = ibv_dereg_mr(region->mr)) != 0) return refuse_call("ibv_dereg_mr");
  region->mr = NULL;
  return 1;
}

static int command_rights(void) {
  if (region->mr == NULL) return refuse("it is deregistered already");
  const int access = (int)(numbers[2] & 0xffff);
  const int result = ibv_rereg_mr(region->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access);
  if (result != 0) return refuse_call("ibv_rereg_mr");
  region->lkey = region->mr->lkey;
  say(" lkey=%u rkey=%u", region->mr->lkey, region->mr->rkey);
  return 1;
}

static int command_mw(void) {
  if (numbers[1] >= pd_count) return refuse("there is no such protection domain");
  if (numbers[2] != 1 && numbers[2] != 2) return refuse("a window is of type 1 or 2");
  if (window_count == kMostObjects) return refuse("too many");
  struct ibv_mw *made = ibv_alloc_mw(pds[numbers[1]], numbers[2] == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
  if (made == NULL) return refuse_call("ibv_alloc_mw");
  windows[window_count] = made;
  say(" %u rkey=%u", window_count++, made->rkey);
  return 1;
}

// The place of word 2 in the region, if it has that many bytes there.
static unsigned char *bytes_at(uint64_t length) {
  const uint64_t offset = numbers[2];
  if (offset <= region->length && length <= region->length - offset) return region->bytes + offset;
  refuse("the region ends before");
  return NULL;
}

static int command_mem(void) {
  const unsigned char *from = numbers[3] <= kMostMem ? bytes_at(numbers[3]) : NULL;
  if (from == NULL) return refuse("no such bytes, or too many");
  say(" ");
  say_hex(from, numbers[3]);
  return 1;
}

static int command_store(void) {
  static unsigned char bytes[kMostMem];
  const long length = read_hex(words[3], bytes, sizeof bytes);
  unsigned char *to = length >= 0 ? bytes_at((uint64_t)length) : NULL;
  if (to == NULL) return refuse("no hexadecimal digits, or no such bytes");
  memcpy(to, bytes, (size_t)length);
  return 1;
}

// Each byte tells its address, counted from the given one on.
static int command_fill(void) {
  unsigned char *to = bytes_at(numbers[3]);
  for (uint64_t i = 0, at = numbers[4]; to != NULL && i < numbers[3]; ++i, ++at) {
    to[i] = (unsigned char)(at * 7 + (at >> 8) * 29 + (at >> 16) * 101);
  }
  return to != NULL;
}

// --- Shared receive queues ---

static int command_srq(void) {
  if (numbers[1] >= pd_count) return refuse("there is no such protection domain");
  if (shared_count == kMostObjects || numbers[2] > kMostDepth) return refuse("too many, or too deep");
  struct ibv_srq_init_attr attr = {.attr = {.max_wr = (uint32_t)numbers[2], .max_sge = kMostSges}};
  struct ibv_srq *srq = ibv_create_srq(pds[numbers[1]], &attr);
  if (srq == NULL) return refuse_call("ibv_create_srq");
  shareds[shared_count].srq = srq;
  say(" %u", shared_count++);
  return 1;
}

static int make_xrc_domain(void) {
  struct ibv_xrcd_init_attr attr = {.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
                                    .fd = -1,
                                    .oflags = O_CREAT};
  if (xrc_domain == NULL) xrc_domain = ibv_open_xrcd(device, &attr);
  return xrc_domain != NULL || refuse_call("ibv_open_xrcd");
}

static int command_xrc_srq(void) {
  uint32_t number = 0;
  struct shared *made = &shareds[shared_count];
  if (numbers[1] >= pd_count) return refuse("there is no such protection domain");
  if (shared_count == kMostObjects || numbers[2] > kMostDepth) return refuse("too many, or too deep");
  if (!make_xrc_domain()) return 0;
  made->cq = ibv_create_cq(device, kMostDepth, NULL, NULL, 0);
  if (made->cq == NULL) return refuse_call("ibv_create_cq");
  struct ibv_srq_init_attr_ex attr = {
      .attr = {.max_wr = (uint32_t)numbers[2], .max_sge = kMostSges},
      .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
      .srq_type = IBV_SRQT_XRC,
      .pd = pds[numbers[1]],
      .xrcd = xrc_domain,
      .cq = made->cq};
  attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  made->srq = ibv_create_srq_ex(device, &attr);
  if (made->srq == NULL || (errno = ibv_get_srq_num(made->srq, &number)) != 0) {
    end_shared(made);
    return refuse_call("ibv_create_srq_ex");
  }
  say(" %u srqn=%u", shared_count++, number);
  return 1;
}

static int command_arm(void) {
  struct ibv_srq_attr attr = {.srq_limit = (uint32_t)numbers[2]};
  if (numbers[2] > kMostDepth) return refuse("it is not so deep");
  errno = ibv_modify_srq(shared->srq, &attr, IBV_SRQ_LIMIT);
  return errno == 0 || refuse_call("ibv_modify_srq");
}

// --- Queue pairs ---

static const struct kind {
  const char *name;
  enum ibv_qp_type type;
  int sends, receives;  // has a queue for that
} kKinds[] = {
    {"rc", IBV_QPT_RC, 1, 1},
    {"uc", IBV_QPT_UC, 1, 1},
    {"ud", IBV_QPT_UD, 1, 1},
    {"xrc-send", IBV_QPT_XRC_SEND, 1, 0},
    {"xrc-recv", IBV_QPT_XRC_RECV, 0, 0},
};
enum { kKindCount = sizeof kKinds / sizeof kKinds[0] };

// With all of a queue pair that its kind has; 0: there is none, errno says why.
static int make_pair(struct pair *made, const struct kind *kind, struct ibv_pd *pd, uint32_t depth) {
  struct ibv_qp_init_attr_ex attr = {.qp_type = kind->type, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd};
  if (kind->sends) {
    attr.send_cq = made->send_cq = ibv_create_cq(device, kMostDepth, NULL, NULL, 0);
    attr.cap.max_send_wr = depth;
    attr.cap.max_send_sge = kMostSges;
    attr.cap.max_inline_data = kMostInline;
    if (made->send_cq == NULL) return 0;
  }
  if (kind->receives) {
    attr.recv_cq = made->receive_cq = ibv_create_cq(device, kMostDepth, NULL, NULL, 0);
    attr.srq = made->srq;
    attr.cap.max_recv_wr = made->srq == NULL ? depth : 0;
    attr.cap.max_recv_sge = made->srq == NULL ? kMostSges : 0;
    if (made->receive_cq == NULL) return 0;
  }
  if (kind->type == IBV_QPT_XRC_RECV) {
    attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    attr.xrcd = xrc_domain;
  }
  made->qp = ibv_create_qp_ex(device, &attr);
  return made->qp != NULL;
}

static int command_qp(void) {
  unsigned i = 0;
  int is_wrong = 0;
  while (i < kKindCount && strcmp(words[1], kKinds[i].name) != 0) ++i;
  if (i == kKindCount) return refuse("a service is rc, uc, ud, xrc-send or xrc-recv");
  if (numbers[2] >= pd_count) return refuse("there is no such protection domain");
  if (pair_count == kMostObjects || numbers[3] > kMostDepth) return refuse("too many, or too deep");
  struct pair *made = &pairs[pair_count];
  if (named("srq") != NULL) {
    const uint64_t number = named_number("srq", UINT32_MAX, &is_wrong);
    const int is_there = !is_wrong && number < shared_count && shareds[number].cq == NULL;
    if (!is_there || !kKinds[i].receives) return refuse("there is no such shared queue for this service");
    made->srq = shareds[number].srq;
  }
  if (kKinds[i].type == IBV_QPT_XRC_RECV && !make_xrc_domain()) return 0;
  if (!make_pair(made, &kKinds[i], pds[numbers[2]], (uint32_t)numbers[3])) {
    end_pair(made);
    return refuse_call("ibv_create_cq, ibv_create_qp_ex");
  }
  say(" %u qpn=%u", pair_count++, made->qp->qp_num);
  return 1;
}

// The way to this GID, from our own.
static struct ibv_ah_attr way_to(const union ibv_gid *gid) {
  return (struct ibv_ah_attr){
      .is_global = 1, .port_num = port, .grh = {.dgid = *gid, .sgid_index = gid_index, .hop_limit = 64}};
}

static int command_ah(void) {
  union ibv_gid gid;
  if (numbers[1] >= pd_count) return refuse("there is no such protection domain");
  if (read_hex(words[2], gid.raw, 16) != 16) return refuse("a GID has 32 digits");
  if (handle_count == kMostObjects) return refuse("too many");
  struct ibv_ah_attr attr = way_to(&gid);
  handles[handle_count] = ibv_create_ah(pds[numbers[1]], &attr);
  if (handles[handle_count] == NULL) return refuse_call("ibv_create_ah");
  say(" %u", handle_count++);
  return 1;
}

static int command_connect(void) {
  if (numbers[2] > 0xffffff) return refuse("there is no such queue pair number");
  if (read_hex(words[3], pair->peer.raw, 16) != 16) return refuse("a GID has 32 digits");
  pair->peer_qpn = (uint32_t)numbers[2];
  pair->is_connected = 1;
  return 1;
}

static const char *const kStates[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
enum { kStateCount = sizeof kStates / sizeof kStates[0] };

static int command_modify(void) {
  struct ibv_qp_attr attr = {.port_num = port};
  int mask = IBV_QP_STATE, state = 0, is_wrong = 0;
  while (state < kStateCount && strcmp(words[2], kStates[state]) != 0) ++state;
  if (state == kStateCount) return refuse("there is no such state");
  attr.qp_state = (enum ibv_qp_state)state;
  const struct {
    const char *name;
    int bit;
    uint32_t most;
    void *to;
    size_t size;
  } kNames[] = {
      {"access", IBV_QP_ACCESS_FLAGS, 0xffff, &attr.qp_access_flags, sizeof attr.qp_access_flags},
      {"mtu", IBV_QP_PATH_MTU, 5, &attr.path_mtu, sizeof attr.path_mtu},
      {"receive-psn", IBV_QP_RQ_PSN, 0xffffff, &attr.rq_psn, sizeof attr.rq_psn},
      {"send-psn", IBV_QP_SQ_PSN, 0xffffff, &attr.sq_psn, sizeof attr.sq_psn},
      {"resources", IBV_QP_MAX_DEST_RD_ATOMIC, 255, &attr.max_dest_rd_atomic, 1},
      {"reads", IBV_QP_MAX_QP_RD_ATOMIC, 255, &attr.max_rd_atomic, 1},
      {"rnr-timer", IBV_QP_MIN_RNR_TIMER, 31, &attr.min_rnr_timer, 1},
      {"timeout", IBV_QP_TIMEOUT, 31, &attr.timeout, 1},
      {"retry", IBV_QP_RETRY_CNT, 7, &attr.retry_cnt, 1},
      {"rnr-retry", IBV_QP_RNR_RETRY, 7, &attr.rnr_retry, 1},
      {"notify", IBV_QP_EN_SQD_ASYNC_NOTIFY, 1, &attr.en_sqd_async_notify, 1},
      {"qkey", IBV_QP_QKEY, UINT32_MAX, &attr.qkey, sizeof attr.qkey},
  };
  for (size_t i = 0; i < sizeof kNames / sizeof kNames[0]; ++i) {
    if (named(kNames[i].name) == NULL) continue;
    const uint32_t wide = (uint32_t)named_number(kNames[i].name, kNames[i].most, &is_wrong);
    const uint8_t narrow = (uint8_t)wide;
    memcpy(kNames[i].to, kNames[i].size == 1 ? (const void *)&narrow : (const void *)&wide, kNames[i].size);
    mask |= kNames[i].bit;
  }
  if (is_wrong) return refuse("a number is none, or too large");
  if (attr.qp_state == IBV_QPS_INIT) mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (attr.qp_state == IBV_QPS_RTR && pair->is_connected) {
    mask |= IBV_QP_AV | IBV_QP_DEST_QPN;
    attr.dest_qp_num = pair->peer_qpn;
    attr.ah_attr = way_to(&pair->peer);
  }
  errno = ibv_modify_qp(pair->qp, &attr, mask);
  return errno == 0 || refuse_call("ibv_modify_qp");
}

static int command_query(void) {
  struct ibv_qp_attr attr;
  struct ibv_qp_init_attr unused;
  errno = ibv_query_qp(pair->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RQ_PSN, &unused);
  if (errno != 0) return refuse_call("ibv_query_qp");
  const unsigned state = (unsigned)attr.qp_state;
  say(" state=%s send-psn=%u", state < kStateCount ? kStates[state] : "?", attr.sq_psn & 0xffffff);
  say(" receive-psn=%u", attr.rq_psn & 0xffffff);
  return 1;
}

// --- Work ---

// One sge=MR:OFFSET:LENGTH. It may lie outside of its region, so that the NIC has to say something; except
// where the processor copies the bytes.
static int read_sge(const char *text, int is_inline, struct ibv_sge *sge) {
  char copy[64];
  uint64_t parts[3];
  snprintf(copy, sizeof copy, "%s", text);
  char *rest = copy;
  for (int i = 0; i < 3; ++i) {
    const char *part = strsep(&rest, ":");
    if (part == NULL || !read_number(part, UINT32_MAX, &parts[i])) return 0;
  }
  if (rest != NULL || parts[0] >= region_count) return 0;
  const struct region *in = &regions[parts[0]];
  if (is_inline && (parts[1] > in->length || parts[2] > in->length - parts[1])) return 0;
  *sge = (struct ibv_sge){(uintptr_t)in->bytes + parts[1], (uint32_t)parts[2], in->lkey};
  return 1;
}
// All of the line. -1: one is wrong.
static int read_sges(int is_inline, struct ibv_sge *sges) {
  int count = 0;
  for (unsigned i = 1; i < word_count; ++i) {
    if (strncmp(words[i], "sge=", 4) != 0) continue;
    if (count == kMostSges || !read_sge(words[i] + 4, is_inline, &sges[count++])) return -1;
  }
  return count;
}

static const struct {
  const char *name;
  enum ibv_wr_opcode opcode;
} kOperations[] = {
    {"send", IBV_WR_SEND},          {"send-imm", IBV_WR_SEND_WITH_IMM},
    {"write", IBV_WR_RDMA_WRITE},   {"write-imm", IBV_WR_RDMA_WRITE_WITH_IMM},
    {"read", IBV_WR_RDMA_READ},     {"cas", IBV_WR_ATOMIC_CMP_AND_SWP},
    {"add", IBV_WR_ATOMIC_FETCH_AND_ADD}, {"send-inv", IBV_WR_SEND_WITH_INV},
    {"local-inv", IBV_WR_LOCAL_INV},
};
enum { kOperationCount = sizeof kOperations / sizeof kOperations[0] };

// Where a datagram goes. It stands in the place of what other services say of memory.
static int set_destination(struct ibv_send_wr *wr) {
  int is_wrong = named("ah") == NULL;
  const uint64_t handle = named_number("ah", UINT32_MAX, &is_wrong);
  const uint32_t qpn = (uint32_t)named_number("dst", 0xffffff, &is_wrong);
  const uint32_t qkey = (uint32_t)named_number("qkey", UINT32_MAX, &is_wrong);
  if (is_wrong || handle >= handle_count) return refuse("a datagram needs the number of an address handle");
  wr->wr.ud.ah = handles[handle];
  wr->wr.ud.remote_qpn = qpn;
  wr->wr.ud.remote_qkey = qkey;
  return 1;
}

static int command_post(void) {
  struct ibv_sge sges[kMostSges];
  struct ibv_send_wr wr = {.wr_id = numbers[3], .sg_list = sges}, *bad = NULL;
  unsigned i = 0;
  int is_wrong = 0;
  while (i < kOperationCount && strcmp(words[2], kOperations[i].name) != 0) ++i;
  if (i == kOperationCount) return refuse("there is no such operation");
  if (pair->send_cq == NULL) return refuse("this queue pair sends nothing");
  wr.opcode = kOperations[i].opcode;
  wr.send_flags = (unsigned)numbers[4] & 15;
  wr.num_sge = read_sges((wr.send_flags & IBV_SEND_INLINE) != 0, sges);
  const uint64_t va = named_number("va", UINT64_MAX, &is_wrong);
  const uint32_t rkey = (uint32_t)named_number("rkey", UINT32_MAX, &is_wrong);
  const uint64_t compare_add = named_number("compare-add", UINT64_MAX, &is_wrong);
  const uint64_t swap = named_number("swap", UINT64_MAX, &is_wrong);
  const uint32_t imm = (uint32_t)named_number("imm", UINT32_MAX, &is_wrong);
  const uint32_t inv = (uint32_t)named_number("inv", UINT32_MAX, &is_wrong);
  const uint32_t srqn = (uint32_t)named_number("srqn", 0xffffff, &is_wrong);
  if (wr.num_sge < 0 || is_wrong) return refuse("an element or a number is wrong");
  const int is_invalidation = wr.opcode == IBV_WR_SEND_WITH_INV || wr.opcode == IBV_WR_LOCAL_INV;
  const int is_atomic = wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  wr.imm_data = htonl(imm);
  if (is_invalidation) wr.invalidate_rkey = inv;
  wr.wr.rdma.remote_addr = va;
  wr.wr.rdma.rkey = rkey;
  if (is_atomic) {
    wr.wr.atomic.remote_addr = va;
    wr.wr.atomic.compare_add = compare_add;
    wr.wr.atomic.swap = swap;
    wr.wr.atomic.rkey = rkey;
  }
  if (pair->qp->qp_type == IBV_QPT_UD && !set_destination(&wr)) return 0;
  if (pair->qp->qp_type == IBV_QPT_XRC_SEND) wr.qp_type.xrc.remote_srqn = srqn;
  errno = ibv_post_send(pair->qp, &wr, &bad);
  return errno == 0 || refuse_call("ibv_post_send");
}

// A window of type 1 is bound by a verb, one of type 2 by a work request. Both get their next key.
static int command_bind(void) {
  const int is_too_far = numbers[6] > UINT32_MAX || numbers[7] > UINT32_MAX;
  if (numbers[5] >= region_count || is_too_far) return refuse("no such region, or it is not so long");
  const struct region *in = &regions[numbers[5]];
  if (in->mr == NULL) return refuse("the region is deregistered");
  if (pair->send_cq == NULL) return refuse("this queue pair sends nothing");
  const struct ibv_mw_bind_info info = {.mr = in->mr,
                                        .addr = (uintptr_t)in->bytes + numbers[6],
                                        .length = numbers[7],
                                        .mw_access_flags = (unsigned)numbers[8] & 0xffff};
  const unsigned flags = (unsigned)numbers[4] & 15;
  if (window->type == IBV_MW_TYPE_1) {
    struct ibv_mw_bind bind = {.wr_id = numbers[3], .send_flags = flags, .bind_info = info};
    if ((errno = ibv_bind_mw(pair->qp, window, &bind)) != 0) return refuse_call("ibv_bind_mw");
  } else {
    struct ibv_send_wr wr = {.wr_id = numbers[3], .opcode = IBV_WR_BIND_MW, .send_flags = flags};
    struct ibv_send_wr *bad = NULL;
    const uint32_t rkey = ibv_inc_rkey(window->rkey);
    wr.bind_mw.mw = window;
    wr.bind_mw.rkey = rkey;
    wr.bind_mw.bind_info = info;
    if ((errno = ibv_post_send(pair->qp, &wr, &bad)) != 0) return refuse_call("ibv_post_send");
    window->rkey = rkey;
  }
  say(" rkey=%u", window->rkey);
  return 1;
}

static int command_recv(void) {
  struct ibv_sge sges[kMostSges];
  struct ibv_recv_wr wr = {.wr_id = numbers[2], .sg_list = sges, .num_sge = read_sges(0, sges)}, *bad = NULL;
  if (wr.num_sge < 0) return refuse("an element is wrong");
  const int has_own = pair->receive_cq != NULL && pair->srq == NULL;
  if (!has_own) return refuse("this queue pair has no receives of its own");
  errno = ibv_post_recv(pair->qp, &wr, &bad);
  return errno == 0 || refuse_call("ibv_post_recv");
}

static int command_srq_recv(void) {
  struct ibv_sge sges[kMostSges];
  struct ibv_recv_wr wr = {.wr_id = numbers[2], .sg_list = sges, .num_sge = read_sges(0, sges)}, *bad = NULL;
  if (wr.num_sge < 0) return refuse("an element is wrong");
  errno = ibv_post_srq_recv(shared->srq, &wr, &bad);
  return errno == 0 || refuse_call("ibv_post_srq_recv");
}

static int take_completion(struct ibv_cq *cq, uint64_t wait_ms, int is_of_datagrams) {
  struct ibv_wc wc;
  if (cq == NULL) return refuse("it has no completions of its own");
  if (wait_ms > kMostWaitMs) return refuse("that is too long");
  int count = ibv_poll_cq(cq, 1, &wc);
  for (uint64_t rounds = wait_ms * 10; count == 0 && rounds > 0; --rounds) {
    nanosleep(&(struct timespec){.tv_nsec = 100 * 1000}, NULL);
    count = ibv_poll_cq(cq, 1, &wc);
  }
  if (count < 0) return refuse("ibv_poll_cq fails");
  if (count == 0) return 1;
  say(" id=%llu status=%d vendor=%u", (unsigned long long)wc.wr_id, wc.status, wc.vendor_err);
  if (wc.status != IBV_WC_SUCCESS) return 1;
  say(" opcode=%d length=%u", wc.opcode, wc.byte_len);
  if (wc.wc_flags & IBV_WC_WITH_IMM) say(" imm=%u", ntohl(wc.imm_data));
  if (wc.wc_flags & IBV_WC_WITH_INV) say(" inv=%u", wc.invalidated_rkey);
  if (!is_of_datagrams || wc.opcode != IBV_WC_RECV) return 1;
  say(" src=%u grh=%d", wc.src_qp, (wc.wc_flags & IBV_WC_GRH) != 0);
  return 1;
}

static int command_poll(void) {
  struct ibv_cq *cq = strcmp(words[2], "send") == 0 ? pair->send_cq : pair->receive_cq;
  return take_completion(cq, numbers[3], pair->qp->qp_type == IBV_QPT_UD);
}
static int command_srq_poll(void) {
  return take_completion(shared->cq, numbers[2], 0);
}

static int command_events(void) {
  struct ibv_async_event event;
  for (int most = 16; most > 0 && ibv_get_async_event(device, &event) == 0; --most) {
    say(" %d", event.event_type);
    ibv_ack_async_event(&event);
  }
  return 1;
}

static int command_counters(void) {
  char folder[160], path[500], text[32];
  snprintf(folder, sizeof folder, "/sys/class/infiniband/%.64s/ports/%u/hw_counters",
           ibv_get_device_name(device->device), port);
  DIR *names = opendir(folder);
  struct dirent *entry = NULL;
  for (int most = 256; names != NULL && most > 0 && (entry = readdir(names)) != NULL; --most) {
    uint64_t number = 0;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
    if (file == NULL) continue;
    if (fgets(text, sizeof text, file) != NULL) {
      text[strcspn(text, "\n")] = '\0';
      if (read_number(text, UINT64_MAX, &number)) say(" %.64s=%s", entry->d_name, text);
    }
    fclose(file);
  }
  if (names != NULL) closedir(names);
  return 1;
}

// --- Lines ---

// What follows a command: w a word, n a number, m a region, v a window, s a shared queue, q a queue pair.
// Words after them have the form NAME=VALUE. All commands except `open` want a device.
static const struct command kCommands[] = {
    {"open", "wnw", command_open},
    {"pd", "", command_pd},
    {"mr", "nnn", command_mr},
    {"dereg", "m", command_dereg},
    {"rights", "mn", command_rights},
    {"mem", "mnn", command_mem},
    {"store", "mnw", command_store},
    {"fill", "mnnn", command_fill},
    {"mw", "nn", command_mw},
    {"srq", "nn", command_srq},
    {"xrc-srq", "nn", command_xrc_srq},
    {"arm", "sn", command_arm},
    {"qp", "wnn", command_qp},
    {"ah", "nw", command_ah},
    {"connect", "qnw", command_connect},
    {"modify", "qw", command_modify},
    {"query", "q", command_query},
    {"post", "qwnn", command_post},
    {"bind", "qvnnnnnn", command_bind},
    {"recv", "qn", command_recv},
    {"srq-recv", "sn", command_srq_recv},
    {"poll", "qwn", command_poll},
    {"srq-poll", "sn", command_srq_poll},
    {"events", "", command_events},
    {"counters", "", command_counters},
};

static int has_form(const char *form) {
  for (unsigned i = 1; form[i - 1] != '\0'; ++i) {
    const char kind = form[i - 1];
    if (i >= word_count) return 0;
    if (kind != 'w' && !read_number(words[i], UINT64_MAX, &numbers[i])) return 0;
    if (kind == 'm' && numbers[i] >= region_count) return 0;
    if (kind == 'v' && numbers[i] >= window_count) return 0;
    if (kind == 's' && numbers[i] >= shared_count) return 0;
    if (kind == 'q' && numbers[i] >= pair_count) return 0;
    if (kind == 'm') region = &regions[numbers[i]];
    if (kind == 'v') window = windows[numbers[i]];
    if (kind == 's') shared = &shareds[numbers[i]];
    if (kind == 'q') pair = &pairs[numbers[i]];
  }
  return 1;
}

static int has_begun(void) {
  return device != NULL;
}

int main(int argc, char **argv) {
  const struct program program = {.name = "agent",
                                  .greeting = "urnic-conform",
                                  .version = kVersion,
                                  .commands = kCommands,
                                  .command_count = sizeof kCommands / sizeof kCommands[0],
                                  .has_begun = has_begun,
                                  .has_form = has_form,
                                  .reset = reset};
  return serve_lines(&program, argc, argv);
}
