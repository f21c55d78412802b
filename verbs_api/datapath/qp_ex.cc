// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The functions of ibv_qp_ex that put work requests together.
#include <cerrno>
#include <cstdint>
#include <limits>

#include "verbs_api/abi/newer_operations.h"
#include "verbs_api/datapath/post_failure.h"
#include "verbs_api/datapath/send_request.h"
#include "verbs_api/device/context.h"
#include "verbs_api/device/fault_injection.h"
#include "verbs_api/memory/mw.h"
#include "verbs_api/queues/fixed_length.h"
#include "verbs_api/queues/qp.h"
#include "verbs_api/queues/work_request_builder.h"

namespace urnic::verbs_api {

using transport::Access;
using transport::SendOperation;
using transport::SendRequest;

namespace {

WorkRequestBuilder& builder_of(ibv_qp_ex* qp) {
  return *Qp::of(qp).builder;
}

/// A request with what every builder takes from the queue pair's fields.
SendRequest request(const ibv_qp_ex& qp, SendOperation operation) {
  return SendRequest{
      .wr_id = qp.wr_id,
      .operation = operation,
      .signaled = (qp.wr_flags & IBV_SEND_SIGNALED) != 0,
      .solicited = (qp.wr_flags & IBV_SEND_SOLICITED) != 0,
      .fence = (qp.wr_flags & IBV_SEND_FENCE) != 0,
  };
}

SendRequest request(const ibv_qp_ex& qp, SendOperation operation, std::uint32_t rkey, std::uint64_t address) {
  SendRequest result = request(qp, operation);
  result.remote_address = address;
  result.rkey = transport::Rkey{rkey};
  return result;
}

void send(ibv_qp_ex* qp) noexcept {
  builder_of(qp).begin(IBV_QP_EX_WITH_SEND, request(*qp, SendOperation::kSend));
}

void send_with_immediate(ibv_qp_ex* qp, __be32 immediate) noexcept {
  SendRequest send_request = request(*qp, SendOperation::kSendWithImmediate);
  send_request.immediate = immediate;
  builder_of(qp).begin(IBV_QP_EX_WITH_SEND_WITH_IMM, send_request);
}

void write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) noexcept {
  builder_of(qp).begin(IBV_QP_EX_WITH_RDMA_WRITE, request(*qp, SendOperation::kWrite, rkey, address));
}

void write_with_immediate(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address,
                          __be32 immediate) noexcept {
  SendRequest send_request = request(*qp, SendOperation::kWriteWithImmediate, rkey, address);
  send_request.immediate = immediate;
  builder_of(qp).begin(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, send_request);
}

void read(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) noexcept {
  builder_of(qp).begin(IBV_QP_EX_WITH_RDMA_READ, request(*qp, SendOperation::kRead, rkey, address));
}

void send_with_invalidate(ibv_qp_ex* qp, std::uint32_t rkey) noexcept {
  SendRequest send_request = request(*qp, SendOperation::kSendWithInvalidate);
  send_request.invalidate_rkey = transport::Rkey{rkey};
  builder_of(qp).begin(IBV_QP_EX_WITH_SEND_WITH_INV, send_request);
}

void compare_swap(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t compare,
                  std::uint64_t swap) noexcept {
  SendRequest send_request = request(*qp, SendOperation::kCompareSwap, rkey, address);
  send_request.compare = compare;
  send_request.swap_or_add = swap;
  builder_of(qp).begin(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, send_request);
}

void fetch_add(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::uint64_t add) noexcept {
  SendRequest send_request = request(*qp, SendOperation::kFetchAdd, rkey, address);
  send_request.swap_or_add = add;
  builder_of(qp).begin(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, send_request);
}

/// Brings its data along: nothing else sets it.
void atomic_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, const void* data) noexcept {
  WorkRequestBuilder& builder = builder_of(qp);
  builder.begin(IBV_QP_EX_WITH_ATOMIC_WRITE, request(*qp, SendOperation::kAtomicWrite, rkey, address));
  const ibv_data_buf buffer{.addr = const_cast<void*>(data), .length = kAtomicBytes};
  builder.set_inline(&buffer, 1);
}

/// It has no data.
void flush(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::size_t length, std::uint8_t type,
           std::uint8_t level) noexcept {
  constexpr std::uint8_t kTypes = kFlushTypeGlobal | kFlushTypePersistent;
  WorkRequestBuilder& builder = builder_of(qp);
  SendRequest send_request = request(*qp, SendOperation::kFlush, rkey, address);
  send_request.flush = {
      .length = static_cast<std::uint32_t>(length),
      .access = ((type & kFlushTypeGlobal) != 0 ? Access::kFlushGlobal : Access::kNone) |
                ((type & kFlushTypePersistent) != 0 ? Access::kFlushPersistent : Access::kNone),
      .scope = level == kFlushLevelRegion ? transport::FlushScope::kRegion : transport::FlushScope::kRange};
  builder.begin(kQpExWithFlush, send_request);
  const bool is_known = type != 0 && (type & ~kTypes) == 0 && level <= kFlushLevelRegion;
  if (!is_known || length > std::numeric_limits<std::uint32_t>::max()) builder.spoil(EINVAL);
}

