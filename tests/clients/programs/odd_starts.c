// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Programs that have arranged something for themselves before they open the NIC.
 *
 *   odd_starts alarmed     has a signal every 5 ms
 *   odd_starts pinned      runs on its first processor alone
 *   odd_starts sandboxed   may not make files in memory
 *   odd_starts none        is like others
 *
 * Prints 'opened' when it has a queue pair, and waits to be killed. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "test_client.h"

static void do_nothing(int number) {
  (void)number;
}

static void be_alarmed(void) {
  const struct sigaction action = {.sa_handler = do_nothing};
  const struct itimerval often = {.it_interval = {.tv_usec = 5000}, .it_value = {.tv_usec = 5000}};
  if (sigaction(SIGALRM, &action, NULL) != 0 || setitimer(ITIMER_REAL, &often, NULL) != 0) {
    broken("setitimer: %m");
  }
}

static void be_pinned(void) {
  cpu_set_t all, first;
  if (sched_getaffinity(0, sizeof all, &all) != 0) broken("sched_getaffinity: %m");
  CPU_ZERO(&first);
  for (int i = 0; CPU_COUNT(&first) == 0; ++i) {
    if (CPU_ISSET(i, &all)) CPU_SET(i, &first);
  }
  if (sched_setaffinity(0, sizeof first, &first) != 0) broken("sched_setaffinity: %m");
}

static void be_sandboxed(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    broken("prctl: %m");
  }
}

static void open_and_make_qp(void) {
  struct ibv_device** const list = ibv_get_device_list(NULL);
  if (list == NULL || list[0] == NULL) broken("ibv_get_device_list: %m");
  struct ibv_context* const context = ibv_open_device(list[0]);
  if (context == NULL) broken("ibv_open_device: %m");
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_cq* const cq = ibv_create_cq(context, 4, NULL, NULL, 0);
  struct ibv_qp_init_attr wanted = {
      .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}};
  if (pd == NULL || cq == NULL || ibv_create_qp(pd, &wanted) == NULL) broken("ibv_create_qp: %m");
}

int main(int count, char** words) {
  if (count != 2) broken("usage: alarmed|pinned|sandboxed|none");
  if (strcmp(words[1], "alarmed") == 0) be_alarmed();
  if (strcmp(words[1], "pinned") == 0) be_pinned();
  if (strcmp(words[1], "sandboxed") == 0) be_sandboxed();
  open_and_make_qp();
  printf("opened\n");
  fflush(stdout);
  for (;;) pause();
}
