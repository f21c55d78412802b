/* What each of these programs needs: to say that something is wrong, and to know the time. One thread. */
#ifndef TESTS_CLIENTS_TEST_CLIENT_H
#define TESTS_CLIENTS_TEST_CLIENT_H

/* Prints 'broken ' and what printf() makes of the arguments, a line, and exits with 1. */
_Noreturn void broken(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* Seconds on the monotonic clock. */
double seconds_now(void);

#endif
