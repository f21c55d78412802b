// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Verdict: what must hold, and what is said when it does not. */
#ifndef INTEROP_PEER_VERDICT_H
#define INTEROP_PEER_VERDICT_H

#include <infiniband/verbs.h>
#include <stdbool.h>

/* Says what is wrong and ends the program with 1 unless `holds`. */
void must(bool holds, const char* format, ...) __attribute__((format(printf, 2, 3)));

/* Says what is tried now, for the reader of a failure. */
void now(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* A completion of work request `wr_id` with this status and nothing else. */
void must_complete(const struct ibv_wc* completion, uint64_t wr_id, enum ibv_wc_status status);

#endif
