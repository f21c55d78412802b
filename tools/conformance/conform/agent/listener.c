// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// listener: does on the machine of a NIC under test what a conformance tester says, by librdmacm: it listens,
// connects, accepts, rejects and disconnects.
//
//     cc -o listener listener.c -lrdmacm -libverbs
//     CONFORM_TOKEN=... ./listener ADDRESS PORT
//
// It waits for its tester at ADDRESS only, serves one client at a time, and only one that says the token.
// What a client has made goes when the client goes. It reads and writes no file. Its ids have no queue
// pairs: the tester sends no data. PROTOCOL.md describes the lines.
#include <arpa/inet.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>

#include "line_server.h"

enum {
  kVersion = 1,
  kMostIds = 64,
  kMostPrivate = 255,
  kMostWaitMs = 1000,
  kResolveMs = 2000,
};

// What the client has made, and what peers have asked for. The client's number of an id is its place here.
static struct rdma_event_channel *channel;
static struct rdma_cm_id *ids[kMostIds];  // null: it is destroyed
static unsigned id_count;

// What the words of the line name.
static struct rdma_cm_id *id;

// The same for a call of librdmacm that has set errno: the tester compares the number.
static int refuse_call(const char *call) {
  const int code = errno;
  reply_length = 0;
  say("error %d %s: %s", code, call, strerror(code));
  return 0;
}

// --- Ids, and what goes with a client ---

// Keeps errno for what is said of a call before.
static void destroy(unsigned place) {
  const int code = errno;
  if (ids[place] != NULL) rdma_destroy_id(ids[place]);
  ids[place] = NULL;
  errno = code;
}

static void reset(void) {
  for (unsigned i = 0; i < id_count; ++i) destroy(i);
  id_count = 0;
  if (channel != NULL) rdma_destroy_event_channel(channel);
  channel = NULL;
}

static int add_id(struct rdma_cm_id *added) {
  added->context = (void *)(uintptr_t)id_count;
  ids[id_count] = added;
  return (int)id_count++;
}
static unsigned place_of(const struct rdma_cm_id *known) {
  return (unsigned)(uintptr_t)known->context;
}

// The next event of the channel, which rdma_ack_cm_event() takes; null: none came in time.
static struct rdma_cm_event *next_event(int wait_ms) {
  struct rdma_cm_event *event = NULL;
  struct pollfd waits = {.fd = channel->fd, .events = POLLIN};
  if (poll(&waits, 1, wait_ms) <= 0 || rdma_get_cm_event(channel, &event) != 0) return NULL;
  return event;
}

// The address of this connection, where the client says no other, with another port.
static struct sockaddr_storage own_address(uint16_t port) {
  struct sockaddr_storage own = {0};
  socklen_t size = sizeof own;
  getsockname(client, (struct sockaddr *)&own, &size);
  if (own.ss_family == AF_INET) ((struct sockaddr_in *)&own)->sin_port = htons(port);
  if (own.ss_family == AF_INET6) ((struct sockaddr_in6 *)&own)->sin6_port = htons(port);
  return own;
}

static int read_address(const char *text, uint16_t port, struct sockaddr_storage *address) {
  struct sockaddr_in *ipv4 = (struct sockaddr_in *)address;
  struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)address;
  memset(address, 0, sizeof *address);
  if (inet_pton(AF_INET, text, &ipv4->sin_addr) == 1) {
    ipv4->sin_family = AF_INET;
    ipv4->sin_port = htons(port);
    return 1;
  }
  ipv6->sin6_family = AF_INET6;
  ipv6->sin6_port = htons(port);
  return inet_pton(AF_INET6, text, &ipv6->sin6_addr) == 1;
}

// --- Commands: 0 if they fail ---

// Says what the device is that has the address.
static int command_begin(void) {
  struct sockaddr_storage own = own_address(0);
  struct rdma_cm_id *probe = NULL;
  struct ibv_port_attr port;
  struct ibv_device_attr device;
  reset();
  if ((channel = rdma_create_event_channel()) == NULL) return refuse_call("rdma_create_event_channel");
  fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  if (rdma_create_id(channel, &probe, NULL, RDMA_PS_TCP) != 0) return refuse_call("rdma_create_id");
  const int is_bound = rdma_bind_addr(probe, (struct sockaddr *)&own) == 0 && probe->verbs != NULL;
  const int is_known = is_bound && ibv_query_device(probe->verbs, &device) == 0 &&
                       ibv_query_port(probe->verbs, probe->port_num, &port) == 0;
  if (is_known) {
    const unsigned char *guid = (const unsigned char *)&device.node_guid;
    say(" mtu=%d node-guid=", port.active_mtu);
    say_hex(guid, sizeof device.node_guid);
  }
  rdma_destroy_id(probe);
  return is_known || refuse("no RDMA device has this address");
}

