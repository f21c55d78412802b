// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// What a program does so that a completion has no such status, or does with one that has it.
#include "tools/teaching/explain/advice.h"

namespace urnic::explain {
namespace {

using verbs_api::Finding;

constexpr Advice kOnStatuses[] = {
    {"SUCCESS", "write to the buffer after this completion, and not before",
     Finding::kBufferChangedBeforeCompletion},
    {.name = "LOC_LEN_ERR",
     .text = "make receives as long as the longest message",
     .finding = Finding::kReceiveWithoutHeaderRoom,
     .wrong = R"(post_receive(qp, buffer, 64);  // the peer sends up to 128 bytes)",
     .right = R"(post_receive(qp, buffer, 128);)"},
    {.name = "LOC_QP_OP_ERR",
     .text = "post what the queue pair has: a key that is valid is invalidated once",
     .wrong = R"(wr.opcode = IBV_WR_LOCAL_INV;
wr.invalidate_rkey = mr->rkey;  // of a region, and not of a window)",
     .right = R"(wr.opcode = IBV_WR_LOCAL_INV;
wr.invalidate_rkey = mw->rkey;  // of a window of type 2 that is bound)"},
    {"LOC_PROT_ERR", "compare each element with the region that its lkey names",
     Finding::kElementOutsideItsRegion},
    {.name = "WR_FLUSH_ERR",
     .text = "keep the first status that is another one: that is why",
     .wrong = R"(while (ibv_poll_cq(cq, 1, &wc) == 1) why = wc.status;  // the last one: flushed
report(why);)",
     .right = R"(while (ibv_poll_cq(cq, 1, &wc) == 1) {
  if (why == IBV_WC_SUCCESS || why == IBV_WC_WR_FLUSH_ERR) why = wc.status;
}
report(why);)"},
    {.name = "MW_BIND_ERR",
     .text = "register the memory with the right to bind windows to it",
     .wrong = R"(mr = ibv_reg_mr(pd, memory, length, IBV_ACCESS_LOCAL_WRITE);
bind_window(qp, mw, mr);)",
     .right = R"(mr = ibv_reg_mr(pd, memory, length, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
bind_window(qp, mw, mr);)"},
    {.name = "BAD_RESP_ERR",
     .text = "set the same path_mtu at both ends",
     .finding = Finding::kPathMtuAboveActive,
     .wrong = R"(attr.path_mtu = IBV_MTU_4096;  // the peer has IBV_MTU_1024)",
     .right = R"(attr.path_mtu = min(own_active_mtu, peer_active_mtu);)"},
    {"LOC_ACCESS_ERR", "give the peer the rkey, the address and the rights that it uses",
     Finding::kRemoteRightMissing},
    {.name = "REM_INV_REQ_ERR",
     .text = "give the peer's queue pair the rights, too, and its receives the length",
     .finding = Finding::kResponderResourcesExceeded,
     .wrong = R"(/* at the peer: */
attr.qp_access_flags = 0;
ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | rest);)",
     .right = R"(/* at the peer: */
attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | rest);)"},
    {"REM_ACCESS_ERR", "use the rkey, the address and the length that the peer has registered now",
     Finding::kStaleRemoteKey},
    {.name = "REM_OP_ERR",
     .text = "look at the peer's completions: its receives must name memory that it may write",
     .finding = Finding::kLocalRightMissing,
     .wrong = R"(/* at the peer: */
post_receive(qp, mr_without_local_write);)",
     .right = R"(/* at the peer: */
post_receive(qp, mr_with_local_write);)"},
    {.name = "RETRY_EXC_ERR",
     .text = "post the first request when the peer has said that its queue pair is in RTR",
     .wrong = R"(tell_peer(own_address);
modify_to_rts(qp);
ibv_post_send(qp, &wr, &bad);)",
     .right = R"(tell_peer(own_address);
modify_to_rts(qp);
wait_until_peer_is_in_rtr();
ibv_post_send(qp, &wr, &bad);)"},
    {"RNR_RETRY_EXC_ERR", "post receives before the peer sends, and more of them than it sends at once",
     Finding::kReceivePostedLate},
};

}  // namespace

std::span<const Advice> advice_on_statuses() {
  return kOnStatuses;
}

}  // namespace urnic::explain
