// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

/* Scenarios: each is played by both sides at once; settings->is_client says which side this is. */
#ifndef INTEROP_PEER_SCENARIOS_H
#define INTEROP_PEER_SCENARIOS_H

#include "connection.h"

/* What the network does to the packets, as far as it changes which results are allowed. */
enum weather {
  FAIR,    /* nothing is lost */
  FOUL,    /* packets are lost, repeated and reordered; a reliable connection does not show it */
  DREADFUL /* so many are lost that a reliable connection may give up */
};

void play_operations(const struct settings* settings, enum weather weather);
void play_wrap(const struct settings* settings, enum weather weather);
void play_stream(const struct settings* settings, enum weather weather);
void play_unreliable(const struct settings* settings, enum weather weather);
void play_datagrams(const struct settings* settings, enum weather weather);
void play_windows(const struct settings* settings, enum weather weather);
void play_refusals(const struct settings* settings, enum weather weather);
void play_atomic_writes(const struct settings* settings, enum weather weather);
void play_too_long(const struct settings* settings, enum weather weather);
void play_rnr(const struct settings* settings, enum weather weather);
void play_dead(const struct settings* settings, enum weather weather);

#endif