// A new id of a service, with the options that the line names. -1: the reply says why not.
static int create(const char *service) {
  struct rdma_cm_id *created = NULL;
  const int is_ud = strcmp(service, "ud") == 0;
  int is_wrong = !is_ud && strcmp(service, "rc") != 0;
  uint8_t tos = (uint8_t)named_number("tos", UINT8_MAX, &is_wrong);
  uint8_t timeout = (uint8_t)named_number("ack-timeout", UINT8_MAX, &is_wrong);
  if (is_wrong) return refuse("a number is wrong, or the service is neither rc nor ud"), -1;
  if (id_count == kMostIds) return refuse("there are too many ids"), -1;
  if (rdma_create_id(channel, &created, NULL, is_ud ? RDMA_PS_UDP : RDMA_PS_TCP) != 0) {
    return refuse_call("rdma_create_id"), -1;
  }
  const int number = add_id(created);
  if (named("tos") != NULL &&
      rdma_set_option(created, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof tos) != 0) {
    return refuse_call("rdma_set_option"), destroy((unsigned)number), -1;
  }
  if (named("ack-timeout") != NULL && rdma_set_option(created, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
                                                      &timeout, sizeof timeout) != 0) {
    return refuse_call("rdma_set_option"), destroy((unsigned)number), -1;
  }
  return number;
}

static int command_listen(void) {
  struct sockaddr_storage own = own_address((uint16_t)numbers[2]);
  const int number = create(words[1]);
  if (number < 0) return 0;
  if (rdma_bind_addr(ids[number], (struct sockaddr *)&own) != 0) {
    return refuse_call("rdma_bind_addr"), destroy((unsigned)number), 0;
  }
  if (rdma_listen(ids[number], (int)numbers[3]) != 0) {
    return refuse_call("rdma_listen"), destroy((unsigned)number), 0;
  }
  say(" %d", number);
  return 1;
}

static int is_next(enum rdma_cm_event_type wanted) {
  struct rdma_cm_event *event = next_event(kResolveMs);
  if (event == NULL) return refuse("no answer about the way to the tester");
  const enum rdma_cm_event_type is = event->event;
  rdma_ack_cm_event(event);
  return is == wanted || refuse("%s", rdma_event_str(is));
}

// An id that can be connected.
static int command_resolve(void) {
  struct sockaddr_storage own = own_address((uint16_t)numbers[4]), to;
  if (!read_address(words[2], (uint16_t)numbers[3], &to)) return refuse("that is no address");
  const int number = create(words[1]);
  if (number < 0) return 0;
  if (rdma_resolve_addr(ids[number], (struct sockaddr *)&own, (struct sockaddr *)&to, kResolveMs) != 0) {
    return refuse_call("rdma_resolve_addr"), destroy((unsigned)number), 0;
  }
  if (!is_next(RDMA_CM_EVENT_ADDR_RESOLVED)) return destroy((unsigned)number), 0;
  if (rdma_resolve_route(ids[number], kResolveMs) != 0) {
    return refuse_call("rdma_resolve_route"), destroy((unsigned)number), 0;
  }
  if (!is_next(RDMA_CM_EVENT_ROUTE_RESOLVED)) return destroy((unsigned)number), 0;
  say(" %d", number);
  return 1;
}

// The private data of the line: how many bytes, -1 if they are wrong.
static long read_private(unsigned char *bytes) {
  const char *text = named("private");
  return text == NULL ? 0 : read_hex(text, bytes, kMostPrivate);
}

