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
    {Finding::kGrantedRoomUsed,
     R"(attr.cap.max_inline_data = 0;
qp = ibv_create_qp(pd, &attr);
post_write(qp, IBV_SEND_INLINE);  // 16 bytes)",
     R"(attr.cap.max_inline_data = 16;
qp = ibv_create_qp(pd, &attr);
post_write(qp, IBV_SEND_INLINE);)"},
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
    {Finding::kRemoteKeyAsLocalKey,
     R"(sge = (struct ibv_sge){(uintptr_t)buffer, 128, peer.rkey};
wr.wr.rdma.rkey = peer.rkey;)",
     R"(sge = (struct ibv_sge){(uintptr_t)buffer, 128, mr->lkey};
wr.wr.rdma.rkey = peer.rkey;)"},
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
    {Finding::kOrderBetweenQueuePairs,
     R"(post_write(qp_of_data, message, length);
post_write(qp_of_flags, &flag, 8);)",
     R"(post_write(qp, message, length);
post_write(qp, &flag, 8);)"},
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
    {Finding::kDestroyedBeforeLastWqe,
     R"(modify_to_error(qp);  // it receives from an SRQ
ibv_destroy_qp(qp);)",
     R"(modify_to_error(qp);
wait_for_event(context, IBV_EVENT_QP_LAST_WQE_REACHED);
poll_until_empty(cq);
ibv_destroy_qp(qp);)"},
    {Finding::kWaitsForDestroyed,
     R"(ibv_destroy_qp(qp);
while (outstanding > 0) outstanding -= ibv_poll_cq(cq, 1, &wc);  // forever)",
     R"(modify_to_error(qp);
while (outstanding > 0) outstanding -= ibv_poll_cq(cq, 1, &wc);
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
    {Finding::kSleepWithCompletionsWaiting,
     R"(while (ibv_poll_cq(cq, 1, &wc) == 1) handle(&wc);
/* a completion that comes here is not told of */
ibv_req_notify_cq(cq, 0);
ibv_get_cq_event(channel, &cq, &context);)",
     R"(ibv_req_notify_cq(cq, 0);
while (ibv_poll_cq(cq, 1, &wc) == 1) handle(&wc);
ibv_get_cq_event(channel, &cq, &context);)"},
    {Finding::kUndefinedFieldRead,
     R"(opcode = ibv_wc_read_opcode(cq);
if (cq->status != IBV_WC_SUCCESS) handle_failure(opcode);)",
     R"(if (cq->status != IBV_WC_SUCCESS) handle_failure(cq->wr_id);
else opcode = ibv_wc_read_opcode(cq);)"},
    {Finding::kVendorErrorRead, R"(if (ibv_wc_read_vendor_err(cq) == 0x81) reconnect();)",
     R"(if (cq->status == IBV_WC_RETRY_EXC_ERR) reconnect();)"},
    {Finding::kImmediateInHostOrder,
     R"(wr.imm_data = number;
/* at the peer: */
number = wc.imm_data;)",
     R"(wr.imm_data = htonl(number);
/* at the peer: */
number = ntohl(wc.imm_data);)"},
    {Finding::kFatalEventUnread, R"(for (;;) handle_completions(cq);  // the queue has overrun)",
     R"(for (;;) {
  handle_completions(cq);
  if (is_readable(context->async_fd)) handle_event(context);
})"},
    {Finding::kEventUnread, R"(context = ibv_open_device(device);  // and no ibv_get_async_event())",
     R"(context = ibv_open_device(device);
pthread_create(&thread, NULL, handle_events, context);)"},
    {Finding::kCompletionEventUnread,
     R"(ibv_req_notify_cq(cq, 0);
for (;;) ibv_poll_cq(cq, 1, &wc);)",
     R"(for (;;) ibv_poll_cq(cq, 1, &wc);)"},
    {Finding::kUsedAfterDestroy,
     R"(ibv_destroy_qp(qp);
ibv_post_send(qp, &wr, &bad);)",
     R"(ibv_post_send(qp, &wr, &bad);
/* ... the completion ... */
ibv_destroy_qp(qp);
qp = NULL;)"},
    {Finding::kTwoThreadsAtOnce,
     R"(attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
cq = ibv_create_cq_ex(context, &attr);
/* two threads poll it */)",
     R"(attr.flags = 0;
