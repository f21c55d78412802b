#include "test_client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