void local_invalidate(ibv_qp_ex* qp, std::uint32_t rkey) noexcept {
  SendRequest send_request = request(*qp, SendOperation::kLocalInvalidate);
  send_request.invalidate_rkey = transport::Rkey{rkey};
  builder_of(qp).begin(IBV_QP_EX_WITH_LOCAL_INV, send_request);
}

void bind_window(ibv_qp_ex* qp, ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info* info) noexcept {
  SendRequest send_request = request(*qp, SendOperation::kBindWindow);
  const auto binding = to_type_2_binding(mw, rkey, *info);
  if (binding) send_request.binding = binding.value();
  builder_of(qp).begin(IBV_QP_EX_WITH_BIND_MW, send_request);
  if (!binding) return builder_of(qp).spoil(binding.error());
  show_key(*mw, send_request.binding.new_rkey);  // before the batch is complete, which may still be aborted
}

void set_datagram_address(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t remote_qpn,
                          std::uint32_t remote_qkey) noexcept {
  const auto destination = to_destination(qp->qp_base, ah, remote_qpn, remote_qkey);
  if (destination) {
    builder_of(qp).set_destination(destination.value());
  } else {
    builder_of(qp).spoil(destination.error());
  }
}

void set_xrc_srq(ibv_qp_ex* qp, std::uint32_t number) noexcept {
  builder_of(qp).set_xrc_srq(number);
}

void set_sge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) noexcept {
  const ibv_sge sge{.addr = address, .length = length, .lkey = lkey};
  builder_of(qp).set_sges(&sge, 1);
}

void set_sge_list(ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) noexcept {
  builder_of(qp).set_sges(list, count);
}

void set_inline_data(ibv_qp_ex* qp, void* address, std::size_t length) noexcept {
  const ibv_data_buf buffer{.addr = address, .length = length};
  builder_of(qp).set_inline(&buffer, 1);
}

void set_inline_data_list(ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* list) noexcept {
  builder_of(qp).set_inline(list, count);
}

void start(ibv_qp_ex* qp) noexcept {
  const Context& owner = Context::of(qp->qp_base.context);
  builder_of(qp).start(owner.is_dead() ? owner.dead_error() : 0);
}
int complete(ibv_qp_ex* qp) noexcept {
  const int error = builder_of(qp).complete();
  if (error != 0) [[unlikely]] {
    explain_built(qp->qp_base, error);
  }
  return error;
}
void abort(ibv_qp_ex* qp) noexcept {
  builder_of(qp).abort();
}

}  // namespace

std::uint64_t offered_send_operations(nic::QpType type) {
  constexpr std::uint64_t kSends = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  constexpr std::uint64_t kUnacknowledged = kSends | IBV_QP_EX_WITH_RDMA_WRITE |
                                            IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_LOCAL_INV |
                                            IBV_QP_EX_WITH_BIND_MW;
  switch (type) {
    case nic::QpType::kRc:
    case nic::QpType::kXrcInitiator:
      return kUnacknowledged | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_READ |
             IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
             IBV_QP_EX_WITH_ATOMIC_WRITE | kQpExWithFlush;
    case nic::QpType::kUc:
      return kUnacknowledged;
    case nic::QpType::kUd:
      return kSends;
    case nic::QpType::kRawPacket:
      return IBV_QP_EX_WITH_SEND;
    case nic::QpType::kXrcTarget:
    case nic::QpType::kRss:
    case nic::QpType::kWorkQueue:
      break;
  }
  return 0;
}

void fill_builders(QpExWithFlush& qp) {
  qp.wr_start = start;
  qp.wr_complete = complete;
  qp.wr_abort = abort;

  qp.wr_send = send;
  qp.wr_send_imm = send_with_immediate;
  qp.wr_rdma_write = write;
  qp.wr_rdma_write_imm = write_with_immediate;
  qp.wr_rdma_read = read;
  qp.wr_set_sge = set_sge;
  qp.wr_set_sge_list = set_sge_list;
  qp.wr_set_inline_data = set_inline_data;
  qp.wr_set_inline_data_list = set_inline_data_list;

  qp.wr_atomic_cmp_swp = compare_swap;
  qp.wr_atomic_fetch_add = fetch_add;
  qp.wr_atomic_write = atomic_write;
  qp.wr_flush = flush;
  qp.wr_bind_mw = bind_window;
  qp.wr_local_inv = local_invalidate;
  qp.wr_send_inv = send_with_invalidate;
  qp.wr_set_ud_addr = set_datagram_address;
  qp.wr_set_xrc_srqn = set_xrc_srq;

  qp.wr_send_tso = [](ibv_qp_ex* it, void*, std::uint16_t, std::uint16_t) {
    builder_of(it).spoil(EOPNOTSUPP);
  };
  inject_faults(static_cast<ibv_qp_ex&>(qp));
}

}  // namespace urnic::verbs_api
