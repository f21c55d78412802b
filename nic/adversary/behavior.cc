// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/adversary/behavior.h"

#include <array>

namespace urnic::nic {
namespace {

constexpr std::array<BehaviorRow, kBehaviorCount> kBehaviors{{
    {.behavior = Behavior::kLatePayload,
     .name = "late-payload",
     .what = "A request waits before the NIC looks at it, so that its payload is read late.",
     .rule = "Buffers belong to the NIC until the completion was polled (ibv_post_send(3)).",
     .exposes = "A buffer is changed or freed before its completion."},
    {.behavior = Behavior::kSlowQueuePair,
     .name = "slow-queue-pair",
     .what = "A queue pair sends no requests for a while, between two messages or within one.",
     .rule = "Queue pairs have no order among each other (InfiniBand; cards schedule them in turns).",
     .exposes = "Data go by one queue pair, and the word that they are there by another."},
    {.behavior = Behavior::kSlowRead,
     .name = "slow-read",
     .what = "The memory that a READ asks for is read packet by packet, with pauses.",
     .rule = "A READ is no snapshot: cards read memory packet by packet, and again when they retransmit.",
     .exposes = "A READ of something that changes is taken without a version or a checksum."},
    {.behavior = Behavior::kLatePlacement,
     .name = "late-placement",
     .what = "Packets of a WRITE, SEND or READ response reach memory late and in any order.",
     .rule = "Bytes of a message have no order until a completion (ibv_query_qp_data_in_order(3)).",
     .exposes = "The program looks at memory instead of a completion."},
    {.behavior = Behavior::kLastBytesFirst,
     .name = "last-bytes-first",
     .what = "A packet is placed in pieces of 64 bytes, the last one first.",
     .rule = "Bytes of a message have no order until a completion (ibv_query_qp_data_in_order(3)).",
     .exposes = "The program waits for the last byte and then takes the rest for complete."},
    {.behavior = Behavior::kLateCompletion,
     .name = "late-completion",
     .what = "Completions are held back for a while, and then come together.",
     .rule = "No time is promised; ibv_poll_cq() may find fewer than one expects (ibv_poll_cq(3)).",
     .exposes = "The program polls once, or so many times, and gives up."},
    {.behavior = Behavior::kCompletionsInParts,
     .name = "completions-in-parts",
     .what = "Completions that are there come in several parts.",
     .rule = "ibv_poll_cq() returns what it finds (ibv_poll_cq(3)).",
     .exposes = "All completions are expected in one poll, or one for each event."},
    {.behavior = Behavior::kQueuesOutOfOrder,
     .name = "queues-out-of-order",
     .what = "Completions of different queues change places; each queue keeps its order.",
     .rule = "Only completions of one queue are in order (InfiniBand, completion ordering).",
     .exposes = "A reply is expected after the completion of the request, or queue pairs in turn."},
    {.behavior = Behavior::kGarbageInUndefinedFields,
     .name = "garbage-in-undefined-fields",
     .what = "Fields of a completion that mean nothing have random values.",
     .rule = "After an error only wr_id, status, qp_num and vendor_err are valid (ibv_poll_cq(3)); "
             "mlx5 leaves the others as they were (rdma-core, providers/mlx5/cq.c).",
     .exposes = "The program looks at opcode or byte_len before status."},
    {.behavior = Behavior::kCompletionAfterDestroy,
     .name = "completion-after-destroy",
     .what = "Completions of a destroyed queue pair stay and are still polled.",
     .rule = "rdma_rxe is known to leave them in the queue; mlx5 takes them out (rdma-core, "
             "providers/mlx5/cq.c).",
     .exposes = "What wr_id points to is freed with the queue pair."},
    {.behavior = Behavior::kLateCompletionEvent,
     .name = "late-completion-event",
     .what = "The completion event comes long after its completion.",
     .rule = "No time is promised (ibv_get_cq_event(3)).",
     .exposes = "The program waits for an event with a short limit."},
    {.behavior = Behavior::kSpuriousCompletionEvent,
     .name = "spurious-completion-event",
     .what = "A completion event comes, and there is no completion.",
     .rule = "An event may be of a completion that was polled before (ibv_get_cq_event(3)).",
     .exposes = "Each event is taken for a completion."},
    {.behavior = Behavior::kNoEventForWaiting,
     .name = "no-event-for-waiting",
     .what = "Completions that wait when the queue is armed raise no event.",
     .rule = "Only a completion that is added to the queue later raises one (ibv_req_notify_cq(3)).",
     .exposes = "The program polls, arms, and sleeps without another poll."},
    {.behavior = Behavior::kLateFlush,
     .name = "late-flush",
     .what = "Requests of a queue pair that was taken to ERR are flushed a while later.",
     .rule = "No time is promised; Linux flushes for irdma 20 ms later (drivers/infiniband/hw/irdma).",
     .exposes = "The program drains the queue with few polls and frees what is in use."},
    {.behavior = Behavior::kExactRoom,
     .name = "exact-room",
     .what = "Queues have exactly the room that was requested.",
     .rule = "The size is at least the requested one (ibv_create_qp(3), ibv_create_cq(3)).",
     .exposes = "The program uses more room than it requested."},
    {.behavior = Behavior::kDifferentKeys,
     .name = "different-keys",
     .what = "lkey and rkey of a memory region are different numbers.",
     .rule = "They are two fields (ibv_reg_mr(3)); EFA has two numbers (rdma-core, providers/efa).",
     .exposes = "One key is given where the other one belongs."},
    {.behavior = Behavior::kGarbageInQuery,
     .name = "garbage-in-query",
     .what = "ibv_query_qp() gives random values for attributes that the mask does not name.",
     .rule = "The mask says which attributes are returned at least (ibv_query_qp(3)).",
     .exposes = "The program uses attributes that it has not requested."},
    {.behavior = Behavior::kSlowControlVerbs,
     .name = "slow-control-verbs",
     .what = "Verbs that make, change or end objects take up to 5 ms.",
     .rule = "No time is promised; firmware takes from 0.1 to some ms.",
     .exposes = "They are called in the data path, or under a lock that others need."},
    {.behavior = Behavior::kUnexpectedEvents,
     .name = "unexpected-events",
     .what = "Asynchronous events come that mean no harm, such as GID_CHANGE or CLIENT_REREGISTER.",
     .rule = "They may come at any time (ibv_get_async_event(3)).",
     .exposes = "Any event is taken for fatal, or is not acknowledged."},
    {.behavior = Behavior::kLostPackets,
     .name = "lost-packets",
     .what = "Packets of reliable connections get lost, and are read and sent again.",
     .rule = "Networks lose packets; the retry count bears it (ibv_modify_qp(3)).",
     .exposes = "Timing, and buffers that change before their completion."},
    {.behavior = Behavior::kDuplicatedPackets,
     .name = "duplicated-packets",
     .what = "Packets of reliable connections come twice.",
     .rule = "Retransmission makes copies; receivers drop them (InfiniBand).",
     .exposes = "Timing."},
    {.behavior = Behavior::kReorderedPackets,
     .name = "reordered-packets",
     .what = "Packets of reliable connections overtake each other.",
     .rule = "Networks with several ways reorder; receivers ask again (InfiniBand).",
     .exposes = "Timing, and buffers that change before their completion."},
    {.behavior = Behavior::kLostDatagrams,
     .name = "lost-datagrams",
     .what = "Packets of UD and UC queue pairs get lost.",
     .rule = "These services are unreliable (InfiniBand).",
     .exposes = "Every datagram is expected to arrive.",
     .is_usual = false},
}};

constexpr bool has_each_in_its_place() {
  for (std::size_t i = 0; i < kBehaviors.size(); ++i) {
    if (kBehaviors[i].behavior != static_cast<Behavior>(i)) return false;
  }
  return true;
}
static_assert(has_each_in_its_place());

}  // namespace

std::span<const BehaviorRow> all_behaviors() {
  return kBehaviors;
}

const BehaviorRow& row_of(Behavior behavior) {
  return kBehaviors[static_cast<std::size_t>(behavior)];
}

std::optional<Behavior> behavior_named(std::string_view name) {
  for (const BehaviorRow& row : kBehaviors) {
    if (row.name == name) return row.behavior;
  }
  return std::nullopt;
}

}  // namespace urnic::nic
