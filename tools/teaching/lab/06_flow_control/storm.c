// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A sender that does not ask: 64 messages at once, for a receiver that has one receive posted and takes a
// millisecond for each message.
//
//   urnic run -- ./storm                the receiver
//   urnic run -- ./storm localhost      the sender
#include <infiniband/verbs.h>
#include <stdio.h>
#include <unistd.h>

#include "end.h"
#include "meet.h"

enum { MESSAGES = 64, BYTES = 1024, WORK_US = 1000 };

static void receive_all(struct end* end) {
  for (int i = 0; i < MESSAGES; i++) {
    end_wait_for_success(end);
    usleep(WORK_US);  // the work that the message is about
    if (i + 1 < MESSAGES) end_post_receive(end, i + 1, end_part(end, 0, BYTES));
  }
}

static void send_all(struct end* end) {
  for (int i = 0; i < MESSAGES; i++) end_post_send(end, i, end_part(end, 0, BYTES));
  for (int i = 0; i < MESSAGES; i++) end_wait_for_success(end);
}

int main(int argc, char** argv) {
  const char* host = argc > 1 ? argv[1] : NULL;
  struct end end;
  end_open(&end, BYTES, 0);
  const int socket = meet(host);
  if (host == NULL) end_post_receive(&end, 0, end_part(&end, 0, BYTES));
  end_connect(&end, socket);
  if (host == NULL) receive_all(&end);
  if (host != NULL) send_all(&end);
  printf("%d messages are %s\n", MESSAGES, host == NULL ? "received" : "sent");
  wait_for_each_other(socket);
  end_close(&end);
  return 0;
}
