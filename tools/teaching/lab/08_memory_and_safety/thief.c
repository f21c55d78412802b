// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A server with a vault, and a client that tries what it should not. vault.c sets the rights.
//
//   urnic run --explain -- ./thief attempts                the server
//   urnic run --explain -- ./thief localhost attempts      the client
//
// With `guess` instead of `attempts` the client tries one key after another.
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "end.h"
#include "meet.h"
#include "vault.h"

enum { BYTES = 8, GUESSES = 32, REMOTE = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE };

struct keys {  // what the server tells its peer, too much of it
  uint32_t public, letterbox, secret;
};

static const struct attempt {
  const char* what;
  enum ibv_wr_opcode opcode;
  int page, offset, key_change, after_closing;
} kAttempts[] = {
    {"read page 0, the public one", IBV_WR_RDMA_READ, 0, 0, 0, 0},
    {"write page 0", IBV_WR_RDMA_WRITE, 0, 0, 0, 0},
    {"read page 2, the secret", IBV_WR_RDMA_READ, 2, 0, 0, 0},
    {"write a letter", IBV_WR_RDMA_WRITE, 1, 0, 0, 0},
    {"write over the end of the letter", IBV_WR_RDMA_WRITE, 1, LETTER - BYTES / 2, 0, 0},
    {"read the letterbox", IBV_WR_RDMA_READ, 1, 0, 0, 0},
    {"read page 0 by a key that is one more", IBV_WR_RDMA_READ, 0, 0, 1, 0},
    {"write a letter when the window is closed", IBV_WR_RDMA_WRITE, 1, 0, 0, 1},
};
enum { ATTEMPTS = sizeof kAttempts / sizeof *kAttempts };

// Both: a new queue pair for each attempt, as one that was refused is of no use any more.
static void connect_anew(struct end* end, int socket) {
  end->qp = end_another_qp(end, REMOTE);
  end->mine.qp_number = end->qp->qp_num;
  end_connect(end, socket);
}

static struct ibv_mr* register_page(struct end* end, int page, int access) {
  struct ibv_mr* region =
      ibv_reg_mr(end->pd, end->memory + page * PAGE, PAGE, access | IBV_ACCESS_LOCAL_WRITE);
  if (region == NULL) fail("page %d cannot be registered: %m", page);
  return region;
}

// A window of type 2 is opened by a work request, for one queue pair.
static uint32_t open_window(struct end* end, struct ibv_mr* region) {
  struct ibv_mw* window = ibv_alloc_mw(end->pd, IBV_MW_TYPE_2);
  if (window == NULL) fail("no window: %m");
  struct ibv_send_wr bind = {.wr_id = 1, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
  bind.bind_mw.mw = window;
  bind.bind_mw.rkey = ibv_inc_rkey(window->rkey);
  bind.bind_mw.bind_info = window_of(region, end->memory + PAGE);
  end_post(end, &bind);
  end_wait_for_success(end);
  return bind.bind_mw.rkey;
}

static void serve_attempts(struct end* end, int socket) {
  struct ibv_mr* public_page = register_page(end, 0, rights_of_public());
  struct ibv_mr* letterbox = register_page(end, 1, IBV_ACCESS_MW_BIND);
  struct ibv_mr* secret = register_page(end, 2, rights_of_secret());
  for (int i = 0; i < ATTEMPTS; i++) {
    connect_anew(end, socket);
    const struct keys keys = {public_page->rkey, open_window(end, letterbox), secret->rkey};
    struct keys none;
    if (kAttempts[i].after_closing) {
      errno = close_window(end->qp, keys.letterbox);
      if (errno != 0) fail("GAP 4: the window cannot be closed: %m");
      end_wait_for_success(end);
    }
    exchange(socket, &keys, &none, sizeof keys);
    wait_for_each_other(socket);
  }
}

static struct ibv_wc attempt(struct end* end, const struct attempt* attempt, uint32_t rkey) {
  struct ibv_sge part = end_part(end, 0, BYTES);
  struct ibv_send_wr request = end_write_request(end, 1, &part, attempt->page * PAGE + attempt->offset);
  request.opcode = attempt->opcode;
  request.wr.rdma.rkey = rkey + attempt->key_change;
  end_post(end, &request);
  return end_wait_for_completion(end);
}

static void make_attempts(struct end* end, int socket) {
  for (int i = 0; i < ATTEMPTS; i++) {
    connect_anew(end, socket);
    struct keys keys = {0}, theirs;
    exchange(socket, &keys, &theirs, sizeof keys);
    const uint32_t by_page[] = {theirs.public, theirs.letterbox, theirs.secret};
    const struct ibv_wc completion = attempt(end, &kAttempts[i], by_page[kAttempts[i].page]);
    printf("%-42s status %2d, %s\n", kAttempts[i].what, completion.status,
           ibv_wc_status_str(completion.status));
    wait_for_each_other(socket);
  }
}

// --- guess: keys one after another; the server is so kind as to connect again each time ---

static void serve_guesses(struct end* end, int socket) {
  for (int i = 0; i < GUESSES; i++) {
    connect_anew(end, socket);
    wait_for_each_other(socket);
  }
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

static void guess(struct end* end, int socket) {
  int right = 0;
  const double begin = seconds_now();
  for (int i = 0; i < GUESSES; i++) {
    connect_anew(end, socket);
    const struct ibv_wc completion = attempt(end, &kAttempts[0], 0x1000 * i + 0xbad);
    right += completion.status == IBV_WC_SUCCESS;
    wait_for_each_other(socket);
  }
  const double each = (seconds_now() - begin) / GUESSES;
  printf("%d keys tried, %d right, %.1f ms for each: %.0f days for all 2^32\n", GUESSES, right, each * 1e3,
         each * 4294967296.0 / 86400);
}

int main(int argc, char** argv) {
  const char* host = argc > 2 ? argv[1] : NULL;
  const int is_guess = argc > 1 && strcmp(argv[argc - 1], "guess") == 0;
  struct end end;
  end_open(&end, 3 * PAGE, 0);
  strcpy(end.memory + 2 * PAGE, "secret!");
  const int socket = meet(host);
  if (host == NULL) (is_guess ? serve_guesses : serve_attempts)(&end, socket);
  if (host != NULL) (is_guess ? guess : make_attempts)(&end, socket);
  return 0;
}
