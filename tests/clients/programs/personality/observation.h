// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Observations of a NIC, each with a name: written as the members of one JSON object. One thread. */
#ifndef TESTS_CLIENTS_PERSONALITY_OBSERVATION_H
#define TESTS_CLIENTS_PERSONALITY_OBSERVATION_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* Begins the object in this file, or on stdout without one. */
void observe_begin(const char* file);
void observe_end(void);

/* The name is what printf() makes of the last arguments. A name may appear once. */
void observe_number(uint64_t value, const char* name, ...) __attribute__((format(printf, 2, 3)));
void observe_text(const char* value, const char* name, ...) __attribute__((format(printf, 2, 3)));
void observe_bool(bool value, const char* name, ...) __attribute__((format(printf, 2, 3)));

/* For what could not be observed, with the reason. */
void observe_nothing(const char* reason, const char* name, ...) __attribute__((format(printf, 2, 3)));

/* "ok", or the name of this value of errno, such as "EINVAL". */
const char* error_name(int error);

/* The name in the enumeration, without what all names begin with, such as "RETRY_EXC_ERR". */
const char* status_name(enum ibv_wc_status status);
const char* state_name(enum ibv_qp_state state);
const char* event_name(enum ibv_event_type event);

#endif
