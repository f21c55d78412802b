// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The server and the client that measures: the same for all transports.
//
// Words after a program's name, in any order: the server's host name (the program is the client, then), a
// number of gets of each size (without it: 2000, or as many as fit into half a second), and
//   sleep    the server of kv_send sleeps until a request comes; without this word it polls
//   change   the server changes a value over and over; the client asks for this value and another one in turn
//   trust    the client of kv_read takes a value as it comes, even if the server is changing it
#define _GNU_SOURCE  // RUSAGE_THREAD
#include "kv.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "meet.h"

enum { GETS = 2000, PAUSE_US = 1000 };

int is_client, sleeps, trusts;
static int changes, most_gets = GETS;
static double most_us = 5e5;  // for the gets of one size

// --- What a get costs ---

struct cost {
  double thread_us, process_us;  // processor time: of the thread that runs main(), and of all threads
  double sleeps;                 // how often that thread gave its processor away, to wait
  double segments;               // of TCP, both ways, on the socket of meet()
};

static double us_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1e6 + time.tv_nsec * 1e-3;
}

static struct cost cost_so_far(int socket) {
  struct rusage usage;
  struct tcp_info tcp = {0};
  socklen_t length = sizeof tcp;
  getrusage(RUSAGE_THREAD, &usage);
  getsockopt(socket, IPPROTO_TCP, TCP_INFO, &tcp, &length);
  return (struct cost){.thread_us = us_of(CLOCK_THREAD_CPUTIME_ID),
                       .process_us = us_of(CLOCK_PROCESS_CPUTIME_ID),
                       .sleeps = (double)usage.ru_nvcsw,
                       .segments = (double)tcp.tcpi_segs_in + (double)tcp.tcpi_segs_out};
}

static struct cost cost_since(struct cost begin, int socket) {
  const struct cost now = cost_so_far(socket);
  return (struct cost){now.thread_us - begin.thread_us, now.process_us - begin.process_us,
                       now.sleeps - begin.sleeps, now.segments - begin.segments};
}

// --- The two programs ---

static void check(const char* value, const struct request* request) {
  const int byte = value[VERSION];
  if (is_mixed(value, request->bytes) || byte != (int)request->key + 1)
    fail(
        "get() wanted the value of key %u, but there are bytes %d instead of %u: is it the wrong "
        "place, or was the value not there yet?",
        request->key, byte, request->key + 1);
}

static int by_size(const void* one, const void* other) {
  const double difference = *(const double*)one - *(const double*)other;
  return (difference > 0) - (difference < 0);
}

static void ask(int socket, uint32_t bytes) {
  static double us[GETS];
  int gets = 0, mixed = 0;
  wait_for_each_other(socket);
  const double begin = us_of(CLOCK_MONOTONIC);
  const struct cost before = cost_so_far(socket);
  for (; gets < most_gets && us_of(CLOCK_MONOTONIC) < begin + most_us; gets++) {
    const struct request request = {.key = (uint32_t)gets % (changes ? 2 : KEYS), .bytes = bytes};
    const double asked = us_of(CLOCK_MONOTONIC);
    const char* value = transport_get(&request);
    us[gets] = us_of(CLOCK_MONOTONIC) - asked;
    if (!changes) check(value, &request);
    mixed += is_mixed(value, bytes);
    if (changes) usleep(PAUSE_US / 2);
  }
  const struct cost mine = cost_since(before, socket);
  struct cost servers;
  transport_finish();
  wait_for_each_other(socket);
  exchange(socket, &mine, &servers, sizeof mine);
  qsort(us, (size_t)gets, sizeof *us, by_size);
  printf(
      "bytes=%u gets=%d median_us=%.1f p99_us=%.1f client_us=%.2f server_thread_us=%.2f server_us=%.2f "
      "server_sleeps=%.2f segments=%.2f\n",
      bytes, gets, us[gets / 2], us[gets * 99 / 100], mine.process_us / gets, servers.thread_us / gets,
      servers.process_us / gets, servers.sleeps / gets, mine.segments / gets);
  if (changes) printf("%d of %d values were mixed of two versions\n", mixed, gets);
}

static void serve(int socket, char* table) {
  struct pollfd client = {.fd = socket, .events = POLLIN};
  const struct request changing = {.key = 0, .bytes = LARGE};
  wait_for_each_other(socket);
  const struct cost before = cost_so_far(socket);
  transport_serve();
  while (changes && poll(&client, 1, 0) == 0) {
    change_value(table + offset_of(&changing));
    usleep(PAUSE_US);
  }
  wait_for_each_other(socket);  // the client is finished
  const struct cost mine = cost_since(before, socket);
  struct cost clients;
  exchange(socket, &mine, &clients, sizeof mine);
}

int main(int argc, char** argv) {
  const char* host = NULL;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "sleep") == 0)
      sleeps = 1;
    else if (strcmp(argv[i], "change") == 0)
      changes = 1;
    else if (strcmp(argv[i], "trust") == 0)
      trusts = 1;
    else if (atoi(argv[i]) > 0 && strchr(argv[i], '.') == NULL)
      most_gets = atoi(argv[i]), most_us = 8e6;
    else
      host = argv[i];
  }
  if (most_gets > GETS) most_gets = GETS;
  is_client = host != NULL;
  const int socket = meet(host);
  char* table = transport_connect(socket);
  if (!is_client) fill_table(table);
  const uint32_t sizes[] = {SMALL, LARGE};
  for (int i = changes ? 1 : 0; i < 2; i++) {
    if (is_client)
      ask(socket, sizes[i]);
    else
      serve(socket, table);
  }
  return 0;
}
