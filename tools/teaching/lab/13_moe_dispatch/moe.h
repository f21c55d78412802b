// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A layer of a mixture of experts (MoE): eight experts, two at each of four ranks. A router sends each token
// to two experts, and their results come back. (Then they would be added, which is left out here.)
#pragma once

#include "ranks.h"

enum { RANKS = 4, EXPERTS = 8, TOKENS = 64, CHOICES = 2, MOST = EXPERTS * TOKENS };

// What the immediates of WRITEs mean; the number of the expert is added to the last two.
enum { COUNTS = 1, DISPATCH = 16, COMBINE = 32 };

struct token {
  uint32_t rank, number, expert;  // where it comes from, and where this copy goes
  uint8_t data[244];
};

// The memory of each rank.
struct memory {
  uint32_t counts[RANKS][EXPERTS];  // how many tokens each rank has for each expert
  struct token out[MOST];           // tokens to send: those for expert 0, then those for expert 1, and so on
  struct token in[MOST];    // tokens that came: for the first expert of this rank, then for the second
  struct token back[MOST];  // results that came back, in the order of `out`
};

static inline int rank_of(int expert) {
  return expert / (EXPERTS / RANKS);
}

// Where in `out` of `rank` its tokens for `expert` begin.
int place_in_out(uint32_t counts[RANKS][EXPERTS], int rank, int expert);

// Where in `in` of the expert's rank the tokens begin that come from `rank` for `expert`. First are those for
// the first expert of that rank, from rank 0, then from rank 1, and so on; then those for the second expert.
int place_in_in(uint32_t counts[RANKS][EXPERTS], int rank, int expert);

// How many WRITEs with tokens for `expert` come from other ranks. A rank that has none for it sends none.
int writes_to(uint32_t counts[RANKS][EXPERTS], int expert);

// Sends the results of `expert` for the tokens of `rank`, which is another rank, back to it. They stand in
// `in`, in the place of the tokens.
void send_back(struct ranks* ranks, struct memory* memory, int rank, int expert);
