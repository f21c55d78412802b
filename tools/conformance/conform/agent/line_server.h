// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// line_server: how agent.c and listener.c talk to their client. Each of them gives its commands to
// serve_lines(). `urnic conform --agent-source` prints them with this file inside.
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
  kMostLine = 16384,
  kMostWords = 64,
  kHelloMs = 5000,
  kIdleMs = 600 * 1000,
  kSendSeconds = 5,
};

struct command {
  const char *word, *form;  // a form's letters are words of the line; has_form() knows them
  int (*run)(void);
};
struct program {
  const char* name;      // for people
  const char* greeting;  // the first word that a client says
  int version;
  const struct command* commands;  // the first one must be said before the others
  unsigned command_count;
  int (*has_begun)(void);
  int (*has_form)(const char* form);  // whether the words of the line have it
  void (*reset)(void);                // a client has gone, and what it has made goes
};

static int client = -1;
static char reply[4 * kMostLine];
static size_t reply_length;

// The words of the line, and those that are numbers.
static char* words[kMostWords];
static unsigned word_count;
static uint64_t numbers[kMostWords];

static void say_rest(const char* format, va_list rest) __attribute__((format(printf, 1, 0)));
static void say_rest(const char* format, va_list rest) {
  const int written = vsnprintf(reply + reply_length, sizeof reply - reply_length, format, rest);
  if (written > 0) reply_length += (size_t)written;
  if (reply_length >= sizeof reply) reply_length = sizeof reply - 1;
}

static void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char* format, ...) {
  va_list rest;
  va_start(rest, format);
  say_rest(format, rest);
  va_end(rest);
}

// The reply is this error. Returns 0, with which a command fails.
static int refuse(const char* format, ...) __attribute__((format(printf, 1, 2)));
static int refuse(const char* format, ...) {
  va_list rest;
  reply_length = 0;
  say("error ");
  va_start(rest, format);
  say_rest(format, rest);
  va_end(rest);
  return 0;
}

static int read_number(const char* text, uint64_t most, uint64_t* number) {
  char* end = NULL;
  if (text[0] < '0' || text[0] > '9') return 0;
  errno = 0;
  *number = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
  return errno == 0 && *end == '\0' && *number <= most;
}

