// Three decisions about pages, for you to take.
#include "kv.h"

int gather(const struct end* end, int page, struct ibv_sge parts[LAYERS]) {
  parts[0] = end_part(end, piece_at_prefill(0, page), PIECE);
  return 1;  // GAP 1: this is layer 0 alone
}

int may_decode(int page, int arrived) {
  (void)arrived;
  return page == PAGES - 1;  // GAP 2: the last page is there. Are the others?
}

void wait_until_memory_is_free(struct end* end) {
  (void)end;  // GAP 3: what tells prefill that decode has read all pages?
}
