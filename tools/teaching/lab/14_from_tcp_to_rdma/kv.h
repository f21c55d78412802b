// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A key-value server, and a client that measures it: the same over four transports. A value has 64 bytes, or
// 16 KiB.
//
//   urnic run -- ./kv_send                 the server
//   urnic run -- ./kv_send localhost       the client; a number after it limits the gets of each size
//
// Other words: see kv.c.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { KEYS = 16, SMALL = 64, LARGE = 16 << 10 };

// What a client asks for. With 0 bytes it says that this is its last request.
struct request {
  uint32_t key, bytes;
};

// --- The table: table.c ---

// The small values of all keys, one after the other, and then the large ones.
enum { TABLE_BYTES = KEYS * (SMALL + LARGE) };
size_t offset_of(const struct request* request);

// A value begins with its version and ends with it. All bytes between the two are equal: key + 1, as long as
// it is not changed.
enum { VERSION = sizeof(uint64_t) };
uint64_t first_version(const char* value);
uint64_t last_version(const char* value, uint32_t bytes);

// Whether the bytes between the versions differ; in a whole version they are all equal.
int is_mixed(const char* value, uint32_t bytes);

void fill_table(char* table);

// Gives a large value another version, slowly, as if the server computed it meanwhile: raises the last
// version, writes the bytes, and then raises the first version.
void change_value(char* value);

// The words after the program's name.
extern int is_client, sleeps, trusts;

// --- What each transport does in its own way: tcp.c, rsocket.c, send.c, read.c ---

// Connects; `socket` is from meet(). Returns memory of TABLE_BYTES, where the server's table will be.
char* transport_connect(int socket);

// The server: answers requests until the client is finished.
void transport_serve(void);

// The client: fetches a value, and returns where it is.
const char* transport_get(const struct request* request);

// The client: tells the server's transport_serve() to return.
void transport_finish(void);
