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
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  kVersion = 1,
  kMostLine = 16384,
  kMostWords = 64,
  kMostIds = 64,
  kMostPrivate = 255,
  kMostWaitMs = 1000,
  kResolveMs = 2000,
  kHelloMs = 5000,
  kIdleMs = 600 * 1000,
  kSendSeconds = 5,
};

// What the client has made, and what peers have asked for. The client's number of an id is its place here.
static struct rdma_event_channel *channel;
static struct rdma_cm_id *ids[kMostIds];  // null: it is destroyed
static unsigned id_count;

static int client = -1;
static char reply[kMostLine];
static size_t reply_length;

// The words of the line, and the id that it is about.
static char *words[kMostWords];
static unsigned word_count;
static uint64_t numbers[kMostWords];
static struct rdma_cm_id *id;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...) {
  va_list rest;
  va_start(rest, format);
  const int written = vsnprintf(reply + reply_length, sizeof reply - reply_length, format, rest);
  va_end(rest);
  if (written > 0) reply_length += (size_t)written;
  if (reply_length >= sizeof reply) reply_length = sizeof reply - 1;
}

// The reply is this error. Returns 0, with which a command fails.
static int refuse(const char *what) {
  reply_length = 0;
  say("error %s", what);
  return 0;
}
// The same for a call of librdmacm that has set errno: the tester compares the number.
static int refuse_call(const char *call) {
  const int code = errno;
  reply_length = 0;
  say("error %d %s: %s", code, call, strerror(code));
  return 0;
}

static int read_number(const char *text, uint64_t most, uint64_t *number) {
  char *end = NULL;
  if (text[0] < '0' || text[0] > '9') return 0;
  errno = 0;
  *number = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
  return errno == 0 && *end == '\0' && *number <= most;
}

