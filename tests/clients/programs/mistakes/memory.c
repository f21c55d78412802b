// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Mistakes with memory that is registered. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mistakes.h"
#include "pair.h"
#include "test_client.h"

static void* map(int flags, int file) {
  void* const memory = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (memory == MAP_FAILED) broken("mmap: %m");
  return memory;
}

static struct ibv_mr* register_memory(void* memory) {
  struct ibv_mr* const mr = ibv_reg_mr(nic.pd, memory, kBytes, IBV_ACCESS_LOCAL_WRITE);
  if (mr == NULL) broken("ibv_reg_mr: %m");
  return mr;
}

/* No request reaches for it. */
void memory_unmapped_under_region(void) {
  void* const memory = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  struct ibv_mr* const mr = register_memory(memory);
  if (munmap((char*)memory + kBytes / 2, kBytes / 2) != 0) broken("munmap: %m");
  sleep(1);
  if (ibv_dereg_mr(mr) != 0) broken("ibv_dereg_mr: %m");
  if (munmap(memory, kBytes / 2) != 0) broken("munmap: %m");
}

/* The folder outlives a restart of the host, so it is on a disk. */
void file_backed_memory(void) {
  char path[] = "/var/tmp/mistakes.XXXXXX";
  const int file = mkstemp(path);
  if (file < 0 || ftruncate(file, kBytes) != 0) broken("%s: %m", path);
  void* const memory = map(MAP_SHARED, file);
  if (ibv_dereg_mr(register_memory(memory)) != 0) broken("ibv_dereg_mr: %m");
  munmap(memory, kBytes);
  close(file);
  unlink(path);
}

void fork_with_registered_memory(void) {
  const pid_t child = fork();
  if (child < 0) broken("fork: %m");
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
}
