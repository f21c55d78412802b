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
    {Finding::kEventsNotAcknowledged, kError, "events-not-acknowledged",
     "a destroy verb waits until each event of its object that the program got is acknowledged", kEverywhere,
     "call ibv_ack_cq_events() or ibv_ack_async_event() once for each event"},
    {Finding::kNoAckTimeout, kWarning, "no-ack-timeout",
     "timeout 0 means that a lost packet is never noticed",
     "every NIC that loses a packet: the queue pair hangs forever",
     "set timeout to 14 or so; retry_cnt says how often it is tried"},
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
