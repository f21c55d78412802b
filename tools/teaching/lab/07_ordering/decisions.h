// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Four decisions about order, each a function. racy.c takes them wrongly, mended.c is yours; ordering.c uses
// them.
#pragma once

#include <infiniband/verbs.h>

// Case "two": a large WRITE goes over `of_data`. Over which of the two queue pairs goes the SEND that says
// "the data are there"?
struct ibv_qp* qp_of_notice(struct ibv_qp* of_data, struct ibv_qp* other);

// Case "fence": the flags of a SEND whose data an RDMA READ, posted just before it, is to fetch.
unsigned flags_behind_read(void);

// Case "reuse": all messages are sent from one buffer. May the program write the next message into it, when
// so many were posted, and so many of them are complete?
int may_reuse(int posted, int completed);

// Case "signal": the flags of WRITE number 0, 1, 2 and so on of 320, on a send queue with room for 256.
unsigned flags_of_write(int number);