// Private data are in `bytes`, which outlive the parameters.
static int read_parameters(struct rdma_conn_param *parameters, unsigned char *bytes) {
  int is_wrong = 0;
  const long length = read_private(bytes);
  *parameters = (struct rdma_conn_param){
      .private_data = bytes,
      .private_data_len = (uint8_t)(length < 0 ? 0 : length),
      .responder_resources = (uint8_t)named_number("resources", UINT8_MAX, &is_wrong),
      .initiator_depth = (uint8_t)named_number("depth", UINT8_MAX, &is_wrong),
      .flow_control = (uint8_t)named_number("flow-control", 1, &is_wrong),
      .retry_count = (uint8_t)named_number("retries", UINT8_MAX, &is_wrong),
      .rnr_retry_count = (uint8_t)named_number("rnr-retries", UINT8_MAX, &is_wrong),
      .srq = (uint8_t)named_number("srq", 1, &is_wrong),
      .qp_num = (uint32_t)named_number("qpn", UINT32_MAX, &is_wrong),
  };
  return (length >= 0 && !is_wrong) || refuse("a number is wrong, or the private data are");
}

static int command_connect(void) {
  unsigned char bytes[kMostPrivate];
  struct rdma_conn_param parameters;
  if (!read_parameters(&parameters, bytes)) return 0;
  return rdma_connect(id, &parameters) == 0 || refuse_call("rdma_connect");
}
static int command_accept(void) {
  unsigned char bytes[kMostPrivate];
  struct rdma_conn_param parameters;
  if (!read_parameters(&parameters, bytes)) return 0;
  return rdma_accept(id, &parameters) == 0 || refuse_call("rdma_accept");
}
// 35 is the one other reason that librdmacm has a call for.
static int command_reject(void) {
  enum { kVendorOptionNotSupported = 35 };
  unsigned char bytes[kMostPrivate];
  int is_wrong = 0;
  const long length = read_private(bytes);
  const uint64_t reason = named_number("reason", UINT8_MAX, &is_wrong);
  if (length < 0 || is_wrong) return refuse("a number is wrong, or the private data are");
  if (reason == kVendorOptionNotSupported) {
    return rdma_reject_ece(id, bytes, (uint8_t)length) == 0 || refuse_call("rdma_reject_ece");
  }
  if (reason != 0) return refuse("librdmacm cannot name this reason");
  return rdma_reject(id, bytes, (uint8_t)length) == 0 || refuse_call("rdma_reject");
}
static int command_establish(void) {
  return rdma_establish(id) == 0 || refuse_call("rdma_establish");
}
static int command_disconnect(void) {
  return rdma_disconnect(id) == 0 || refuse_call("rdma_disconnect");
}
static int command_notify(void) {
  return rdma_notify(id, IBV_EVENT_COMM_EST) == 0 || refuse_call("rdma_notify");
}
static int command_destroy(void) {
  destroy((unsigned)numbers[1]);
  return 1;
}

// What the id's queue pair would be told on its way to that state.
static int command_attributes(void) {
  static const enum ibv_qp_state kSteps[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};
  struct ibv_qp_attr all = {0};
  const int is_rts = strcmp(words[2], "RTS") == 0;
  if (!is_rts && strcmp(words[2], "RTR") != 0) return refuse("the states are RTR and RTS");
  for (unsigned i = 0; i < 2u + (unsigned)is_rts; ++i) {
    struct ibv_qp_attr step = {.qp_state = kSteps[i]};
    int mask = 0;
    if (rdma_init_qp_attr(id, &step, &mask) != 0) return refuse_call("rdma_init_qp_attr");
    if (mask & IBV_QP_ACCESS_FLAGS) all.qp_access_flags |= step.qp_access_flags;
    if (mask & IBV_QP_AV) all.ah_attr = step.ah_attr;
    if (mask & IBV_QP_PATH_MTU) all.path_mtu = step.path_mtu;
    if (mask & IBV_QP_DEST_QPN) all.dest_qp_num = step.dest_qp_num;
    if (mask & IBV_QP_RQ_PSN) all.rq_psn = step.rq_psn;
    if (mask & IBV_QP_SQ_PSN) all.sq_psn = step.sq_psn;
    if (mask & IBV_QP_MAX_DEST_RD_ATOMIC) all.max_dest_rd_atomic = step.max_dest_rd_atomic;
    if (mask & IBV_QP_MAX_QP_RD_ATOMIC) all.max_rd_atomic = step.max_rd_atomic;
    if (mask & IBV_QP_TIMEOUT) all.timeout = step.timeout;
    if (mask & IBV_QP_RETRY_CNT) all.retry_cnt = step.retry_cnt;
    if (mask & IBV_QP_RNR_RETRY) all.rnr_retry = step.rnr_retry;
  }
  say(" qpn=%u receive-psn=%u resources=%u mtu=%u", all.dest_qp_num, all.rq_psn, all.max_dest_rd_atomic,
      128u << all.path_mtu);
  say(" flow-label=%u traffic-class=%u sl=%u", all.ah_attr.grh.flow_label, all.ah_attr.grh.traffic_class,
      all.ah_attr.sl);
  say(" reads=%d", (all.qp_access_flags & IBV_ACCESS_REMOTE_READ) != 0);
  if (!is_rts) return 1;
  say(" send-psn=%u depth=%u ack-timeout=%u retries=%u rnr-retries=%u", all.sq_psn, all.max_rd_atomic,
      all.timeout, all.retry_cnt, all.rnr_retry);
  return 1;
}

