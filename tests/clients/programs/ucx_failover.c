// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* ucx_failover: two programs with an endpoint of UCX each. With UCX's fail-over, which is the default here,
 * an endpoint goes on with the lanes that are left when one fails.
 *
 *   ucx_failover --rank R --port PORT [--failover 0]
 *
 * Rank 0 carries out rounds: it PUTs a pattern into the memory of rank 1, waits until all of it has arrived,
 * and tells rank 1 by an active message with a pattern of its own. Rank 1 verifies both and answers by an
 * active message, which rank 0 verifies.
 *
 * Both print 'ready'. Rank 0 goes on until SIGTERM and prints 'rounds N' from time to time. Both print
 * 'done N rounds, longest S s' at the end. What is wrong is 'broken ...', and so is an endpoint that fails.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "pattern.h"
#include "rendezvous.h"
#include "test_client.h"

enum {
  MESSAGE = 7, /* the active messages' number */
  PUTS = 4,    /* of a round, at the same time */
  PUT_BYTES = 1 << 20,
  MESSAGE_BYTES = 32 << 10,
  MOST_BYTES = 8 << 10, /* of an address or a key of UCX */
  PATIENCE = 60,        /* seconds */
};

static const double PAUSE = 0.01;        /* seconds, between two rounds */
static const double BETWEEN_LINES = 0.1; /* seconds */

/* What each round's active messages carry beside their pattern. */
struct message_header {
  uint64_t round; /* from 1 */
  bool is_last;
};

struct introduction {
  uint64_t memory;
  size_t address_bytes, key_bytes;
  char address[MOST_BYTES], key[MOST_BYTES];
};

static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h endpoint;
static ucp_mem_h region;
static ucp_rkey_h their_key;
static uint64_t their_memory;
static uint64_t* memory; /* of PUTS * PUT_BYTES */
static uint64_t outgoing[MESSAGE_BYTES / sizeof(uint64_t)], incoming[MESSAGE_BYTES / sizeof(uint64_t)];
static struct message_header newest; /* of the messages that came */
static volatile sig_atomic_t is_over;

static void on_terminate(int number) {
  (void)number;
  is_over = 1;
}

static void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) broken("%s: %s", what, ucs_status_string(status));
}

static void on_failure(void* unused, ucp_ep_h failed, ucs_status_t status) {
  (void)unused, (void)failed;
  broken("the endpoint failed: %s", ucs_status_string(status));
}

static ucs_status_t on_message(void* unused, const void* header, size_t header_bytes, void* data,
                               size_t bytes, const ucp_am_recv_param_t* how) {
  (void)unused;
  if (header_bytes != sizeof newest || bytes != MESSAGE_BYTES) broken("a message of %zu bytes came", bytes);
  if ((how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) broken("a message came without its data");
  const uint64_t before = newest.round;
  memcpy(&newest, header, sizeof newest);
  if (newest.round != before + 1) {
    broken("round %" PRIu64 " came after round %" PRIu64, newest.round, before);
  }
  memcpy(incoming, data, bytes);
  return UCS_OK;
}

static void progress(void) {
  if (ucp_worker_progress(worker) == 0) usleep(20);
}

static ucs_status_t end_of(ucs_status_ptr_t request, const char* what) {
  if (!UCS_PTR_IS_PTR(request)) return UCS_PTR_STATUS(request);
  const double deadline = seconds_now() + PATIENCE;
  ucs_status_t status = UCS_INPROGRESS;
  while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
    if (seconds_now() > deadline) broken("%s: does not end", what);
    progress();
  }
  ucp_request_free(request);
  return status;
}

static void wait_for_request(ucs_status_ptr_t request, const char* what) {
  check(end_of(request, what), what);
}

/* UCX carries PUTs and messages of a lost lane over to another one, but a flush that such a lane takes part
 * in may fail. While the endpoint has not failed, the program flushes once more. */