cq = ibv_create_cq_ex(context, &attr);)"},
    {Finding::kAcceptedRequestsPostedAgain, R"(while (ibv_post_send(qp, list, &bad) != 0) poll(cq);)",
     R"(for (wr = list; ibv_post_send(qp, wr, &bad) != 0; wr = bad) poll(cq);)"},
    {Finding::kRefusedRequestWaitedFor,
     R"(if (ibv_post_send(qp, &wr, &bad) < 0) fail();  // never true
wait_for_completion(cq);)",
     R"(if (ibv_post_send(qp, &wr, &bad) != 0) fail();
wait_for_completion(cq);)"},
    {Finding::kOverlappingTargets,
     R"(post_receive(qp, buffer, 128);
post_receive(qp, buffer + 64, 128);)",
     R"(post_receive(qp, buffer, 128);
post_receive(qp, buffer + 128, 128);)"},
    {Finding::kWorkRequestIdReused,
     R"(wr.wr_id = (uintptr_t)request;
ibv_post_send(qp, &wr, &bad);
ibv_post_send(qp, &wr, &bad);)",
     R"(wr.wr_id = (uintptr_t)request;
ibv_post_send(qp, &wr, &bad);
wr.wr_id = (uintptr_t)other_request;
ibv_post_send(qp, &wr, &bad);)"},
    {Finding::kResponderResourcesExceeded,
     R"(attr.max_dest_rd_atomic = 1;  // RTR; the peer has max_rd_atomic = 16)",
     R"(attr.max_dest_rd_atomic = 16;  // as many as the peer has max_rd_atomic)"},
    {Finding::kRegionDeregisteredUnderPeer,
     R"(ibv_dereg_mr(mr);
tell_peer_that_we_are_done();)",
     R"(wait_until_peer_is_done();
ibv_dereg_mr(mr);)"},
    {Finding::kStaleRemoteKey,
     R"(ibv_dereg_mr(mr);
mr = ibv_reg_mr(pd, buffer, length, access);  // the peer goes on with the old rkey)",
     R"(ibv_dereg_mr(mr);
mr = ibv_reg_mr(pd, buffer, length, access);
send_to_peer(mr->rkey);)"},
    {Finding::kRemoteRightMissing,
     R"(mr = ibv_reg_mr(pd, buffer, length, IBV_ACCESS_LOCAL_WRITE);  // a peer writes to it)",
     R"(mr = ibv_reg_mr(pd, buffer, length, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);)"},
    {Finding::kByteSwappedAddress,
     R"(info.address = htobe64((uintptr_t)buffer);
/* at the peer: */
wr.wr.rdma.remote_addr = info.address;)",
     R"(info.address = htobe64((uintptr_t)buffer);
/* at the peer: */
wr.wr.rdma.remote_addr = be64toh(info.address);)"},
    {Finding::kMemoryGone,
     R"(munmap(buffer, length);
ibv_dereg_mr(mr);)",
     R"(ibv_dereg_mr(mr);
munmap(buffer, length);)"},
    {Finding::kFailedQueuePairUnnoticed, R"(for (;;) sleep(1);  // the peer reads and writes our memory)",
     R"(while (ibv_get_async_event(context, &event) == 0) {
  handle(&event);
  ibv_ack_async_event(&event);
})"},
    {Finding::kReceivePostedLate,
     R"(modify_to_rts(qp);
tell_peer_that_we_are_ready();
post_receive(qp);)",
     R"(post_receive(qp);
modify_to_rts(qp);
tell_peer_that_we_are_ready();)"},
    {Finding::kDatagramDropped,
     R"(post_send(ud_qp, request);
wait_for_answer();  // forever, if either is lost)",
     R"(do post_send(ud_qp, request);
while (!wait_for_answer(timeout));)"},
    {Finding::kLocalKeyAsRemoteKey, R"(wr.wr.rdma.rkey = mr->rkey;  // of the own buffer)",
     R"(wr.wr.rdma.rkey = peer.rkey;)"},
    {Finding::kSrqLimitNotArmed, R"(on_limit_event: post_receives(srq);)",
     R"(on_limit_event: post_receives(srq);
attr.srq_limit = limit;
ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT);)"},
    {Finding::kAtomicChanged, R"((*counter)++;  // and peers post IBV_WR_ATOMIC_FETCH_AND_ADD for it)",
     R"(post_fetch_and_add(qp_to_own_host, counter, 1);)"},
    {Finding::kUnknownSendFlags,
     R"(struct ibv_send_wr wr;  // what the stack has
wr.send_flags |= IBV_SEND_SIGNALED;)",
     R"(struct ibv_send_wr wr = {0};
