// Where tokens go, and come back to.
#include "moe.h"

int place_in_out(uint32_t counts[RANKS][EXPERTS], int rank, int expert) {
  int place = 0;
  for (int before = 0; before < expert; before++) place += (int)counts[rank][before];
  return place;
}

int place_in_in(uint32_t counts[RANKS][EXPERTS], int rank, int expert) {
  int place = 0;
  for (int before = 0; before < expert; before++)
    for (int source = 0; source < RANKS; source++)
      if (rank_of(before) == rank_of(expert)) place += (int)counts[source][before];
  for (int source = 0; source < rank; source++) place += (int)counts[source][expert];
  return place;
}

int writes_to(uint32_t counts[RANKS][EXPERTS], int expert) {
  int writes = 0;
  for (int source = 0; source < RANKS; source++)
    if (source != rank_of(expert) && counts[source][expert] > 0) writes++;
  return writes;
}

void send_back(struct ranks* ranks, struct memory* memory, int rank, int expert) {
  ranks_write(ranks, rank, &memory->in[place_in_in(memory->counts, rank, expert)],
              memory->counts[rank][expert] * sizeof(struct token),
              &memory->back[place_in_out(memory->counts, rank, expert)], COMBINE + (uint32_t)expert);
}
