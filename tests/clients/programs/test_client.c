// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "test_client.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void broken(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("broken ");
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
  exit(1);
}

static void store(const struct program_option* option, const char* value) {
  switch (option->kind) {
    case OPTION_INT:
      *(int*)option->value = atoi(value);
      break;
    case OPTION_BOOL:
      *(bool*)option->value = atoi(value) != 0;
      break;
    case OPTION_U64:
      *(uint64_t*)option->value = strtoull(value, NULL, 10);
      break;
    case OPTION_DOUBLE:
      *(double*)option->value = atof(value);
      break;
    case OPTION_TEXT:
      *(const char**)option->value = value;
      break;
  }
}

void read_options(int argc, char** argv, const struct program_option* table) {
  for (int i = 1; i < argc; i += 2) {
    const struct program_option* option = table;
    while (option->name != NULL && strcmp(option->name, argv[i]) != 0) option++;
    if (option->name == NULL) broken("unknown option %s", argv[i]);
    if (i + 1 == argc) broken("%s needs a value", argv[i]);
    store(option, argv[i + 1]);
  }
}

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
