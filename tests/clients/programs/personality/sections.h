// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* What the probe observes, by subject. Each function leaves the device as it was. */
#ifndef TESTS_CLIENTS_PERSONALITY_SECTIONS_H
#define TESTS_CLIENTS_PERSONALITY_SECTIONS_H

#include <stdbool.h>

#include "pair.h"

void observe_attributes(const struct nic* nic);  /* attributes.c: attr., port., gid. */
void observe_sizes(const struct nic* nic);       /* sizes.c: cap., cq., srq., create. */
void observe_room(const struct nic* nic);        /* room.c: room. */
void observe_posting(const struct nic* nic);     /* posting.c: post. */
void observe_completions(const struct nic* nic); /* completions.c: wc., purge. */
void observe_failures(const struct nic* nic);    /* failures.c: fail., flush., event., state. */
void observe_memory(const struct nic* nic);      /* memory.c: write_past_end., dereg., reg_mr. */
/* timing.c: time. With is_slow also pairs of timeout and retry count that take longer. */
void observe_timing(const struct nic* nic, bool is_slow);

#endif
