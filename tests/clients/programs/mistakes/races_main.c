// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Makes one mistake that only bad luck shows, by its name. Prints "done" and ends with 0 as long as it is
 * lucky. */
#include <stdio.h>
#include <string.h>

#include "pair.h"
#include "races.h"

static const struct {
  const char* name;
  void (*make)(void);
} races[] = {
    {"buffer-reused-on-another-completion", buffer_reused_on_another_completion},
    {"flag-by-another-queue-pair", flag_by_another_queue_pair},
    {"polled-so-often", polled_so_often},
    {"all-in-one-poll", all_in_one_poll},
    {"queue-pairs-in-turn", queue_pairs_in_turn},
    {"opcode-before-status", opcode_before_status},
    {"request-freed-with-queue-pair", request_freed_with_queue_pair},
    {"event-within-a-limit", event_within_a_limit},
    {"completion-for-each-event", completion_for_each_event},
    {"armed-after-the-poll", armed_after_the_poll},
    {"drained-in-a-moment", drained_in_a_moment},
    {"one-key-for-both", one_key_for_both},
    {"attribute-not-requested", attribute_not_requested},
    {"registered-in-the-data-path", registered_in_the_data_path},
    {"every-event-is-fatal", every_event_is_fatal},
    {"every-datagram-arrives", every_datagram_arrives},
};

int main(int argc, char** argv) {
  const char* wanted = argc == 2 ? argv[1] : "";
  const size_t count = sizeof races / sizeof *races;
  size_t chosen = 0;
  while (chosen != count && strcmp(races[chosen].name, wanted) != 0) ++chosen;
  if (chosen == count) {
    for (size_t i = 0; i < count; ++i) printf("%s\n", races[i].name);
    return 2;
  }
  verbs_open(&nic, "urnic0", VERBS_IPV4_GID, kEntries, kBytes);
  races[chosen].make();
  verbs_close(&nic);
  printf("done\n");
  return 0;
}
