// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/example.h"

#include <cstddef>

namespace urnic::verbs_api {
namespace {

struct ExampleRow {
  Finding finding;
  std::string_view wrong;
  std::string_view right;
};

// post_write(), wait_for_completion() and so on stand for what a program makes of several verbs.
constexpr ExampleRow kExamples[] = {
    {Finding::kSendQueueNeverDrained,
     R"(for (;;) {
  post_write(qp, /*send_flags=*/0);  // nothing ever says that it is done
})",
     R"(for (unsigned n = 1;; ++n) {
  const bool is_last = n % 32 == 0;  // of a half of max_send_wr = 64
  post_write(qp, is_last ? IBV_SEND_SIGNALED : 0);
  if (is_last) wait_for_completion(cq);
})"},
    {Finding::kReceiveQueueNeverDrained,
     R"(while (memory_has_changed()) post_receive(qp);  // looks at the buffer, never polls)",
     R"(while (ibv_poll_cq(cq, 1, &wc) == 1) post_receive(qp);)"},
    {Finding::kRoomNotRequested,
     R"(attr.cap.max_send_wr = 100;
qp = ibv_create_qp(pd, &attr);
for (int i = 0; i < 128; ++i) post_write(qp, flags);)",
     R"(attr.cap.max_send_wr = 128;
qp = ibv_create_qp(pd, &attr);
for (int i = 0; i < 128; ++i) post_write(qp, flags);)"},
    {Finding::kCompletionQueueTooSmall,
     R"(cq = ibv_create_cq(context, 64, NULL, NULL, 0);
for (int i = 0; i < 128; ++i) post_write(qp, IBV_SEND_SIGNALED);)",
     R"(cq = ibv_create_cq(context, 128, NULL, NULL, 0);
for (int i = 0; i < 128; ++i) post_write(qp, IBV_SEND_SIGNALED);)"},
    {Finding::kCompletionQueueOverrun,
     R"(cq = ibv_create_cq(context, 64, NULL, NULL, 0);  // for 64 receives of each of four queue pairs)",
     R"(cq = ibv_create_cq(context, 4 * 64, NULL, NULL, 0);)"},
    {Finding::kReadWithoutFence,
     R"(post_read(qp, buffer, 0);
post_send(qp, buffer, IBV_SEND_SIGNALED);  // may send what was there before)",
     R"(post_read(qp, buffer, 0);
post_send(qp, buffer, IBV_SEND_FENCE | IBV_SEND_SIGNALED);)"},
    {Finding::kFenceOnTheWrongRequest,
     R"(post_read(qp, buffer, IBV_SEND_FENCE);
post_send(qp, buffer, IBV_SEND_SIGNALED);)",
     R"(post_read(qp, buffer, 0);
post_send(qp, buffer, IBV_SEND_FENCE | IBV_SEND_SIGNALED);)"},
    {Finding::kElementOutsideItsRegion,
     R"(mr = ibv_reg_mr(pd, buffer, 4096, access);
sge = (struct ibv_sge){(uintptr_t)buffer + 4000, 128, mr->lkey};)",
     R"(mr = ibv_reg_mr(pd, buffer, 8192, access);
sge = (struct ibv_sge){(uintptr_t)buffer + 4000, 128, mr->lkey};)"},
    {Finding::kUnknownLocalKey,
     R"(ibv_dereg_mr(mr);
sge = (struct ibv_sge){(uintptr_t)buffer, 128, lkey};  // of the region that is gone)",
     R"(sge = (struct ibv_sge){(uintptr_t)buffer, 128, mr->lkey};
/* ... the completion ... */
ibv_dereg_mr(mr);)"},
    {Finding::kOtherProtectionDomain,
     R"(mr = ibv_reg_mr(pd_of_storage, buffer, length, access);
qp = ibv_create_qp(pd_of_network, &attr);)",
     R"(mr = ibv_reg_mr(pd, buffer, length, access);
qp = ibv_create_qp(pd, &attr);)"},
    {Finding::kLocalRightMissing,
     R"(mr = ibv_reg_mr(pd, buffer, length, 0);
post_read(qp, mr);)",
     R"(mr = ibv_reg_mr(pd, buffer, length, IBV_ACCESS_LOCAL_WRITE);
post_read(qp, mr);)"},
    {Finding::kMisalignedAtomic,
     R"(struct __attribute__((packed)) { uint32_t id; uint64_t counter; } shared;)",
     R"(struct { uint64_t counter; uint32_t id; } shared;)"},
    {Finding::kReceiveWithoutHeaderRoom, R"(sge.length = message_bytes;  // of a UD queue pair)",
     R"(sge.length = 40 + message_bytes;  // the message begins at buffer + 40)"},
    {Finding::kBufferChangedBeforeCompletion,
     R"(ibv_post_send(qp, &wr, &bad);
fill(buffer, next_message);
ibv_post_send(qp, &wr, &bad);)",
     R"(ibv_post_send(qp, &wr, &bad);  // IBV_SEND_SIGNALED
while (ibv_poll_cq(cq, 1, &wc) == 0) {}
fill(buffer, next_message);
ibv_post_send(qp, &wr, &bad);)"},
    {Finding::kPostInWrongState,
     R"(modify_to_init(qp);
ibv_post_send(qp, &wr, &bad);)",
     R"(modify_to_init(qp);
modify_to_rtr(qp);
modify_to_rts(qp);
ibv_post_send(qp, &wr, &bad);)"},
    {Finding::kRegionDeregisteredInUse,
     R"(ibv_post_send(qp, &wr, &bad);
ibv_dereg_mr(mr);)",
     R"(ibv_post_send(qp, &wr, &bad);  // IBV_SEND_SIGNALED
while (ibv_poll_cq(cq, 1, &wc) == 0) {}
ibv_dereg_mr(mr);)"},
    {Finding::kAddressHandleDestroyedInUse,
     R"(ibv_post_send(qp, &wr, &bad);  // wr.wr.ud.ah = ah
ibv_destroy_ah(ah);)",
     R"(ibv_post_send(qp, &wr, &bad);  // wr.wr.ud.ah = ah, IBV_SEND_SIGNALED
while (ibv_poll_cq(cq, 1, &wc) == 0) {}
ibv_destroy_ah(ah);)"},
    {Finding::kDestroyedWithWorkOutstanding,
     R"(ibv_post_send(qp, &wr, &bad);
ibv_destroy_qp(qp);
wait_for_completion(cq);  // forever)",
     R"(ibv_post_send(qp, &wr, &bad);
modify_to_error(qp);
wait_for_completion(cq);  // at the latest, it is flushed
ibv_destroy_qp(qp);)"},
    {Finding::kEventsNotAcknowledged,
     R"(ibv_get_cq_event(channel, &cq, &context);
ibv_destroy_cq(cq);  // waits forever)",
     R"(ibv_get_cq_event(channel, &cq, &context);
ibv_ack_cq_events(cq, 1);
ibv_destroy_cq(cq);)"},
    {Finding::kNoAckTimeout,
     R"(attr.timeout = 0;
ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | rest);)",
     R"(attr.timeout = 14;  // 67 ms
ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | rest);)"},
};

constexpr bool has_all_examples() {
  std::size_t place = 0;
  for (const ExampleRow& row : kExamples) {
    if (static_cast<std::size_t>(row.finding) != place++) return false;
  }
  return place == kFindingCount;
}
static_assert(has_all_examples());

}  // namespace

Example example_of(Finding finding) {
  const ExampleRow& row = kExamples[static_cast<std::size_t>(finding)];
  return {.wrong = row.wrong, .right = row.right};
}

}  // namespace urnic::verbs_api
