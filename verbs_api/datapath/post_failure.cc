// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/datapath/post_failure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "nic/diagnostics/snapshot_names.h"
#include "nic/queues/posting.h"
#include "transport/qp_state.h"
#include "verbs_api/abi/untrusted_enum.h"
#include "verbs_api/datapath/send_request.h"
#include "verbs_api/device/failure.h"
#include "verbs_api/device/process_devices.h"
#include "verbs_api/queues/fixed_length.h"
#include "verbs_api/queues/qp.h"
#include "verbs_api/queues/sge_array.h"
#include "verbs_api/queues/srq.h"
#include "verbs_api/queues/wq.h"

namespace urnic::verbs_api {
namespace {

using transport::SendRequest;

/// In the order in which posting looks for them.
enum class PostReason : std::uint8_t {
  kOpcode,
  kAddress,
  kFlags,
  kElementCount,
  kInlineUseless,
  kFixedLength,
  kState,
  kNotOfType,
  kFull,
  kTooManyElements,
  kInlineTooLong,
  kTooLong,
  kOther,
};

struct PostFault {
  PostReason reason = PostReason::kOther;
  std::string words{};
};

std::string queue_name(const ibv_qp& qp) {
  return fmt::format("QP {:#08x}", qp.qp_num);
}

transport::QpState posting_state_of(const nic::QueuePair& qp) {
  return qp.query().state.value_or(transport::QpState::kReset);
}

template <typename WorkRequest>
std::uint64_t bytes_of(const WorkRequest& wr) {
  std::uint64_t length = 0;
  for (int i = 0; i < wr.num_sge; ++i) length += wr.sg_list[i].length;
  return length;
}

PostFault full_queue(const char* queue, std::uint32_t room) {
  return {PostReason::kFull,
          fmt::format(
              "the {} queue is full: {} work requests are posted and not complete; poll completions first, "
              "or make the queue pair with more",
              queue, room)};
}

PostFault too_many_elements(int count, std::uint32_t most, const char* limit) {
  return {PostReason::kTooManyElements,
          fmt::format("num_sge is {}, and the queue takes {} ({})", count, most, limit)};
}

PostFault impossible_count(int count) {
  return {PostReason::kElementCount,
          fmt::format("num_sge is {}, and a work request has 0 to {}", count, +SgeArray::kCapacity)};
}

PostFault too_long(std::uint64_t length) {
  return {PostReason::kTooLong,
          fmt::format("it has {} bytes, and a message has at most {}", length, +transport::kMaxMessageBytes)};
}

PostFault wrong_state(const char* what, transport::QpState state, const char* allowed) {
  return {PostReason::kState, fmt::format("{} in {}: {}", what, transport::name_of(state), allowed)};
}

/// What is wrong with a work request that could not even be read.
PostFault unreadable(const ibv_qp& qp, nic::QpType type, const ibv_send_wr& wr, int error) {
  if (type == nic::QpType::kUd && wr.wr.ud.ah == nullptr) {
    return {PostReason::kAddress, "wr.ud.ah is null, and a datagram needs an address handle"};
  }
  if (type == nic::QpType::kUd && wr.wr.ud.remote_qpn > transport::kMaxQpNumber) {
    return {PostReason::kAddress,
            fmt::format("wr.ud.remote_qpn is {:#x}, which has more than 24 bits", wr.wr.ud.remote_qpn)};
  }
  SendRequest request;
  ibv_send_wr plain = wr;
  plain.wr = {};
  if (read_request(qp, nic::QpType::kRc, plain, request) == 0) {
    return {PostReason::kAddress, "qp_type.xrc.remote_srqn has more than 24 bits"};
  }
  return {PostReason::kOpcode,
          fmt::format("opcode {} is {}", number_in(wr.opcode),
                      error == EOPNOTSUPP ? "not offered" : "none, or its operands are wrong")};
}

PostFault why_not_sent(const ibv_qp& qp, const ibv_send_wr& wr, int error) {
  constexpr unsigned kKnownFlags = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
  const nic::QueuePair& inner = *Qp::of(const_cast<ibv_qp*>(&qp)).inner;
  const nic::QpType type = inner.attributes().type;
  const nic::QpCapabilities& room = inner.attributes().capabilities;
  SendRequest request;
  if (read_request(qp, type, wr, request) != 0) return unreadable(qp, type, wr, error);
  const std::string operation(name_of(request.operation));
  if (const unsigned others = wr.send_flags & ~kKnownFlags; others != 0) {
    return {PostReason::kFlags, fmt::format("send_flags has bits {:#x}, which are not offered", others)};
  }
  if (wr.num_sge < 0 || static_cast<std::size_t>(wr.num_sge) > SgeArray::kCapacity) {
    return impossible_count(wr.num_sge);
  }
  const bool is_inline = (wr.send_flags & IBV_SEND_INLINE) != 0;
  if (is_inline && (is_local(request.operation) || !sends_data(request.operation))) {
    return {PostReason::kInlineUseless,
            fmt::format("IBV_SEND_INLINE with {}, which sends no data of its own", operation)};
  }
  const SgeArray sges(wr.sg_list, static_cast<std::size_t>(wr.num_sge));
  if (!is_local(request.operation) && !is_right_length(request, sges.elements())) {
    return {PostReason::kFixedLength, fmt::format("{} moves {} bytes, and its elements have {}", operation,
                                                  kAtomicBytes, bytes_of(wr))};
  }
  const transport::QpState state = posting_state_of(inner);
  if (!nic::may_post_sends(state)) {
    return wrong_state("the queue pair is", state, "sends are posted in RTS, and in SQD, SQE and ERR");
  }
  if (!nic::can_post(type, request.operation)) {
    return {PostReason::kNotOfType,
            fmt::format("a queue pair of type {} has no {}", nic::name_of(type), operation)};
  }
  if (error == ENOMEM) return full_queue("send", room.max_send_wr);
  if (!is_inline && static_cast<std::uint32_t>(wr.num_sge) > room.max_send_sge) {
    return too_many_elements(wr.num_sge, room.max_send_sge, "cap.max_send_sge");
  }
  const std::uint64_t length = bytes_of(wr);
  if (is_inline && length > room.max_inline_data) {
    return {PostReason::kInlineTooLong,
            fmt::format(
                "IBV_SEND_INLINE with {} bytes, and the queue takes {} inline (cap.max_inline_data): send it "
                "from registered memory, or make the queue pair with more",
                length, room.max_inline_data)};
  }
  if (length > transport::kMaxMessageBytes) return too_long(length);
  return {};
}

/// Of a receive queue of `room` work requests with `sges` elements each.
PostFault why_no_receive(const ibv_recv_wr& wr, int error, std::uint32_t room, std::uint32_t sges,
                         const char* limit) {
  if (wr.num_sge < 0 || static_cast<std::size_t>(wr.num_sge) > SgeArray::kCapacity) {
    return impossible_count(wr.num_sge);
  }
  if (error == ENOMEM) return full_queue("receive", room);
  if (static_cast<std::uint32_t>(wr.num_sge) > sges) return too_many_elements(wr.num_sge, sges, limit);
  if (bytes_of(wr) > transport::kMaxMessageBytes) return too_long(bytes_of(wr));
  return {};
}

PostFault why_not_received(const nic::QueuePair& inner, const ibv_recv_wr& wr, int error) {
  const nic::QpCapabilities& room = inner.attributes().capabilities;
  const transport::QpState state = posting_state_of(inner);
  if (wr.num_sge >= 0 && !nic::may_post_receives(state)) {
    return wrong_state("the queue is", state, "receives are posted from INIT on");
  }
  if (inner.attributes().srq != nullptr) {
    return {PostReason::kNotOfType, "the queue pair has a shared receive queue: use ibv_post_srq_recv()"};
  }
  return why_no_receive(wr, error, room.max_receive_wr, room.max_receive_sge, "max_recv_sge");
}

/// Whether there is a line to write: not about a context that is dead, which has its own.
bool is_told(int error) {
  return error != EIO && ProcessDevices::instance().tells_of_errors();
}

void tell_once(ToldOnce& told, const char* verb, const std::string& queue, std::uint64_t wr_id, int error,
               const PostFault& fault) {
  if (!told.is_first(static_cast<unsigned>(fault.reason))) return;
  const std::string words = fault.words.empty() ? "it is nothing that this queue takes" : fault.words;
  explain(verb, {.code = error, .message = fmt::format("{}, wr_id {}: {}", queue, wr_id, words)});
}

}  // namespace

void explain_post(ibv_qp& qp, const ibv_send_wr& wr, int error) {
  if (!is_told(error)) return;
  tell_once(Qp::of(&qp).told_of_sends, "post_send", queue_name(qp), wr.wr_id, error,
            why_not_sent(qp, wr, error));
}

void explain_post(ibv_qp& qp, const ibv_recv_wr& wr, int error) {
  if (!is_told(error)) return;
  tell_once(Qp::of(&qp).told_of_receives, "post_recv", queue_name(qp), wr.wr_id, error,
            why_not_received(*Qp::of(&qp).inner, wr, error));
}

void explain_post(ibv_srq& srq, const ibv_recv_wr& wr, int error) {
  if (!is_told(error)) return;
  const nic::SharedReceiveQueue& inner = *Srq::of(&srq).inner;
  tell_once(Srq::of(&srq).told_of_receives, "post_srq_recv", fmt::format("SRQ {}", inner.number()), wr.wr_id,
            error, why_no_receive(wr, error, inner.size().max_wr, inner.attributes().max_sge, "max_sge"));
}

void explain_post(ibv_wq& wq, const ibv_recv_wr& wr, int error) {
  if (!is_told(error)) return;
  tell_once(Wq::of(&wq).told_of_receives, "post_wq_recv", fmt::format("WQ {:#08x}", wq.wq_num), wr.wr_id,
            error, why_not_received(*Wq::of(&wq).inner, wr, error));
}

void explain_built(ibv_qp& qp, int error) {
  if (!is_told(error)) return;
  Qp& own_qp = Qp::of(&qp);
  const nic::QpCapabilities& room = own_qp.inner->attributes().capabilities;
  const transport::QpState state = posting_state_of(*own_qp.inner);
  PostFault fault;
  if (!nic::may_post_sends(state)) {
    fault = wrong_state("the queue pair is", state, "sends are posted in RTS, and in SQD, SQE and ERR");
  } else if (error == ENOMEM) {
    fault = full_queue("send", room.max_send_wr);
  } else if (error == EOPNOTSUPP) {
    fault = {PostReason::kOpcode, "an operation that was not named in send_ops_flags"};
  } else {
    fault = {
        PostReason::kOther,
        fmt::format("a work request that lacks its address or data, has more than {} elements, more than {} "
                    "bytes inline, or another length than its operation",
                    room.max_send_sge, room.max_inline_data)};
  }
  if (!own_qp.told_of_sends.is_first(static_cast<unsigned>(fault.reason))) return;
  explain("wr_complete", {.code = error, .message = fmt::format("{}: {}", queue_name(qp), fault.words)});
}

}  // namespace urnic::verbs_api
