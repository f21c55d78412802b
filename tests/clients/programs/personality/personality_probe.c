// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Observes a NIC as a program sees it through libibverbs, and writes one JSON object of named observations:
 *
 *   personality_probe [--output FILE] [--only SECTION] [--slow 1]
 *
 * It connects queue pairs of its own with each other, and makes mistakes on purpose. It judges nothing: what
 * is expected of a NIC stands in tests/clients/personality. What could not be observed says why. Ends with 0
 * when all sections have ended. */
#include <stddef.h>
#include <string.h>

#include "../test_client.h"
#include "observation.h"
#include "sections.h"

static bool is_slow;

static void observe_timing_as_told(const struct nic* nic) {
  observe_timing(nic, is_slow);
}

static const struct {
  const char* name;
  void (*observe)(const struct nic* nic);
} sections[] = {
    {"attributes", observe_attributes},
    {"sizes", observe_sizes},
    {"room", observe_room},
    {"posting", observe_posting},
    {"completions", observe_completions},
    {"failures", observe_failures},
    {"memory", observe_memory},
    {"timing", observe_timing_as_told},
};

int main(int argc, char** argv) {
  const char* file = NULL;
  const char* only = NULL;
  const struct program_option options[] = {{"--output", OPTION_TEXT, &file},
                                           {"--only", OPTION_TEXT, &only},
                                           {"--slow", OPTION_BOOL, &is_slow},
                                           {NULL, OPTION_INT, NULL}};
  read_options(argc, argv, options);
  struct nic nic;
  if (!nic_open(&nic)) broken("no usable device");
  observe_begin(file);
  bool is_known = false;
  for (size_t i = 0; i < sizeof sections / sizeof *sections; ++i) {
    if (only != NULL && strcmp(only, sections[i].name) != 0) continue;
    is_known = true;
    sections[i].observe(&nic);
  }
  if (!is_known) broken("unknown section %s", only);
  observe_end();
  nic_close(&nic);
  return 0;
}