// The text after NAME= among the words; null if there is none.
static const char* named(const char* name) {
  const size_t length = strlen(name);
  for (unsigned i = 1; i < word_count; ++i) {
    if (strncmp(words[i], name, length) == 0 && words[i][length] == '=') return words[i] + length + 1;
  }
  return NULL;
}
// The number after NAME=, 0 if it is not there; `is_wrong` is set if it is no number up to `most`.
static uint64_t named_number(const char* name, uint64_t most, int* is_wrong) {
  uint64_t number = 0;
  const char* text = named(name);
  if (text != NULL && !read_number(text, most, &number)) *is_wrong = 1;
  return number;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
// How many bytes the digits are; -1 if they are none, or more than `most`.
static long read_hex(const char* text, unsigned char* bytes, size_t most) {
  const size_t digits = strlen(text);
  if (digits % 2 != 0 || digits / 2 > most) return -1;
  for (size_t i = 0; i < digits; i += 2) {
    if (hex_digit(text[i]) < 0 || hex_digit(text[i + 1]) < 0) return -1;
    bytes[i / 2] = (unsigned char)(hex_digit(text[i]) << 4 | hex_digit(text[i + 1]));
  }
  return (long)(digits / 2);
}
static void say_hex(const void* bytes, size_t length) {
  for (size_t i = 0; i < length; ++i) say("%02x", ((const unsigned char*)bytes)[i]);
}

// --- Lines ---

static void obey(const struct program* program) {
  const struct command *const first = program->commands, *const end = first + program->command_count;
  const struct command* command = first;
  while (command != end && (word_count == 0 || strcmp(words[0], command->word) != 0)) ++command;
  if (command == end) {
    refuse("there is no such command");
  } else if (command != first && !program->has_begun()) {
    refuse("%s comes first", first->word);
  } else if (!program->has_form(command->form)) {
    refuse("a word is missing, or is no number, or the number of nothing");
  } else {
    command->run();
  }
}

// The time that it takes does not tell how much of the token is right.
static int is_token(const char* said, const char* token) {
  const size_t length = strlen(said);
  unsigned difference = length != strlen(token);
  for (size_t i = 0; token[i] != '\0'; ++i) {
    difference |= (unsigned char)(said[i < length ? i : length] ^ token[i]);
  }
  return difference == 0;
}

static int greet(const struct program* program, const char* token) {
  uint64_t version = 0;
  const int is_greeting = word_count == 3 && strcmp(words[0], program->greeting) == 0;
  if (!is_greeting) return refuse("say: %s VERSION TOKEN", program->greeting);
  if (!read_number(words[1], UINT32_MAX, &version) || version != (uint64_t)program->version) {
    return refuse("version: this %s speaks %d", program->name, program->version);
  }
  if (!is_token(words[2], token)) return refuse("token: it is another");
  say(" %s %d", program->greeting, program->version);
  return 1;
}

// 0: the other side takes nothing any more.
static int send_reply(int to) {
  reply[reply_length++] = '\n';
  for (size_t sent = 0; sent < reply_length;) {
    const ssize_t now = send(to, reply + sent, reply_length - sent, MSG_NOSIGNAL);
    if (now <= 0) return 0;
    sent += (size_t)now;
  }
  return 1;
}

// 0: the client has to go.
static int answer(const struct program* program, char* line, int is_greeted, const char* token) {
  reply_length = 0;
  say("ok");
  word_count = 0;
  char* word = strtok(line, " \r");
  for (; word != NULL && word_count < kMostWords; word = strtok(NULL, " \r")) words[word_count++] = word;
  if (is_greeted) {
    obey(program);
    return send_reply(client);
  }
  const int is_welcome = greet(program, token);
  return send_reply(client) && is_welcome;
}

static void send_away(const struct program* program, int listener) {
  const int other = accept(listener, NULL, NULL);
  if (other < 0) return;
  refuse("busy: this %s has a client already", program->name);
  send_reply(other);
  close(other);
}

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void serve(const struct program* program, int listener, const char* token) {
  static char buffer[kMostLine];
  size_t length = 0;
  int is_greeted = 0;
  const int64_t greeted_by = now_ms() + kHelloMs;
  while (length < kMostLine) {
    struct pollfd both[] = {{.fd = client, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
    const int64_t left = is_greeted ? kIdleMs : greeted_by - now_ms();
    if (left <= 0 || poll(both, 2, (int)left) <= 0) return;
    // This client first: when it has gone, the one that waits is the next.
    if (both[0].revents == 0) {
      send_away(program, listener);
      continue;
    }
    const ssize_t now = recv(client, buffer + length, kMostLine - length, 0);
    if (now <= 0) return;
    length += (size_t)now;
    for (char* end = NULL; (end = memchr(buffer, '\n', length)) != NULL; is_greeted = 1) {
      *end = '\0';
      if (!answer(program, buffer, is_greeted, token)) return;
      length -= (size_t)(end + 1 - buffer);
      memmove(buffer, end + 1, length);
    }
  }
  refuse("that line is too long");
  send_reply(client);
}

static int listen_at(const char* address, const char* service) {
  const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
  struct addrinfo* found = NULL;
  errno = EINVAL;
  if (getaddrinfo(address, service, &hints, &found) != 0) return -1;
  const int listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
  const int is_bound = listener >= 0 && bind(listener, found->ai_addr, found->ai_addrlen) == 0;
  freeaddrinfo(found);
  return is_bound && listen(listener, 8) == 0 ? listener : -1;
}

static const char* make_token(void) {
  static char text[33];
  unsigned char drawn[16];
  if (getrandom(drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) exit(1);
  for (size_t i = 0; i < sizeof drawn; ++i) snprintf(text + 2 * i, 3, "%02x", drawn[i]);
  return text;
}

// What main() does; it returns only where it cannot listen.
static int serve_lines(const struct program* program, int argc, char** argv) {
  char text[NI_MAXSERV] = "?";
  struct sockaddr_storage own;
  socklen_t size = sizeof own;
  const char* given = getenv("CONFORM_TOKEN");
  const int has_token = given != NULL && given[0] != '\0';
  if (argc != 3) return fprintf(stderr, "usage: CONFORM_TOKEN=... %s ADDRESS PORT\n", argv[0]), 2;
  const char* token = has_token ? given : make_token();
  const int listener = listen_at(argv[1], argv[2]);
  if (listener < 0) return fprintf(stderr, "%s, port %s: %s\n", argv[1], argv[2], strerror(errno)), 1;
  getsockname(listener, (struct sockaddr*)&own, &size);
  getnameinfo((struct sockaddr*)&own, size, NULL, 0, text, sizeof text, NI_NUMERICSERV);
  printf("%s %d listens at %s, port %s", program->name, program->version, argv[1], text);
  printf(has_token ? "\n" : "; the token is %s\n", token);
  fflush(stdout);
  for (;;) {
    if ((client = accept(listener, NULL, NULL)) < 0) continue;
    const struct timeval patience = {.tv_sec = kSendSeconds};
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(client, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    serve(program, listener, token);
    program->reset();
    close(client);
    client = -1;
  }
}