static void say_event(const struct rdma_cm_event *event, int number) {
  const struct rdma_conn_param *of = &event->param.conn;
  const struct rdma_ud_param *to = &event->param.ud;
  const char *name = rdma_event_str(event->event);
  const char prefix[] = "RDMA_CM_EVENT_";
  if (strncmp(name, prefix, sizeof prefix - 1) == 0) name += sizeof prefix - 1;
  say(" %s id=%d status=%d", name, number, event->status);
  if (event->id->ps == RDMA_PS_UDP) {
    say(" qpn=%u qkey=%u private-room=%u private=", to->qp_num, to->qkey, to->private_data_len);
    say_hex(to->private_data, to->private_data == NULL ? 0 : to->private_data_len);
    return;
  }
  say(" qpn=%u resources=%u depth=%u retries=%u", of->qp_num, of->responder_resources, of->initiator_depth,
      of->retry_count);
  say(" rnr-retries=%u srq=%u flow-control=%u", of->rnr_retry_count, of->srq, of->flow_control);
  say(" private-room=%u private=", of->private_data_len);
  say_hex(of->private_data, of->private_data == NULL ? 0 : of->private_data_len);
}

static int command_event(void) {
  if (numbers[1] > kMostWaitMs) return refuse("that is too long");
  struct rdma_cm_event *event = next_event((int)numbers[1]);
  if (event == NULL) return 1;
  struct rdma_cm_id *asked = event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? event->id : NULL;
  if (asked != NULL && id_count == kMostIds) {
    rdma_ack_cm_event(event);
    rdma_destroy_id(asked);
    return refuse("there are too many ids");
  }
  const int number = asked != NULL ? add_id(asked) : (int)place_of(event->id);
  say_event(event, number);
  rdma_ack_cm_event(event);
  return 1;
}

// --- Lines ---

// What follows a command: w a word, n a number, i an id. Words after them have the form NAME=VALUE. All
// commands except `begin` want it before.
static const struct command kCommands[] = {
    {"begin", "", command_begin},
    {"listen", "wnn", command_listen},
    {"resolve", "wwnn", command_resolve},
    {"connect", "i", command_connect},
    {"accept", "i", command_accept},
    {"reject", "i", command_reject},
    {"establish", "i", command_establish},
    {"disconnect", "i", command_disconnect},
    {"notify", "i", command_notify},
    {"destroy", "i", command_destroy},
    {"attributes", "iw", command_attributes},
    {"event", "n", command_event},
};

static int has_form(const char *form) {
  for (unsigned i = 1; form[i - 1] != '\0'; ++i) {
    const char kind = form[i - 1];
    if (i >= word_count) return 0;
    if (kind != 'w' && !read_number(words[i], UINT16_MAX, &numbers[i])) return 0;
    if (kind == 'i' && (numbers[i] >= id_count || ids[numbers[i]] == NULL)) return 0;
    if (kind == 'i') id = ids[numbers[i]];
  }
  return 1;
}

static int has_begun(void) {
  return channel != NULL;
}

int main(int argc, char **argv) {
  const struct program program = {.name = "listener",
                                  .greeting = "urnic-listener",
                                  .version = kVersion,
                                  .commands = kCommands,
                                  .command_count = sizeof kCommands / sizeof kCommands[0],
                                  .has_begun = has_begun,
                                  .has_form = has_form,
                                  .reset = reset};
  return serve_lines(&program, argc, argv);
}