wr.send_flags |= IBV_SEND_SIGNALED;)"},
    {Finding::kAttributeNotSet,
     R"(struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | rest);)",
     R"(struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | rest);)"},
    {Finding::kAddressWithoutGrh, R"(attr.ah_attr.dlid = peer_lid;  // 0 on ConnectX with RoCE)",
     R"(attr.ah_attr.is_global = 1;
attr.ah_attr.grh.dgid = peer_gid;
attr.ah_attr.grh.sgid_index = index_of_own_gid;)"},
    {Finding::kGidOfOtherKind, R"(attr.ah_attr.grh.sgid_index = 0;)",
     R"(attr.ah_attr.grh.sgid_index = index_of_own_ipv4_gid(context);)"},
    {Finding::kPathMtuAboveActive, R"(attr.path_mtu = IBV_MTU_4096;)",
     R"(ibv_query_port(context, 1, &port);
attr.path_mtu = min(port.active_mtu, peer_active_mtu);)"},
    {Finding::kRetryCountOutOfRange, R"(attr.retry_cnt = 10;)", R"(attr.retry_cnt = 7;)"},
    {Finding::kShortAckTimeout, R"(attr.timeout = 8;  // 1 ms)", R"(attr.timeout = 16;  // 268 ms)"},
    {Finding::kNoRetries, R"(attr.retry_cnt = 0;)", R"(attr.retry_cnt = 7;)"},
    {Finding::kMessageTooLongElsewhere, R"(sge.length = whole_length;)",
     R"(sge.length = min(whole_length - done, port.max_msg_sz);)"},
    {Finding::kMoreThanSomeNicsHave,
     R"(attr.cap.max_inline_data = 512;
qp = ibv_create_qp(pd, &attr);)",
     R"(for (attr.cap.max_inline_data = 512;; attr.cap.max_inline_data /= 2) {
  qp = ibv_create_qp(pd, &attr);
  if (qp != NULL || attr.cap.max_inline_data == 0) break;
})"},
    {Finding::kMissingOnSomeNics, R"(srq = ibv_create_srq(pd, &attr);)",
     R"(srq = device.max_srq > 0 ? ibv_create_srq(pd, &attr) : NULL;)"},
    {Finding::kMoreThanMemlock, R"(mr = ibv_reg_mr(pd, buffer, gigabytes, access);  // with ulimit -l 8192)",
     R"(setrlimit(RLIMIT_MEMLOCK, &enough);  // or ulimit -l unlimited
mr = ibv_reg_mr(pd, buffer, gigabytes, access);)"},
    {Finding::kMemoryUnmapped,
     R"(free(large_buffer);
/* ... */
ibv_dereg_mr(mr);)",
     R"(ibv_dereg_mr(mr);
free(large_buffer);)"},
    {Finding::kFileBackedMemory,
     R"(memory = mmap(NULL, length, rights, MAP_SHARED, file_on_disk, 0);
mr = ibv_reg_mr(pd, memory, length, access);)",
     R"(memory = mmap(NULL, length, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
mr = ibv_reg_mr(pd, memory, length, access);)"},
    {Finding::kForkWithRegisteredMemory,
     R"(mr = ibv_reg_mr(pd, buffer, length, access);
if (fork() == 0) work_of_child();)",
     R"(ibv_fork_init();
mr = ibv_reg_mr(pd, buffer, length, access);
if (fork() == 0) work_of_child();)"},
    {Finding::kRegistrationPerMessage,
     R"(mr = ibv_reg_mr(pd, message, length, access);
post_write(qp, mr);
wait_for_completion(cq);
ibv_dereg_mr(mr);)",
     R"(memcpy(registered_buffer, message, length);
post_write(qp, mr_of_buffer);
wait_for_completion(cq);)"},
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
