// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/finding.h"

#include <algorithm>

namespace urnic::verbs_api {
namespace {

using enum FindingLevel;

constexpr std::string_view kEverywhere = "every NIC";

// What is said of ConnectX, E810 and rdma_rxe was read in their providers of rdma-core, unless another source
// is named.
constexpr FindingRow kRows[] = {
    {Finding::kSendQueueNeverDrained, kError, "send-queue-never-drained",
     "a slot of the send queue comes back when the program polls the completion of this request or of a "
     "later one, and an unsignaled request has none of its own",
     "ConnectX, E810, bnxt_re: ibv_post_send() fails with ENOMEM. rdma_rxe and urnic take the slot back "
     "earlier",
     "signal at least one request in each half of the queue, and poll its completion before you post more"},
    {Finding::kReceiveQueueNeverDrained, kError, "receive-queue-never-drained",
     "a slot of the receive queue comes back when the program polls the receive's completion",
     "ConnectX, E810: ibv_post_recv() fails with ENOMEM. urnic takes the slot back when the message has "
     "arrived",
     "poll a receive's completion before you post the next one in its place"},
    {Finding::kRoomNotRequested, kWarning, "room-not-requested",
     "a NIC may round up what a program requests, and the next one does not",
     "NICs that round otherwise: ConnectX makes 128 of 100, urnic and rdma_rxe may leave it at 100",
     "request what you use, or count with the capabilities that ibv_create_qp() gives back"},
    {Finding::kGrantedRoomUsed, kHint, "granted-room-used",
     "what a verb gives back may be more than was requested, and may be used; the next NIC gives back less",
     "NICs that round otherwise, if the program has not looked at what came back",
     "request what you use, or read the numbers that the verb gives back on each NIC"},
    {Finding::kCompletionQueueTooSmall, kWarning, "completion-queue-too-small",
     "as many completions can wait as there are signaled requests that were not polled",
     "every NIC, if the program polls late once: IBV_EVENT_CQ_ERR, and all queue pairs of the queue fail",
     "make the completion queue as large as all send and receive queues that use it together"},
    {Finding::kCompletionQueueOverrun, kError, "completion-queue-overrun",
     "more completions wait than the program has requested entries",
     "ConnectX (as documented): IBV_EVENT_CQ_ERR, the completion queue is dead, and its queue pairs fail",
     "make the completion queue larger, or poll it more often"},
    {Finding::kReadWithoutFence, kError, "read-without-fence",
     "a later SEND or WRITE may read its memory before the answer to an earlier READ or atomic has arrived "
     "there",
     "every NIC, sometimes: the peer gets the bytes from before the READ",
     "set IBV_SEND_FENCE on the later request, or poll the READ's completion before you post it"},
    {Finding::kFenceOnTheWrongRequest, kError, "fence-on-the-wrong-request",
     "IBV_SEND_FENCE delays the request that carries it, not those that follow",
     "every NIC, sometimes: the peer gets the bytes from before the READ",
     "set IBV_SEND_FENCE on the request that sends the bytes, not on the READ or atomic that brings them"},
    {Finding::kElementOutsideItsRegion, kError, "element-outside-its-region",
     "a scatter/gather element lies within the memory region that its lkey names",
     "every NIC: the request fails with IBV_WC_LOC_PROT_ERR, on ConnectX after some packets were sent",
     "compare the element's address and length with the ibv_reg_mr() of its lkey"},
    {Finding::kUnknownLocalKey, kError, "unknown-local-key",
     "the lkey of a scatter/gather element names a memory region that is registered",
     "every NIC: the request fails with IBV_WC_LOC_PROT_ERR",
     "take the lkey of the ibv_mr that covers the element, and keep that registered until the completion"},
    {Finding::kRemoteKeyAsLocalKey, kError, "remote-key-as-local-key",
     "the lkey of a region is for elements of its own host, and the rkey for its peers",
     "every NIC: the request fails with IBV_WC_LOC_PROT_ERR",
     "take the lkey from the ibv_mr here, and the rkey from the peer's message"},
    {Finding::kOtherProtectionDomain, kError, "other-protection-domain",
     "a queue pair uses memory regions of its own protection domain",
     "every NIC: the request fails with IBV_WC_LOC_PROT_ERR",
     "register the memory in the protection domain of the queue pair, too"},
    {Finding::kLocalRightMissing, kError, "local-right-missing",
     "what a NIC writes (receives, READs, results of atomics) goes to regions with IBV_ACCESS_LOCAL_WRITE",
     "every NIC: the request fails with IBV_WC_LOC_PROT_ERR",
     "register the memory with IBV_ACCESS_LOCAL_WRITE"},
    {Finding::kMisalignedAtomic, kError, "misaligned-atomic", "an atomic's remote address is a multiple of 8",
     "every NIC: the peer refuses it, or ibv_post_send() fails with EINVAL (rdma_rxe)",
     "align the variable to 8 bytes"},
    {Finding::kReceiveWithoutHeaderRoom, kWarning, "receive-without-header-room",
     "40 bytes for the header stand before the data of each datagram that is received",
     "every NIC: a datagram that has data does not fit, and is lost",
     "make receives of datagrams 40 bytes longer than the data"},
    {Finding::kOrderBetweenQueuePairs, kHint, "order-between-queue-pairs",
     "what is posted to one queue pair may be carried out before what was posted earlier to another one",
     "every NIC, sometimes: the peer sees the flag before the data",
     "write data and flag on the same queue pair, or poll the completion of the data first"},
    {Finding::kBufferChangedBeforeCompletion, kError, "buffer-changed-before-completion",
     "the buffer of a request belongs to the NIC until the program has polled the request's completion",
     "every NIC: it reads the buffer at any time in between, and once more where it sends again, so that the "
     "peer gets the old bytes, the new ones or a mix",
     "poll the completion before you write to the buffer, or use another one meanwhile"},
    {Finding::kPostInWrongState, kError, "post-in-wrong-state",
     "a queue pair takes sends from RTS on, and receives from INIT on",
     "ConnectX: ibv_post_send() says that all is well, and nothing is sent. Elsewhere EINVAL",
     "call ibv_modify_qp() up to RTS (for receives: INIT) before you post"},
    {Finding::kRegionDeregisteredInUse, kError, "region-deregistered-in-use",
     "the memory of a request belongs to the NIC until the program has polled the request's completion",
     "every NIC, sometimes: the request fails with IBV_WC_LOC_PROT_ERR, or the NIC has read other bytes",
     "poll the completion of the last request that uses the region, and then deregister it"},
    {Finding::kAddressHandleDestroyedInUse, kError, "address-handle-destroyed-in-use",
     "an address handle exists until the program has polled the completion of what was sent with it",
     "E810 and others whose address handles are objects of the hardware",
     "poll the completion of the last datagram that uses the handle, and then destroy it"},
    {Finding::kDestroyedWithWorkOutstanding, kWarning, "destroyed-with-work-outstanding",
     "a queue pair that is destroyed takes its completions along",
     "ConnectX and E810: a program that waits for these completions waits forever. rdma_rxe still gives them",
     "move the queue pair to IBV_QPS_ERR, poll until all requests are flushed, and then destroy it"},
    {Finding::kDestroyedBeforeLastWqe, kWarning, "destroyed-before-last-wqe-event",
     "a queue pair in IBV_QPS_ERR may hold receives of its shared receive queue until "
     "IBV_EVENT_QP_LAST_WQE_REACHED",
     "every NIC: receives are lost, or their memory is used after the program has freed it",
     "move the queue pair to IBV_QPS_ERR, wait for the event, poll until nothing comes, and then destroy it"},
    {Finding::kWaitsForDestroyed, kHint, "waits-for-destroyed-queue-pair",
     "a queue pair that is destroyed, or moved to IBV_QPS_RESET, takes its completions along",
     "ConnectX and E810, and urnic: a program that waits for these completions waits forever",
     "move the queue pair to IBV_QPS_ERR, poll until all requests are flushed, and then destroy it"},
    {Finding::kEventsNotAcknowledged, kError, "events-not-acknowledged",
     "a destroy verb waits until each event of its object that the program got is acknowledged", kEverywhere,
     "call ibv_ack_cq_events() or ibv_ack_async_event() once for each event"},
    {Finding::kNoAckTimeout, kWarning, "no-ack-timeout",
     "timeout 0 means that a lost packet is never noticed",
     "every NIC that loses a packet: the queue pair hangs forever",
     "set timeout to 14 or so; retry_cnt says how often it is tried"},
    {Finding::kSleepWithCompletionsWaiting, kError, "sleep-with-completions-waiting",
     "an event tells of completions that come after ibv_req_notify_cq(); for those that wait already "
     "there is none",
     "NICs and drivers that keep to the manual page of ibv_get_cq_event(): the program sleeps until "
     "something else arrives",
     "call ibv_req_notify_cq(), then poll until the queue is empty, then wait for the event"},
    {Finding::kUndefinedFieldRead, kError, "undefined-field-read",
     "of a completion that has failed, only wr_id, status, the number of the queue pair and vendor_err "
     "mean something",
     "ConnectX: the field has what was in it before. E810 and rdma_rxe fill some of them",
     "look at the status first, and find the request by its wr_id"},
    {Finding::kVendorErrorRead, kHint, "vendor-error-read",
     "the numbers in vendor_err are each vendor's own, and one number may have several causes",
     "each NIC has other numbers. urnic and rdma_rxe have 0",
     "decide by the status; print vendor_err for people only"},
    {Finding::kImmediateInHostOrder, kHint, "immediate-in-host-order",
     "imm_data is in network byte order, at both ends", "pairs of hosts of which one has another byte order",
     "send htonl(number), and take ntohl() of what arrives"},
    {Finding::kFatalEventUnread, kWarning, "fatal-event-unread",
     "an object that has failed for good tells so by an asynchronous event, and by nothing else",
     "every NIC: the program waits for what cannot come",
     "call ibv_get_async_event() in a thread, or have async_fd in the loop that polls descriptors"},
    {Finding::kEventUnread, kHint, "event-unread",
     "asynchronous events tell of failed queue pairs, ports that go down, and addresses that change",
     "every NIC: the program notices it later, when requests have failed after all retries",
     "call ibv_get_async_event() in a thread, or have async_fd in the loop that polls descriptors"},
    {Finding::kCompletionEventUnread, kHint, "completion-event-unread",
     "ibv_req_notify_cq() asks for an event that the program takes with ibv_get_cq_event()",
     "every NIC: interrupts for nothing, and a later ibv_get_cq_event() returns at once for an old event",
     "take and acknowledge the event, or leave out ibv_req_notify_cq() where the program polls anyway"},
    {Finding::kUsedAfterDestroy, kError, "used-after-destroy",
     "a handle is not valid any more when the verb that destroys it has returned",
     "every NIC: the library reads memory that is freed, and may be something else by then",
     "set the pointer to NULL where the object is destroyed, and look who still has it"},
    {Finding::kTwoThreadsAtOnce, kError, "two-threads-at-once",
     "an object that was made for a single thread (IBV_CREATE_CQ_ATTR_SINGLE_THREADED, ibv_alloc_td()) is "
     "used by one at a time",
     "ConnectX: its library takes no locks then, and queues are damaged",
     "take a lock around the calls, or make the object without that promise"},
    {Finding::kAcceptedRequestsPostedAgain, kError, "accepted-requests-posted-again",
     "when a post fails, the requests before *bad_wr have been accepted and will be carried out",
     "every NIC: these requests are carried out twice", "post again from *bad_wr on"},
    {Finding::kRefusedRequestWaitedFor, kWarning, "refused-request-waited-for",
     "ibv_post_send() and ibv_post_recv() return 0, or a positive errno value; a request that was refused "
     "has no completion",
     "every NIC: the program waits forever", "compare the returned value with 0, not with < 0"},
    {Finding::kOverlappingTargets, kWarning, "overlapping-targets",
     "requests that are outstanding together may be carried out in any order, and each writes to its own "
     "memory",
     "every NIC, sometimes: bytes of both are mixed",
     "give each receive and each READ memory that no other outstanding one has"},
    {Finding::kWorkRequestIdReused, kHint, "work-request-id-outstanding-twice",
     "a completion is known by its wr_id alone",
     "every NIC, if the wr_id is a pointer to something that is freed at the first completion",
     "give a request that is outstanding a wr_id of its own"},
    {Finding::kResponderResourcesExceeded, kError, "responder-resources-exceeded",
     "no more READs and atomics may be outstanding than max_dest_rd_atomic of the queue pair that answers "
     "them",
     "ConnectX and rdma_rxe: the request is refused, and both queue pairs fail",
     "set max_dest_rd_atomic here (RTR) to at least the peer's max_rd_atomic (RTS)"},
    {Finding::kRegionDeregisteredUnderPeer, kError, "region-deregistered-under-peer",
     "a region stays registered as long as a peer may reach for it",
     "every NIC: the request is refused, and both queue pairs fail. A ConnectX-6 was silent for 1 to 2 ms "
     "before (measured elsewhere)",
     "let the peer say that it is done, or end the connection, and then deregister the region"},
    {Finding::kStaleRemoteKey, kError, "stale-remote-key",
     "an rkey is valid until its region is deregistered; a region that is registered again has another "
     "one",
     "every NIC: the request is refused, and both queue pairs fail",
     "send the peer the new rkey whenever memory is registered again"},
    {Finding::kRemoteRightMissing, kWarning, "remote-right-missing",
     "what a peer does must be allowed by the queue pair (qp_access_flags) and by the region "
     "(ibv_reg_mr())",
     "every NIC: the request is refused, and both queue pairs fail",
     "give the right in both places; IBV_ACCESS_REMOTE_WRITE and _ATOMIC need IBV_ACCESS_LOCAL_WRITE, too"},
    {Finding::kByteSwappedAddress, kWarning, "byte-swapped-address",
     "remote_addr and rkey are in the byte order of the host that posts the request",
     "every NIC: the request is refused, and both queue pairs fail",
     "convert the 64 bits with htobe64() and be64toh() where they are exchanged, not with htonl()"},
    {Finding::kMemoryGone, kError, "memory-gone-while-registered",
     "memory stays mapped as long as it is registered",
     "every NIC: hardware goes on with the pages that were there at registration, and no program sees what "
     "it writes to them",
     "deregister the region first, and then free or unmap its memory"},
    {Finding::kFailedQueuePairUnnoticed, kWarning, "failed-queue-pair-unnoticed",
     "a queue pair that has refused a request of its peer is in IBV_QPS_ERR, and takes nothing any more",
     "every NIC. Only an asynchronous event, flushed receives or ibv_query_qp() tell of it",
     "read ibv_get_async_event() in a thread, or keep receives posted and poll them"},
    {Finding::kReceivePostedLate, kHint, "receive-posted-late",
     "a SEND needs a receive that was posted before; otherwise the peer is told to try again later (RNR)",
     "every NIC: with rnr_retry below 7 the peer gives up after so many tries",
     "post receives before the peer sends, and more of them than it sends at once"},
    {Finding::kDatagramDropped, kHint, "datagram-dropped",
     "a datagram, or a message of an unreliable connection, that finds no receive is dropped, and no end is "
     "told",
     "every NIC, and any network that loses packets",
     "keep receives posted, and let the peers repeat what was not answered"},
    {Finding::kLocalKeyAsRemoteKey, kHint, "local-key-as-remote-key",
     "the rkey of a request is of the peer's region; numbers of this host mean nothing there",
     "every NIC: the peer refuses the request, and both queue pairs fail",
     "put the rkey into the request that the peer has sent"},
    {Finding::kSrqLimitNotArmed, kHint, "srq-limit-not-armed-again",
     "ibv_modify_srq() with IBV_SRQ_LIMIT requests one event, and not the next one",
     "every NIC: the queue runs empty, and peers wait (RNR) or lose datagrams",
     "arm the limit again whenever the event has come and receives are posted"},
    {Finding::kAtomicChanged, kHint, "atomic-changed-otherwise",
     "an atomic of a NIC is atomic towards atomics of the same NIC only (IBV_ATOMIC_HCA), not towards the "
     "processor or a WRITE",
     "every NIC, sometimes: one of two changes is lost",
     "change the variable by atomics of this NIC alone, or while no peer can reach it"},
    {Finding::kUnknownSendFlags, kError, "unknown-send-flags",
     "send_flags has bits of enum ibv_send_flags only",
     "NICs that do not look at them; the next version of the library may give such a bit a meaning",
     "set the whole struct to zero before you fill it"},
    {Finding::kAttributeNotSet, kError, "attribute-not-set",
     "an attribute that the mask names has a value that exists: ports count from 1, and there are five "
     "path MTUs",
     "every NIC: ibv_modify_qp() fails with EINVAL",
     "set the attribute, or leave it out of the mask where it is not needed"},
    {Finding::kAddressWithoutGrh, kWarning, "address-without-grh",
     "RoCE addresses have a GRH: ah_attr.is_global is 1",
     "every RoCE NIC: ibv_modify_qp() or ibv_create_ah() fails. InfiniBand works without",
     "set is_global to 1, and grh.dgid to the peer's GID"},
    {Finding::kGidOfOtherKind, kWarning, "gid-of-other-kind",
     "packets to an IPv4 address come from an IPv4 address; sgid_index chooses which",
     "NICs where the index has another kind of address: the index of a kind differs between NICs, and "
     "moves when addresses change",
     "look for the index with ibv_query_gid_table(), by type and by address"},
    {Finding::kPathMtuAboveActive, kWarning, "path-mtu-above-active-mtu",
     "path_mtu is at most the active_mtu of both ports",
     "NICs whose link carries no more: packets are lost, and retries exceeded",
     "take the smaller active_mtu of both ends"},
    {Finding::kRetryCountOutOfRange, kWarning, "retry-count-out-of-range",
     "retry_cnt and rnr_retry have three bits: 7 is the most",
     "every NIC: the value is cut, or ibv_modify_qp() fails", "set 7 for as often as possible"},
    {Finding::kShortAckTimeout, kHint, "short-ack-timeout", "a NIC may wait longer than timeout says",
     "ConnectX-6 with firmware 20.43 as delivered: below 16 all values count as 16, and retry_cnt 7 gives "
     "up after 3.7 s (measured elsewhere)",
     "do not count on a fast failure; ask the peer by messages of your own"},
    {Finding::kNoRetries, kHint, "no-retries",
     "with retry_cnt 0 a single lost packet ends the connection, and a NIC may still send again",
     "every NIC that loses a packet. ConnectX-6 with firmware 20.43 sent 7 times more, within 2 s "
     "(measured elsewhere)",
     "set retry_cnt to 7, unless a loss is to be an error"},
    {Finding::kMessageTooLongElsewhere, kHint, "message-too-long-elsewhere",
     "max_msg_sz of ibv_query_port() is the longest message",
     "rdma_rxe takes 8 MiB in a message, ConnectX 1 GiB, E810 2 GiB - 1",
     "cut the message into pieces of max_msg_sz"},
    {Finding::kMoreThanSomeNicsHave, kHint, "more-than-some-nics-have",
     "what a NIC has of work requests, elements and inline data differs; ibv_query_device() tells, or "
     "trying",
     "NICs that have less: ibv_create_qp() fails, or ibv_modify_qp()",
     "query the limits, and request less where a queue pair is refused"},
    {Finding::kMissingOnSomeNics, kHint, "missing-on-some-nics",
     "a NIC need not have shared receive queues, XRC, atomics or memory windows",
     "E810: it has none of these but memory windows",
     "look at max_srq, atomic_cap and device_cap_flags of ibv_query_device(), and do without where they "
     "say so"},
    {Finding::kMoreThanMemlock, kHint, "more-than-memlock",
     "registered memory is pinned, and a process may pin as much as RLIMIT_MEMLOCK says",
     "every NIC with a kernel driver: ibv_reg_mr() fails with ENOMEM",
     "raise the limit (ulimit -l), or register less"},
    {Finding::kMemoryUnmapped, kWarning, "memory-unmapped-under-region",
     "memory stays mapped as long as it is registered",
     "every NIC: hardware goes on with the pages that were there at registration, and no program sees what "
     "it writes to them",
     "deregister the region first, and then free or unmap its memory"},
    {Finding::kFileBackedMemory, kHint, "file-backed-memory",
     "a registration pins pages for long, which the kernel refuses for pages that a file system writes back",
     "every NIC with a kernel driver, with newer kernels: ibv_reg_mr() fails",
     "register anonymous memory, or files in tmpfs or hugetlbfs, and copy; or use IBV_ACCESS_ON_DEMAND"},
    {Finding::kForkWithRegisteredMemory, kHint, "fork-with-registered-memory",
     "before Linux 5.12, a page that parent or child writes to after fork() is no longer the one that is "
     "registered",
     "every NIC with a kernel before 5.12: the NIC writes to pages that the program does not see",
     "call ibv_fork_init() before anything else of libibverbs, or start programs with posix_spawn()"},
    {Finding::kRegistrationPerMessage, kHint, "registration-per-message",
     "registering memory costs more than sending it",
     "every NIC with a kernel driver: a registration takes as long as many small messages",
     "register buffers once, and use them again"},
};

constexpr bool is_in_order() {
  std::size_t place = 0;
  for (const FindingRow& row : kRows) {
    if (static_cast<std::size_t>(row.finding) != place++) return false;
  }
  return place == kFindingCount;
}
static_assert(is_in_order());

}  // namespace

std::string_view name_of(FindingLevel level) {
  switch (level) {
    case kHint:
      return "hint";
    case kWarning:
      return "warning";
    case kError:
      return "error";
  }
  return "";
}

const FindingRow& row_of(Finding finding) {
  return kRows[static_cast<std::size_t>(finding)];
}

std::span<const FindingRow> all_findings() {
  return kRows;
}

std::optional<Finding> finding_named(std::string_view name) {
  const auto* const found = std::ranges::find(kRows, name, &FindingRow::name);
  return found == std::end(kRows) ? std::nullopt : std::optional(found->finding);
}

}  // namespace urnic::verbs_api
