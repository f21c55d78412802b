// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* What each of these programs needs: to say that something is wrong, to be told what to do, and to know the time.
 * One thread. */
#ifndef TESTS_CLIENTS_TEST_CLIENT_H
#define TESTS_CLIENTS_TEST_CLIENT_H

/* Prints 'broken ' and what printf() makes of the arguments, a line, and exits with 1. */
_Noreturn void broken(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* An option, and a pointer to its value; `kind` says of which type the value is. */
struct program_option {
  const char* name; /* NULL: the table ends here */
  enum { OPTION_INT, OPTION_BOOL, OPTION_U64, OPTION_DOUBLE, OPTION_TEXT } kind;
  void* value;
};

/* Reads '--name value' pairs; what is not in the table, or has no value, is broken(). A text is not copied. */
void read_options(int argc, char** argv, const struct program_option* table);

/* Seconds on the monotonic clock. */
double seconds_now(void);

#endif
