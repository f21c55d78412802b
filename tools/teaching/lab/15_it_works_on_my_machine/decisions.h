// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Four decisions, each a function or two. works.c takes them so that they work, mended.c is yours; replica.c
// uses them.
#pragma once

#include <infiniband/verbs.h>
#include <stdint.h>

#include "end.h"

enum {
  WORDS = 512,   // of a block, each of four bytes
  COMMIT = 200,  // bytes of a message that commits a block
  TOGETHER = 8   // messages that the primary sends at once
};

// Decision 1, of the primary. It has posted the WRITE of a block, and the replica has answered that it has
// the block. For which completions of `blocks` does the primary wait before it fills the same memory with
// the next block? Returns how many.
int wait_before_next_block(struct end* blocks);

// Decision 2, of both. Makes the queue pair of the messages, which are to be sent inline where the NIC can
// do that. The function sets init->cap.max_inline_data, in which ibv_create_qp() gives back how many bytes
// may be inline; everything else is set. The primary looks there before it sends inline.
struct ibv_qp* make_message_qp(struct ibv_pd* pd, struct ibv_qp_init_attr* init);

// Decision 3, of the primary: IBV_WR_RDMA_WRITE, or IBV_WR_RDMA_WRITE_WITH_IMM, which takes a receive (one
// is posted) and gives the replica a completion.
enum ibv_wr_opcode opcode_of_block(void);

// Decision 3, of the replica. Returns when the block is there: its WORDS words are all `number`. Before,
// they were all number - 1.
void wait_for_block(struct end* blocks, const volatile uint32_t* block, uint32_t number);

// Decision 4, of the replica. How many receives it has for messages. Each is posted again as soon as the
// message in it was read.
int receives_for_messages(void);