static void flush(void) {
  const ucp_request_param_t plain = {0};
  const double deadline = seconds_now() + PATIENCE;
  ucs_status_t status = UCS_INPROGRESS;
  while ((status = end_of(ucp_ep_flush_nbx(endpoint, &plain), "flush")) != UCS_OK) {
    if (seconds_now() > deadline) check(status, "flush");
    printf("flushes once more: %s\n", ucs_status_string(status));
    progress();
  }
}

static void open_worker(void) {
  const ucp_params_t features = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                                 .features = UCP_FEATURE_RMA | UCP_FEATURE_AM};
  const ucp_worker_params_t threads = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                       .thread_mode = UCS_THREAD_MODE_SINGLE};
  ucp_config_t* config = NULL;
  check(ucp_config_read(NULL, NULL, &config), "ucp_config_read");
  check(ucp_init(&features, config, &context), "ucp_init");
  ucp_config_release(config);
  check(ucp_worker_create(context, &threads, &worker), "ucp_worker_create");
  const ucp_am_handler_param_t handler = {.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                                                        UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                                                        UCP_AM_HANDLER_PARAM_FIELD_CB,
                                          .id = MESSAGE,
                                          .flags = UCP_AM_FLAG_WHOLE_MSG,
                                          .cb = on_message};
  check(ucp_worker_set_am_recv_handler(worker, &handler), "ucp_worker_set_am_recv_handler");

  memory = aligned_alloc(4096, (size_t)PUTS * PUT_BYTES);
  if (memory == NULL) broken("no memory");
  memset(memory, 0, (size_t)PUTS * PUT_BYTES);
  const ucp_mem_map_params_t where = {
      .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
      .address = memory,
      .length = (size_t)PUTS * PUT_BYTES};
  check(ucp_mem_map(context, &where, &region), "ucp_mem_map");
}

static void introduce(struct introduction* own) {
  ucp_worker_attr_t worker_has = {.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS};
  check(ucp_worker_query(worker, &worker_has), "ucp_worker_query");
  void* key = NULL;
  size_t key_bytes = 0;
  check(ucp_rkey_pack(context, region, &key, &key_bytes), "ucp_rkey_pack");
  if (worker_has.address_length > MOST_BYTES || key_bytes > MOST_BYTES) broken("an address is too long");
  *own = (struct introduction){
      .memory = (uintptr_t)memory, .address_bytes = worker_has.address_length, .key_bytes = key_bytes};
  memcpy(own->address, worker_has.address, worker_has.address_length);
  memcpy(own->key, key, key_bytes);
  ucp_worker_release_address(worker, worker_has.address);
  ucp_rkey_buffer_release(key);
}

static void connect_to(const struct introduction* peer, bool failover) {
  const ucp_ep_params_t how = {
      .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                    UCP_EP_PARAM_FIELD_ERR_HANDLER,
      .address = (const ucp_address_t*)peer->address,
      .err_mode = failover ? UCP_ERR_HANDLING_MODE_FAILOVER : UCP_ERR_HANDLING_MODE_PEER,
      .err_handler = {.cb = on_failure}};
  check(ucp_ep_create(worker, &how, &endpoint), "ucp_ep_create");
  check(ucp_ep_rkey_unpack(endpoint, peer->key, &their_key), "ucp_ep_rkey_unpack");
  their_memory = peer->memory;
  flush();
}

static void put_and_flush(uint64_t round) {
  pattern_fill(memory, PUTS * PUT_BYTES, round << 32);
  const ucp_request_param_t registered = {.op_attr_mask = UCP_OP_ATTR_FIELD_MEMH, .memh = region};
  ucs_status_ptr_t requests[PUTS];
  for (size_t i = 0; i < PUTS; i++) {
    requests[i] = ucp_put_nbx(endpoint, (char*)memory + i * PUT_BYTES, PUT_BYTES,
                              their_memory + i * PUT_BYTES, their_key, &registered);
  }
  flush();
  for (size_t i = 0; i < PUTS; i++) wait_for_request(requests[i], "PUT");
}

