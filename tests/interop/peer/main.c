// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* peer: one side of a conversation between two RDMA devices, in which everything that happens is verified.
 *
 *   peer [OPTIONS] SCENARIO PORT            waits for the other side there (TCP)
 *   peer [OPTIONS] SCENARIO PORT HOST       goes to it
 *
 * --device NAME, --gid INDEX, --mtu BYTES, --timeout CODE (4.096 us << CODE), --weather fair|foul|dreadful:
 * what the network does. Both sides get the same scenario, MTU and weather. It is a plain libibverbs program:
 * the same file runs on rdma_rxe and on urnic. Ends with 0 when all was as it must be; else the last line
 * says what was not.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "meeting.h"
#include "scenarios.h"
#include "verdict.h"

static const struct {
  const char* name;
  void (*play)(const struct settings*, enum weather);
} kScenarios[] = {{"operations", play_operations},
                  {"wrap", play_wrap},
                  {"stream", play_stream},
                  {"unreliable", play_unreliable},
                  {"datagrams", play_datagrams},
                  {"windows", play_windows},
                  {"refusals", play_refusals},
                  {"atomic_writes", play_atomic_writes},
                  {"too_long", play_too_long},
                  {"rnr", play_rnr},
                  {"dead", play_dead}};

static enum weather weather_of(const char* word) {
  static const char* const kWords[] = {"fair", "foul", "dreadful"};
  for (unsigned i = 0; i < 3; i++) {
    if (strcmp(word, kWords[i]) == 0) return (enum weather)i;
  }
  must(false, "no such weather: %s", word);
  return FAIR;
}

int main(int argc, char** argv) {
  struct settings settings = {
      .device = "urnic0", .gid_index = 1, .path_mtu = 1024, .ack_timeout = 14, .retries = 7};
  enum weather weather = FAIR;
  static const struct option kOptions[] = {
      {"device", required_argument, NULL, 'd'},  {"gid", required_argument, NULL, 'g'},
      {"mtu", required_argument, NULL, 'm'},     {"timeout", required_argument, NULL, 't'},
      {"weather", required_argument, NULL, 'w'}, {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(argc, argv, "", kOptions, NULL)) != -1;) {
    switch (option) {
      case 'd':
        settings.device = optarg;
        break;
      case 'g':
        settings.gid_index = atoi(optarg);
        break;
      case 'm':
        settings.path_mtu = (uint32_t)atoi(optarg);
        break;
      case 't':
        settings.ack_timeout = (uint8_t)atoi(optarg);
        break;
      case 'w':
        weather = weather_of(optarg);
        break;
      default:
        return 2;
    }
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  must(argc - optind == 2 || argc - optind == 3, "usage: peer [OPTIONS] SCENARIO PORT [HOST]");
  const char *name = argv[optind], *port = argv[optind + 1];
  settings.is_client = argc - optind == 3;

  open_device(&settings);
  if (settings.is_client) {
    meet_as_client(argv[optind + 2], port);
  } else {
    meet_as_server(port);
  }
  in_step(name);
  for (unsigned i = 0; i < sizeof kScenarios / sizeof *kScenarios; i++) {
    if (strcmp(name, kScenarios[i].name) == 0) {
      kScenarios[i].play(&settings, weather);
      printf("all was as it must be\n");
      return 0;
    }
  }
  must(false, "no such scenario: %s", name);
}
