// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The server's table, and a server that changes it.
#include <string.h>
#include <unistd.h>

#include "kv.h"

enum { PIECE = 1024 };

size_t offset_of(const struct request* request) {
  return request->bytes == SMALL ? request->key * SMALL : KEYS * SMALL + request->key * LARGE;
}

static uint64_t* version_at(const char* place) {
  return (uint64_t*)(uintptr_t)place;
}

uint64_t first_version(const char* value) {
  return *version_at(value);
}

uint64_t last_version(const char* value, uint32_t bytes) {
  return *version_at(value + bytes - VERSION);
}

int is_mixed(const char* value, uint32_t bytes) {
  return memcmp(value + VERSION, value + VERSION + 1, bytes - 2 * VERSION - 1) != 0;
}

void fill_table(char* table) {
  for (uint32_t i = 0; i < 2 * KEYS; i++) {
    const struct request value = {.key = i / 2, .bytes = i % 2 == 0 ? SMALL : LARGE};
    memset(table + offset_of(&value) + VERSION, (int)value.key + 1, value.bytes - 2 * VERSION);
  }
}

void change_value(char* value) {
  const uint64_t version = first_version(value) + 1;
  __atomic_store_n(version_at(value + LARGE - VERSION), version, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);  // other processors, and the NIC, see the bytes change after it
  for (int i = VERSION; i < LARGE - VERSION; i++) {
    value[i] = (char)(version % 2 + 1);
    if (i % PIECE == 0) usleep(20);
  }
  __atomic_store_n(version_at(value), version, __ATOMIC_RELEASE);  // and this after the bytes
}
