// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The same over rsockets, librdmacm's sockets on RDMA: tcp.c with an r in front of each call. Nothing is to
// be done here.
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rsocket.h>
#include <sys/socket.h>

#include "kv.h"
#include "meet.h"

static int connection;
static char table[TABLE_BYTES];  // the server's; the client's has one value, at its beginning

static void send_all(const void* bytes, size_t length) {
  if (rsend(connection, bytes, length, 0) != (ssize_t)length) fail("rsend: %m");
}

static void receive_all(void* bytes, size_t length) {
  errno = 0;
  if (rrecv(connection, bytes, length, MSG_WAITALL) != (ssize_t)length) fail("rrecv: the peer has ended: %m");
}

// The server takes a free port, and tells it over the socket of meet().
static void serve_at_free_port(int socket) {
  const int listener = rsocket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in own = {.sin_family = AF_INET}, unused;
  socklen_t length = sizeof own;
  if (rbind(listener, (struct sockaddr*)&own, length) != 0 || rlisten(listener, 1) != 0) fail("rlisten: %m");
  rgetsockname(listener, (struct sockaddr*)&own, &length);
  exchange(socket, &own, &unused, sizeof own);
  connection = raccept(listener, NULL, NULL);
  if (connection < 0) fail("raccept: %m");
}

static void connect_to_server(int socket) {
  struct sockaddr_in own = {0}, servers, address;
  socklen_t length = sizeof address;
  exchange(socket, &own, &servers, sizeof own);
  getpeername(socket, (struct sockaddr*)&address, &length);
  address.sin_port = servers.sin_port;
  connection = rsocket(AF_INET, SOCK_STREAM, 0);
  if (rconnect(connection, (struct sockaddr*)&address, length) != 0)
    fail("rconnect to port %d: %m", ntohs(address.sin_port));
}

char* transport_connect(int socket) {
  if (is_client)
    connect_to_server(socket);
  else
    serve_at_free_port(socket);
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
