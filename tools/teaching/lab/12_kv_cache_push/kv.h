// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// A KV cache: for each layer of a model, keys and values of all tokens of a prompt. It is kept in pages of 16
// tokens each. One layer of a page is a piece, here of 512 bytes.
#pragma once

#include <stddef.h>

#include "end.h"

enum { LAYERS = 8, PAGES = 32, PIECE = 512, PAGE = LAYERS * PIECE, CACHE = PAGES * PAGE };

// Prefill works layer by layer, so the pieces of one layer lie together, and the pieces of one page lie
// apart.
static inline size_t piece_at_prefill(int layer, int page) {
  return (size_t)(layer * PAGES + page) * PIECE;
}

// Decode wants whole pages.
static inline size_t piece_at_decode(int layer, int page) {
  return (size_t)page * PAGE + (size_t)layer * PIECE;
}

// Prefill, push: fills `parts` with the pieces of this page, in the order of the layers, and returns their
// number. The NIC writes them one after the other to the place of the page at decode.
int gather(const struct end* end, int page, struct ibv_sge parts[LAYERS]);

// Decode, push: `page` has just come, as page number `arrived` (from 1). May decode use the whole cache now?
int may_decode(int page, int arrived);

// Prefill, pull: decode knows that the pages are there, and reads them. Returns when prefill may use their
// memory for the next prompt.
void wait_until_memory_is_free(struct end* end);
