// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A server with memory that its peer may write to. It waits until a text that ends with a full stop stands
// there.
//
//   urnic run -- ./target
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "end.h"
#include "meet.h"

enum { BYTES = 64, SECONDS = 8 };

int main(void) {
  struct end end;
  end_open(&end, BYTES, IBV_ACCESS_REMOTE_WRITE);
  const int socket = meet(NULL);
  end_connect(&end, socket);
  // The compiler does not know that the NIC changes the memory.
  volatile const char* memory = end.memory;
  const time_t limit = time(NULL) + SECONDS;
  int complete = 0;
  while (!complete && time(NULL) <= limit) {
    for (int i = 0; i < BYTES; i++) complete |= memory[i] == '.';
  }
  printf("the memory says \"%s\"\n", end.memory);
  wait_for_each_other(socket);
  return complete ? 0 : 1;
}
