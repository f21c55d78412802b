// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verdict.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char trying[160] = "nothing yet";

void must(bool holds, const char* format, ...) {
  if (holds) return;
  const int error = errno;
  va_list arguments;
  va_start(arguments, format);
  printf("broken, with %s: ", trying);
  vprintf(format, arguments);
  printf(" (errno: %s)\n", strerror(error));
  va_end(arguments);
  exit(1);
}

void now(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(trying, sizeof trying, format, arguments);
  va_end(arguments);
  printf("%s\n", trying);
}

void must_complete(const struct ibv_wc* completion, uint64_t wr_id, enum ibv_wc_status status) {
  must(completion->wr_id == wr_id && completion->status == status,
       "work request %llu completed with %s, expected was %llu with %s",
       (unsigned long long)completion->wr_id, ibv_wc_status_str(completion->status),
       (unsigned long long)wr_id, ibv_wc_status_str(status));
}
