// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/adversary/garbage.h"

#include <cstring>

namespace urnic::verbs_api {
namespace {

using nic::Behavior;
using transport::Completion;
using transport::CompletionOpcode;
using transport::CompletionStatus;

constexpr Behavior kInCompletion = Behavior::kGarbageInUndefinedFields;

/// One random number after the other.
class Garbage {
 public:
  explicit Garbage(std::uint64_t first) : number_(first) {}
  std::uint64_t next() { return number_ = nic::spread(number_); }
  template <typename Field>
  void put(Field& field) {
    // By its bytes, as an enumeration may have any value in memory only.
    const std::uint64_t drawn = next();
    static_assert(sizeof field <= sizeof drawn);
    std::memcpy(&field, &drawn, sizeof field);
  }

 private:
  std::uint64_t number_;
};

bool has_failed(const Completion& completion) {
  return completion.status != CompletionStatus::kSuccess;
}

/// A datagram's has the sender's number and address; a connection's completion needs neither.
bool is_of_datagram(const Completion& completion) {
  return completion.has_grh;
}

/// Of a send only what was read, or an atomic's result.
bool has_length(const Completion& completion) {
  return transport::is_receive(completion.opcode) || completion.opcode == CompletionOpcode::kRdmaRead ||
         completion.opcode == CompletionOpcode::kCompareSwap ||
         completion.opcode == CompletionOpcode::kFetchAdd;
}

}  // namespace

void spoil(ibv_wc& wc, const Completion& completion, nic::Adversary& adversary, std::uint64_t ordinal) {
  if (!adversary.strikes(kInCompletion, 0, ordinal, 2)) return;
  Garbage garbage(adversary.number(kInCompletion, 0, ordinal));
  const bool is_failed = has_failed(completion);
  if (is_failed) {
    garbage.put(wc.opcode);
    garbage.put(wc.wc_flags);
  } else {
    garbage.put(wc.vendor_err);
  }
  if (is_failed || !has_length(completion)) garbage.put(wc.byte_len);
  if (is_failed || (!completion.has_immediate && !completion.has_invalidate)) garbage.put(wc.imm_data);
  if (is_failed || !is_of_datagram(completion)) {
    garbage.put(wc.src_qp);
    garbage.put(wc.pkey_index);
    garbage.put(wc.slid);
    garbage.put(wc.sl);
    garbage.put(wc.dlid_path_bits);
  }
  adversary.note(kInCompletion, "queue pair", to_integer(completion.qp_number), "completion", ordinal);
}

void spoil(Completion& completion, nic::Adversary& adversary, std::uint64_t ordinal) {
  if (!adversary.strikes(kInCompletion, 0, ordinal, 2)) return;
  Garbage garbage(adversary.number(kInCompletion, 0, ordinal));
  const bool is_failed = has_failed(completion);
  if (is_failed || !has_length(completion)) garbage.put(completion.byte_length);
  if (is_failed || (!completion.has_immediate && !completion.has_invalidate)) {
    garbage.put(completion.immediate);
  }
  if (is_failed || !is_of_datagram(completion)) garbage.put(completion.source_qp);
  adversary.note(kInCompletion, "queue pair", to_integer(completion.qp_number), "completion", ordinal);
}

void spoil_unrequested(ibv_qp_attr& attributes, int mask, nic::Adversary& adversary,
                       std::uint32_t qp_number) {
  if (!adversary.does(Behavior::kGarbageInQuery)) return;
  Garbage garbage(adversary.number(Behavior::kGarbageInQuery, 0, qp_number));
  const auto spoil_unless = [&](int named, auto& field) {
    if ((mask & named) == 0) garbage.put(field);
  };
  spoil_unless(IBV_QP_STATE, attributes.qp_state);
  spoil_unless(IBV_QP_CUR_STATE, attributes.cur_qp_state);
  spoil_unless(IBV_QP_PATH_MTU, attributes.path_mtu);
  spoil_unless(IBV_QP_QKEY, attributes.qkey);
  spoil_unless(IBV_QP_RQ_PSN, attributes.rq_psn);
  spoil_unless(IBV_QP_SQ_PSN, attributes.sq_psn);
  spoil_unless(IBV_QP_DEST_QPN, attributes.dest_qp_num);
  spoil_unless(IBV_QP_ACCESS_FLAGS, attributes.qp_access_flags);
  spoil_unless(IBV_QP_PKEY_INDEX, attributes.pkey_index);
  spoil_unless(IBV_QP_MAX_QP_RD_ATOMIC, attributes.max_rd_atomic);
  spoil_unless(IBV_QP_MAX_DEST_RD_ATOMIC, attributes.max_dest_rd_atomic);
  spoil_unless(IBV_QP_MIN_RNR_TIMER, attributes.min_rnr_timer);
  spoil_unless(IBV_QP_PORT, attributes.port_num);
  spoil_unless(IBV_QP_TIMEOUT, attributes.timeout);
  spoil_unless(IBV_QP_RETRY_CNT, attributes.retry_cnt);
  spoil_unless(IBV_QP_RNR_RETRY, attributes.rnr_retry);
  adversary.note(Behavior::kGarbageInQuery, "queue pair", qp_number, "mask",
                 static_cast<std::uint64_t>(mask));
}

}  // namespace urnic::verbs_api
