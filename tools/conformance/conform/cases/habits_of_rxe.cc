// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Each of these was seen with Linux 6.1's rdma_rxe, or with 6.12's where that is said. Where a function is
// named, it was read, in the version that is said.
#include "tools/conformance/conform/cases/habits.h"

namespace urnic::conform {
namespace {

constexpr std::string_view kRxe = "rdma_rxe";

constexpr std::string_view kSeen = "seen with Linux 6.1";
constexpr std::string_view kLongSends = "transport/FACTS.md, fact 33";
constexpr std::string_view kNoEvents =
    "Linux before 6.2, rxe_resp.c: raises no event of a queue pair; rxe_comp.c, complete_ack(): tells that a"
    " queue is drained only if that was so before the last answer";
constexpr std::string_view kAlwaysTold =
    "Linux before and after 6.1, rxe_req.c, req_next_wqe(): tells that a queue is drained, asked or not";
constexpr std::string_view kNotRepeated =
    "Linux before and after 6.1, rxe_req.c, req_next_wqe(): in SQD sends nothing again";
constexpr std::string_view kAsleep =
    "Linux before 5.18, rxe_qp.c, rxe_qp_from_attr(): the step from SQD to RTS does not wake the requester";
constexpr std::string_view kNoCredits = "Linux before 6.2, rxe_comp.c: looks at no credits";
constexpr std::string_view kNoKey =
    "Linux before 6.2, rxe_resp.c and rxe_mr.c, copy_data(): memory that is gone, or too short, makes a"
    " malformed work request";
constexpr std::string_view kNoCheckOfLengths =
    "Linux before 6.2, rxe_resp.c, check_length(): looks in the wrong member for First and Last";
constexpr std::string_view kNakAfterRnrNak =
    "Linux before 6.2, rxe_resp.c, check_psn(): an RNR NAK forbids no sequence NAK";
constexpr std::string_view kGoesOnWithMiddle = "transport/FACTS.md, fact 26";
constexpr std::string_view kFutureAnswers =
    "Linux before 6.2, rxe_comp.c, check_psn(): an answer to anything later completes a SEND or a WRITE";
constexpr std::string_view kNoStatus =
    "Linux before 6.2, rxe_comp.c, check_ack(): ends the request and sets no status, which is then success";
constexpr std::string_view kShortResponse =
    "Linux before 6.2, rxe_comp.c, do_read(): waits for the missing bytes until the ACK timeout";
constexpr std::string_view kLongResponse =
    "Linux before 6.2, rxe_comp.c, do_read(): any failure to store it is a local protection error";
constexpr std::string_view kGapInResponses =
    "Linux before 6.2, rxe_comp.c, check_psn(): a gap in the responses is left to the ACK timeout";
constexpr std::string_view kImpliedNak =
    "Linux before 6.2, rxe_comp.c, check_psn(): an RNR NAK after an unanswered READ only repeats the READ";
constexpr std::string_view kNoSqe = "Linux 6.2, rxe_req.c: a failure ends the queue pair; SQE is not known";
constexpr std::string_view kKernelsFlag =
    "Linux after 6.1, rxe_resp.c, do_complete(): gives programs the kernel's IB_WC_WITH_INVALIDATE (4), which"
    " is IBV_WC_IP_CSUM_OK for them";
/// So the case must not go on.
constexpr std::string_view kKernelEnds =
    "the same; and rxe_mw.c, rxe_check_invalidate_mw(): a second SEND with invalidate ends the kernel";
constexpr std::string_view kEachRnrNak =
    "transport/FACTS.md, decisions: each RNR NAK counts, and begins the wait again";
constexpr std::string_view kBrokenMessages =
    "Linux before 6.2, rxe_resp.c, do_class_d1e_error(): drops the message that begins in a broken one";

constexpr std::string_view kSeenLater = "seen with Linux 6.12";
constexpr std::string_view kFailureIsFlush =
    "seen with Linux 6.12; after 6.3, rxe_comp.c, flush_send_wqe(): a request that fails here is reported as"
    " flushed";
constexpr std::string_view kSharedReceives =
    "seen with Linux 6.12; after 6.3, rxe_resp.c, flush_recv_queue(): of a shared queue nothing is flushed";
/// librxe goes on at its own place in the queue.
constexpr std::string_view kOtherPlace =
    "seen with Linux 6.12: RESET takes the kernel to the begin of the queue";

constexpr Habit kHabitsOfRxe[] = {
    // Events, and SQD.
    // Not of cm/*: those events are rdma_cm's.
    {"[!c]*", "no event came", kRxe, kNoEvents, true},
    {"rc/sqd/*", "nothing expected it: event SQ_DRAINED", kRxe, kAlwaysTold},
    {"rc/sqd/during_rnr_wait", "no packet came", kRxe, kNotRepeated},
    {"rc/sqd/retransmits", "no packet came", kRxe, kNotRepeated},
    {"rc/sqd/holds_back_fenced", "no packet came", kRxe, kAsleep},
    {"uc/sqd", "no packet came", kRxe, kAsleep},
    {"ud/sqd", "no packet came", kRxe, kAsleep},
    {"rc/sqd/drains", "no packet came", kRxe, kSeenLater},
    {"rc/sqd/holds_back_reads", "no packet came", kRxe, kSeenLater},
    {"rc/sqd/without_notification", "this came: event SQ_DRAINED", kRxe, kSeenLater},
    {"rc/srq/not_flushed", "came: LAST_WQE_REACHED", kRxe, kSeenLater},
    {"rc/srq/message_begun", "no completion of a receive came", kRxe, kSharedReceives},
    {"rc/state/reset_forgets", "came: WRITE_ONLY psn=600", kRxe, kOtherPlace},

    // Credits.
    {"rc/ack/credits_none_one_send_at_a_time", "> SEND_ONLY psn=202", kRxe, kNoCredits},
    {"rc/sqd/holds_back_without_credit", "> SEND_ONLY psn=202", kRxe, kNoCredits},

    // What is wrong here.
    {"*", "status is LOC_QP_OP_ERR, expected LOC_PROT_ERR", kRxe, kNoKey, true},
    {"rc/access/local_*", "status is WR_FLUSH_ERR, expected", kRxe, kFailureIsFlush},
    {"rc/access/local_protection", "nothing expected it: cqe id=1 status=WR_FLUSH_ERR", kRxe,
     kFailureIsFlush},
    {"rc/window/bind_*", "status is WR_FLUSH_ERR, expected MW_BIND_ERR", kRxe, kFailureIsFlush},
    {"rc/window/type_2_bound_twice", "status is WR_FLUSH_ERR, expected MW_BIND_ERR", kRxe, kFailureIsFlush},
    {"uc/local_invalidate", "status is WR_FLUSH_ERR", kRxe, kFailureIsFlush},
    {"uc/read_is_no_operation", "status is WR_FLUSH_ERR", kRxe, kFailureIsFlush},
    {"uc/sqe", "status is WR_FLUSH_ERR", kRxe, kFailureIsFlush},
    {"ud/send_buffer_gone", "status is WR_FLUSH_ERR", kRxe, kFailureIsFlush},
    {"ud/write_is_no_operation", "status is WR_FLUSH_ERR", kRxe, kFailureIsFlush},
    {"uc/receive_too_small", "rcqe id=7 status=LOC_QP_OP_ERR", kRxe, kNoKey},
    {"ud/*receive_too_small", "rcqe id=7 status=LOC_QP_OP_ERR", kRxe, kNoKey},
    {"rc/access/local_protection", "no completion of a send came", kRxe,
     "Linux before 5.18, rxe_recv.c, check_type_state(): answers that come after a failure are dropped"},
    {"uc/read_is_no_operation", "the state is ERR", kRxe, kNoSqe},
    {"uc/sqe", "the state is ERR", kRxe, kNoSqe},
    {"uc/local_invalidate", "status is LOC_QP_OP_ERR", kRxe,
     "Linux before and after 6.1, rxe_opcode.c: LOCAL_INV is an operation of RC alone"},
    {"ud/send_buffer_gone", "the state is ERR", kRxe, kNoSqe},
    {"ud/write_is_no_operation", "the state is ERR", kRxe, kNoSqe},
    {"rc/state/error_flushes_later_posts", "no completion of a receive came", kRxe,
     "rdma-core, providers/rxe/rxe.c, rxe_post_recv(): tells the kernel nothing"},

    // Requests that are refused.
    {"rc/send/too_long*", "came: NAK_REMOTE_OPERATION", kRxe, kLongSends},
    {"rc/length/mtu_plus_1_receive_send", "came: NAK_REMOTE_OPERATION", kRxe, kLongSends},
    {"rc/length/bad_length_first_short", "no packet came", kRxe, kNoCheckOfLengths},
    {"rc/length/bad_length_first_short", "status is REM_INV_REQ_ERR", kRxe, kSeenLater},
    {"rc/length/bad_length_middle_padded", "no packet came", kRxe, kNoCheckOfLengths},
    {"rc/length/bad_length_send_*_long", "no packet came", kRxe, kNoCheckOfLengths},
    {"rc/length/bad_length_send_last_empty", "came: ACK psn=101", kRxe, kNoCheckOfLengths},
    {"rc/length/bad_length_*_2g", "came: NAK_REMOTE_ACCESS", kRxe, kNoCheckOfLengths},
    {"uc/wrong_lengths", "rcqe id=7 status=SUCCESS opcode=RECV len=1004", kRxe, kNoCheckOfLengths},
    {"rc/send/write_imm_key_*", "status is REM_ACCESS_ERR", kRxe,
     "Linux before 6.2, rxe_resp.c: a key that is refused ends the receive with the peer's status"},
    {"rc/send/write_imm_key_unknown_no_receive", "came: RNR_NAK", kRxe,
     "Linux before 6.2, rxe_resp.c: looks for a receive, and then for the key"},
    {"rc/window/bounds", "came: ACK psn=100", kRxe,
     "Linux after 6.1, rxe_resp.c, check_rkey(): looks at the bounds of the region, not of the window"},
    {"rc/window/invalidate_*", "> ACK psn=", kRxe,
     "Linux before 6.2, rxe_resp.c: acknowledges a SEND that could not invalidate"},
    {"rc/rnr/crossing", "> NAK_SEQUENCE psn=100", kRxe, kNakAfterRnrNak},
    {"rc/rnr/first_of_message", "> NAK_SEQUENCE psn=100", kRxe, kNakAfterRnrNak},
    {"rc/rnr/second_of_three", "> NAK_SEQUENCE psn=101", kRxe, kNakAfterRnrNak},

    // Completions of receives, and datagrams.
    {"rc/window/invalidate_twice", "has-inv is 0, expected 1", kRxe, kKernelEnds},
    {"*", "has-inv is 0, expected 1", kRxe, kKernelsFlag, true},
    {"ud/qkey_of_the_queue_pair", "qkey is 0x80000000", kRxe,
     "Linux before 5.15, rxe_req.c, init_req_packet(): sends the request's Q_Key as it is"},

    // Requests that are repeated.
    {"rc/replay/read_last", "came: READ_RESPONSE_LAST", kRxe, kGoesOnWithMiddle},
    {"rc/replay/read_part", "came: READ_RESPONSE_MIDDLE", kRxe, kGoesOnWithMiddle},
    {"rc/ack/duplicate_behind_atomic", "> ACK psn=101", kRxe, "transport/FACTS.md, fact 25"},
    {"rc/sequence/past_far", "psn is 0xffffff", kRxe,
     "Linux before 5.18, rxe_qp.c, rxe_qp_from_attr(): what it acknowledges begins with PSN 0"},

    // Answers.
    {"rc/ack/of_a_read", "no packet came", kRxe,
     "Linux before 6.2, rxe_comp.c: an ACK with the PSN of a READ completes it"},
    {"rc/ack/of_future", "cqe id=1 status=SUCCESS", kRxe, kFutureAnswers},
    {"rc/nak/sequence_of_future", "cqe id=1 status=SUCCESS", kRxe, kFutureAnswers},
    {"rc/ack/reserved_syndrome", "cqe id=1 status=SUCCESS", kRxe, kNoStatus},
    {"rc/read/answered_by_atomic_acknowledge", "status is SUCCESS", kRxe, kNoStatus},
    {"rc/read/empty_answered_by_atomic_acknowledge", "status is SUCCESS", kRxe, kNoStatus},
    {"rc/read/nak_inside", "status is SUCCESS", kRxe, kNoStatus},
    {"rc/atomic/answered_by_read_response", "no completion of a send came", kRxe,
     "Linux before 6.2, rxe_comp.c, check_ack(): the status is IBV_WC_FATAL_ERR, which no script knows"},
    {"rc/nak/sequence_second_loss", "no packet came", kRxe, "transport/FACTS.md, fact 23"},
    {"rc/nak/reserved", "cqe id=1 status=REM_OP_ERR", kRxe, kSeen},
    {"rc/read/begins_with_middle", "status is SUCCESS", kRxe, kSeen},
    {"rc/read/lost_response", "no packet came", kRxe, kGapInResponses},
    {"rc/read/skipped_response", "no packet came", kRxe, kGapInResponses},
    {"rc/read/response_too_short", "no completion of a send came", kRxe, kShortResponse},
    {"rc/read/last_response_too_short", "no completion of a send came", kRxe, kShortResponse},
    {"rc/state/counter_bad_response", "no completion of a send came", kRxe, kShortResponse},
    {"rc/read/response_too_long", "status is LOC_PROT_ERR", kRxe, kLongResponse},
    {"rc/read/last_response_too_long", "status is LOC_PROT_ERR", kRxe, kLongResponse},

    // RNR NAKs.
    {"rc/rnr/behind_lost_answer", "came: READ_REQUEST psn=200", kRxe, kImpliedNak},
    {"rc/rnr/behind_unanswered_read", "rcvd_rnr_err is 0", kRxe, kImpliedNak},
    {"rc/rnr/inside_write_immediate", "came: WRITE_FIRST psn=200", kRxe,
     "Linux before 6.2, rxe_comp.c: an RNR NAK acknowledges nothing before it"},
    {"rc/rnr/refused_for_less", "came: SEND_ONLY psn=200", kRxe, kEachRnrNak},
    {"rc/rnr/refused_twice", "no packet came", kRxe, kEachRnrNak},
    {"rc/rnr/waits", "came: SEND_ONLY psn=202", kRxe,
     "Linux 6.2, rxe_req.c, rxe_requester(): only repetitions wait for an RNR timer, new requests do not"},

    // UC.
    {"uc/*_lost_*", "no completion of a receive came", kRxe, kBrokenMessages},
    {"uc/middle_lost_write", "memory differs from byte 0", kRxe, kBrokenMessages},
    {"uc/mixed_operations", "no completion of a receive came", kRxe, kBrokenMessages},
    {"uc/repeated_packet", "no completion of a receive came", kRxe, kBrokenMessages},
};

}  // namespace

std::span<const Habit> habits_of_rxe() {
  return kHabitsOfRxe;
}

}  // namespace urnic::conform
