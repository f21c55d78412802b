// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Binds ids of rdma_cm again and again, and says how long each call took, and how long another verb of the process had
 * to wait meanwhile.
 *
 *   bind_row PORT...
 *
 * For each SIGUSR1 it binds one id to any port, and one to the next PORT, and prints
 * 'any ERRNO SECONDS, port ERRNO SECONDS, others SECONDS'. The id of a PORT that it got is destroyed again. */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test_client.h"

static _Atomic double longest;
static struct ibv_context* device;

/* A verb that takes the NIC's lock, as all that moves packets does. */
static void* make_queues(void* unused) {
  (void)unused;
  for (;;) {
    const double begin = seconds_now();
    struct ibv_cq* const queue = ibv_create_cq(device, 16, NULL, NULL, 0);
    if (queue == NULL || ibv_destroy_cq(queue) != 0) broken("a completion queue: %m");
    const double took = seconds_now() - begin;
    if (took > atomic_load(&longest)) atomic_store(&longest, took);
    usleep(1000);
  }
  return NULL;
}

static int bind_once(struct rdma_event_channel* channel, uint16_t port, double* took) {
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
  struct rdma_cm_id* id;
  int failed = 0;
  if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) != 0) broken("rdma_create_id: %m");
  const double begin = seconds_now();
  if (rdma_bind_addr(id, (struct sockaddr*)&any) != 0) failed = errno;
  *took = seconds_now() - begin;
  if (rdma_destroy_id(id) != 0) broken("rdma_destroy_id: %m");
  return failed;
}

int main(int argc, char** argv) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
  struct rdma_event_channel* const channel = rdma_create_event_channel();
  if (channel == NULL) broken("rdma_create_event_channel: %m");
  int count = 0;
  struct ibv_device** const list = ibv_get_device_list(&count);
  if (list == NULL || count == 0) broken("no device");
  device = ibv_open_device(list[0]);
  if (device == NULL) broken("ibv_open_device: %m");
  double took_any, took_port;
  if (bind_once(channel, 0, &took_any) != 0) broken("the first bind: %m"); /* opens the port */
  pthread_t thread;
  if (pthread_create(&thread, NULL, make_queues, NULL) != 0) broken("no thread");
  printf("ready\n");
  fflush(stdout);
  for (int i = 1; i < argc; ++i) {
    int number;
    if (sigwait(&signals, &number) != 0) broken("sigwait: %m");
    atomic_store(&longest, 0);
    const int any = bind_once(channel, 0, &took_any);
    const int port = bind_once(channel, (uint16_t)atoi(argv[i]), &took_port);
    usleep(200000); /* a verb that waited has ended by then */
    printf("any %d %.3f, port %d %.3f, others %.3f\n", any, took_any, port, took_port, atomic_load(&longest));
    fflush(stdout);
  }
  return 0;
}