// The text after NAME= among the words; null if there is none.
static const char *named(const char *name) {
  const size_t length = strlen(name);
  for (unsigned i = 1; i < word_count; ++i) {
    if (strncmp(words[i], name, length) == 0 && words[i][length] == '=') return words[i] + length + 1;
  }
  return NULL;
}
// The number after NAME=, 0 if it is not there; `is_wrong` is set if it is no number up to `most`.
static uint64_t named_number(const char *name, uint64_t most, int *is_wrong) {
  uint64_t number = 0;
  const char *text = named(name);
  if (text != NULL && !read_number(text, most, &number)) *is_wrong = 1;
  return number;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
// How many bytes the digits are; -1 if they are none, or more than `most`.
static long read_hex(const char *text, unsigned char *bytes, size_t most) {
  const size_t digits = strlen(text);
  if (digits % 2 != 0 || digits / 2 > most) return -1;
  for (size_t i = 0; i < digits; i += 2) {
    if (hex_digit(text[i]) < 0 || hex_digit(text[i + 1]) < 0) return -1;
    bytes[i / 2] = (unsigned char)(hex_digit(text[i]) << 4 | hex_digit(text[i + 1]));
  }
  return (long)(digits / 2);
}
static void say_hex(const void *bytes, size_t length) {
  for (size_t i = 0; i < length; ++i) say("%02x", ((const unsigned char *)bytes)[i]);
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
  return is == wanted || refuse(rdma_event_str(is));
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
static const struct {
  const char *word, *form;
  int (*run)(void);
} kCommands[] = {
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
enum { kCommandCount = sizeof kCommands / sizeof kCommands[0] };

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

static void obey(void) {
  unsigned i = 0;
  while (i < kCommandCount && (word_count == 0 || strcmp(words[0], kCommands[i].word) != 0)) ++i;
  if (i == kCommandCount) {
    refuse("there is no such command");
  } else if (channel == NULL && i != 0) {
    refuse("begin comes first");
  } else if (!has_form(kCommands[i].form)) {
    refuse("a word is missing, or is no number, or the number of no id");
  } else {
    kCommands[i].run();
  }
}

// The time that it takes does not tell how much of the token is right.
static int is_token(const char *said, const char *token) {
  const size_t length = strlen(said);
  unsigned difference = length != strlen(token);
  for (size_t i = 0; token[i] != '\0'; ++i) {
    difference |= (unsigned char)(said[i < length ? i : length] ^ token[i]);
  }
  return difference == 0;
}

static int greet(const char *token) {
  uint64_t version = 0;
  const int is_greeting = word_count == 3 && strcmp(words[0], "urnic-listener") == 0;
  if (!is_greeting) return refuse("say: urnic-listener VERSION TOKEN");
  if (!read_number(words[1], UINT32_MAX, &version) || version != kVersion) {
    reply_length = 0;
    say("error version: this listener speaks %d", kVersion);
    return 0;
  }
  if (!is_token(words[2], token)) return refuse("token: it is another");
  say(" urnic-listener %d", kVersion);
  return 1;
}

// 0: the other side takes nothing any more.
static int send_reply(int to) {
  reply[reply_length++] = '\n';
  for (size_t sent = 0; sent < reply_length;) {
    const ssize_t now = send(to, reply + sent, reply_length - sent, MSG_NOSIGNAL);
    if (now <= 0) return 0;
    sent += (size_t)now;
  }
  return 1;
}

// 0: the client has to go.
static int answer(char *line, int is_greeted, const char *token) {
  reply_length = 0;
  say("ok");
  word_count = 0;
  char *word = strtok(line, " \r");
  for (; word != NULL && word_count < kMostWords; word = strtok(NULL, " \r")) words[word_count++] = word;
  if (is_greeted) {
    obey();
    return send_reply(client);
  }
  const int is_welcome = greet(token);
  return send_reply(client) && is_welcome;
}

static void send_away(int socket) {
  const int other = accept(socket, NULL, NULL);
  if (other < 0) return;
  refuse("busy: this listener has a client already");
  send_reply(other);
  close(other);
}

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void serve(int socket, const char *token) {
  static char buffer[kMostLine];
  size_t length = 0;
  int is_greeted = 0;
  const int64_t greeted_by = now_ms() + kHelloMs;
  while (length < kMostLine) {
    struct pollfd both[] = {{.fd = client, .events = POLLIN}, {.fd = socket, .events = POLLIN}};
    const int64_t left = is_greeted ? kIdleMs : greeted_by - now_ms();
    if (left <= 0 || poll(both, 2, (int)left) <= 0) return;
    // This client first: when it has gone, the one that waits is the next.
    if (both[0].revents == 0) {
      send_away(socket);
      continue;
    }
    const ssize_t now = recv(client, buffer + length, kMostLine - length, 0);
    if (now <= 0) return;
    length += (size_t)now;
    for (char *end = NULL; (end = memchr(buffer, '\n', length)) != NULL; is_greeted = 1) {
      *end = '\0';
      if (!answer(buffer, is_greeted, token)) return;
      length -= (size_t)(end + 1 - buffer);
      memmove(buffer, end + 1, length);
    }
  }
  refuse("that line is too long");
  send_reply(client);
}

static int listen_at(const char *address, const char *service) {
  const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  errno = EINVAL;
  if (getaddrinfo(address, service, &hints, &found) != 0) return -1;
  const int made = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
  const int is_bound = made >= 0 && bind(made, found->ai_addr, found->ai_addrlen) == 0;
  freeaddrinfo(found);
  return is_bound && listen(made, 8) == 0 ? made : -1;
}

static const char *make_token(void) {
  static char text[33];
  unsigned char drawn[16];
  if (getrandom(drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) exit(1);
  for (size_t i = 0; i < sizeof drawn; ++i) snprintf(text + 2 * i, 3, "%02x", drawn[i]);
  return text;
}

int main(int argc, char **argv) {
  char text[NI_MAXSERV] = "?";
  struct sockaddr_storage own;
  socklen_t size = sizeof own;
  const char *given = getenv("CONFORM_TOKEN");
  const int has_token = given != NULL && given[0] != '\0';
  if (argc != 3) return fprintf(stderr, "usage: CONFORM_TOKEN=... %s ADDRESS PORT\n", argv[0]), 2;
  const char *token = has_token ? given : make_token();
  const int made = listen_at(argv[1], argv[2]);
  if (made < 0) return fprintf(stderr, "%s, port %s: %s\n", argv[1], argv[2], strerror(errno)), 1;
  getsockname(made, (struct sockaddr *)&own, &size);
  getnameinfo((struct sockaddr *)&own, size, NULL, 0, text, sizeof text, NI_NUMERICSERV);
  printf("listener %d listens at %s, port %s", kVersion, argv[1], text);
  printf(has_token ? "\n" : "; the token is %s\n", token);
  fflush(stdout);
  for (;;) {
    if ((client = accept(made, NULL, NULL)) < 0) continue;
    const struct timeval patience = {.tv_sec = kSendSeconds};
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(client, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    serve(made, token);
    reset();
    close(client);
    client = -1;
  }
}
