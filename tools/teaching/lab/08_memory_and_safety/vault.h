// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The vault: three pages of the server's memory, and what a peer is to be able to do with them.
//
//   page 0  public     the peer may read it, nothing else
//   page 1  letterbox  the peer may write its first 64 bytes, nothing else, and only once
//   page 2  secret     not for the peer
#pragma once

#include <infiniband/verbs.h>

enum { PAGE = 4096, LETTER = 64 };

// Rights of the memory regions of pages 0 and 2: IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE, both, or 0.
int rights_of_public(void);
int rights_of_secret(void);

// What a memory window on the letterbox opens: `region` is the region of page 1, which begins at `letterbox`.
struct ibv_mw_bind_info window_of(struct ibv_mr* region, char* letterbox);

// Closes the window with this key: posts what does that on the queue pair, signaled. Returns 0, or a number
// of errno.
int close_window(struct ibv_qp* qp, uint32_t rkey);
