// Where tokens go, and come back to: for you to write. moe.h says what each function is for.
#include "moe.h"

int place_in_out(uint32_t counts[RANKS][EXPERTS], int rank, int expert) {
  (void)counts, (void)rank, (void)expert;
  return 0;  // GAP 1: the tokens for the experts before this one come first
}

int place_in_in(uint32_t counts[RANKS][EXPERTS], int rank, int expert) {
  (void)counts, (void)rank, (void)expert;
  // GAP 2: which ranks' tokens, for which experts, come before the tokens of `rank` for this expert?
  return 0;
}

int writes_to(uint32_t counts[RANKS][EXPERTS], int expert) {
  (void)counts, (void)expert;
  return 0;  // GAP 3
}

void send_back(struct ranks* ranks, struct memory* memory, int rank, int expert) {
  // GAP 4: an empty WRITE. What stands where in `in`, and where in `back` does it belong?
  ranks_write(ranks, rank, memory->in, 0, memory->back, COMBINE + (uint32_t)expert);
}
