// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The key-value server over a TCP socket. Nothing is to be done here: it is what you know.
#include <errno.h>
#include <sys/socket.h>

#include "kv.h"
#include "meet.h"

static int connection;
static char table[TABLE_BYTES];  // the server's; the client's has one value, at its beginning

static void send_all(const void* bytes, size_t length) {
  if (send(connection, bytes, length, MSG_NOSIGNAL) != (ssize_t)length) fail("send: %m");
}

static void receive_all(void* bytes, size_t length) {
  errno = 0;
  if (recv(connection, bytes, length, MSG_WAITALL) != (ssize_t)length) fail("recv: the peer has ended: %m");
}

char* transport_connect(int socket) {
  connection = socket;  // the two programs have met over TCP already
  return table;
}

void transport_serve(void) {
  for (;;) {
    struct request request;
    receive_all(&request, sizeof request);
    if (request.bytes == 0) return;
    send_all(table + offset_of(&request), request.bytes);
  }
}

const char* transport_get(const struct request* request) {
  send_all(request, sizeof *request);
  receive_all(table, request->bytes);
  return table;
}

void transport_finish(void) {
  send_all(&(struct request){0}, sizeof(struct request));
}