/* Each side has messages of its own, so that none is taken for the other's. */
static uint64_t seed_of_message(uint64_t round, int rank) {
  return ~(round << 32 | (uint64_t)rank << 31);
}

static void send_message(struct message_header header, int rank) {
  pattern_fill(outgoing, MESSAGE_BYTES, seed_of_message(header.round, rank));
  const ucp_request_param_t eager = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                     .flags = UCP_AM_SEND_FLAG_EAGER};
  wait_for_request(
      ucp_am_send_nbx(endpoint, MESSAGE, &header, sizeof header, outgoing, MESSAGE_BYTES, &eager), "message");
}

static void wait_for_message(uint64_t round, int rank) {
  const double deadline = seconds_now() + PATIENCE;
  while (newest.round < round) {
    if (seconds_now() > deadline) broken("no message of round %" PRIu64 " comes", round);
    progress();
  }
  const uint32_t place = pattern_difference(incoming, MESSAGE_BYTES, seed_of_message(round, rank));
  if (place != MESSAGE_BYTES) broken("round %" PRIu64 ": the message is wrong at %u", round, place);
}

static void verify_puts(uint64_t round) {
  const uint32_t place = pattern_difference(memory, PUTS * PUT_BYTES, round << 32);
  if (place != PUTS * PUT_BYTES) broken("round %" PRIu64 ": the memory is wrong at %u", round, place);
}

static void ask(struct message_header header) {
  put_and_flush(header.round);
  send_message(header, 0);
  wait_for_message(header.round, 1);
}

static void answer(struct message_header* header) {
  wait_for_message(header->round, 0);
  verify_puts(header->round);
  header->is_last = newest.is_last;
  send_message(*header, 1);
}

static void carry_out_rounds(int rank) {
  struct message_header header = {0};
  double longest = 0, next_line = 0;
  while (!header.is_last) {
    const double begin = seconds_now();
    header.round++;
    if (rank == 0) {
      header.is_last = is_over != 0;
      ask(header);
    } else {
      answer(&header);
    }
    const double end = seconds_now();
    if (end - begin > longest) longest = end - begin;
    if (rank != 0) continue;
    if (end > next_line) {
      printf("rounds %" PRIu64 "\n", header.round);
      next_line = end + BETWEEN_LINES;
    }
    while (seconds_now() < end + PAUSE) progress();
  }
  printf("done %" PRIu64 " rounds, longest %.1f s\n", header.round, longest);
}

static void close_all(struct rendezvous* meeting) {
  const ucp_request_param_t at_once = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
                                       .flags = UCP_EP_CLOSE_FLAG_FORCE};
  const char here = 0;
  char all[2];
  if (!rendezvous_share(meeting, &here, all, sizeof here)) broken("the other one is gone");
  ucp_rkey_destroy(their_key);
  wait_for_request(ucp_ep_close_nbx(endpoint, &at_once), "closing");
  ucp_mem_unmap(context, region);
  ucp_worker_destroy(worker);
  ucp_cleanup(context);
  free(memory);
}

int main(int argc, char** argv) {
  int rank = -1, port = 0;
  bool failover = true;
  const struct program_option options[] = {{"--rank", OPTION_INT, &rank},
                                           {"--port", OPTION_INT, &port},
                                           {"--failover", OPTION_BOOL, &failover},
                                           {NULL, OPTION_INT, NULL}};
  read_options(argc, argv, options);
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGTERM, on_terminate);

  struct rendezvous meeting;
  static struct introduction own, all[2];
  open_worker();
  introduce(&own);
  if (!rendezvous_open(&meeting, rank, 2, NULL, (uint16_t)port, PATIENCE) ||
      !rendezvous_share(&meeting, &own, all, sizeof own)) {
    broken("the two programs do not meet");
  }
  connect_to(&all[1 - rank], failover);
  printf("ready\n");
  carry_out_rounds(rank);
  close_all(&meeting);
  rendezvous_close(&meeting);
  return 0;
}
