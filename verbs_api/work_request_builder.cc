#include "verbs_api/work_request_builder.h"

#include <cerrno>
#include <cstdint>
#include <limits>

#include "verbs_api/context.h"
#include "verbs_api/post.h"
#include "verbs_api/qp.h"
#include "verbs_api/sge_array.h"

namespace urnic::verbs_api {

using nic::PostStatus;
using transport::SendOperation;
using transport::SendRequest;

void WorkRequestBuilder::start(int error) {
  started_ = error == 0;
  if (started_) {
    building_.lock();
    batch_.emplace(qp_);
  }
  pending_.reset();
  error_ = error;
}

int WorkRequestBuilder::complete() {
  post_pending();
  const int error = error_;
  if (started_ && error != 0) {
    batch_->abort();
  }
  finish();
  return error;
}

void WorkRequestBuilder::abort() {
  if (started_) {
    batch_->abort();
  }
  finish();
}

void WorkRequestBuilder::finish() {
  if (started_) {
    batch_.reset();  // publishes what was not aborted
    building_.unlock();
  }
}

void WorkRequestBuilder::begin(std::uint64_t needed, const SendRequest& request) {
  post_pending();
  if ((operations_ & needed) == 0) {
    spoil(EOPNOTSUPP);
  }
  pending_ = request;
}

void WorkRequestBuilder::set_sges(const ibv_sge* list, std::size_t count) {
  if (!pending_ || count > SgeArray::kCapacity) {
    spoil(EINVAL);
  }
  if (error_ != 0) {
    return;
  }
  const SgeArray sges(list, count);
  note(batch_->post(*pending_, sges.elements()));
  pending_.reset();
}

void WorkRequestBuilder::set_inline(const ibv_data_buf* list, std::size_t count) {
  if (!pending_ || !sends_data(pending_->operation) || count > SgeArray::kCapacity) {
    spoil(EINVAL);
  }
  if (error_ != 0) {
    return;
  }
  SgeArray sges;
  for (std::size_t i = 0; i < count; ++i) {
    if (list[i].length > std::numeric_limits<std::uint32_t>::max()) {
      spoil(EINVAL);
      return;
    }
    sges.add({.address = reinterpret_cast<std::uintptr_t>(list[i].addr),
              .length = static_cast<std::uint32_t>(list[i].length)});
  }
  note(batch_->post_inline(*pending_, sges.elements()));
  pending_.reset();
}

void WorkRequestBuilder::spoil(int error) {
  if (error_ == 0) {
    error_ = error;
  }
}

void WorkRequestBuilder::post_pending() {
  if (pending_ && error_ == 0) {
    note(batch_->post(*pending_, {}));
  }
  pending_.reset();
}

void WorkRequestBuilder::note(PostStatus status) {
  if (status != PostStatus::kPosted) {
    spoil(errno_of(status));
  }
}

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
  SendRequest wanted = request(*qp, SendOperation::kSendWithImmediate);
  wanted.immediate = immediate;
  builder_of(qp).begin(IBV_QP_EX_WITH_SEND_WITH_IMM, wanted);
}

void write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) noexcept {
  builder_of(qp).begin(IBV_QP_EX_WITH_RDMA_WRITE, request(*qp, SendOperation::kWrite, rkey, address));
}

void write_with_immediate(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address,
                          __be32 immediate) noexcept {
  SendRequest wanted = request(*qp, SendOperation::kWriteWithImmediate, rkey, address);
  wanted.immediate = immediate;
  builder_of(qp).begin(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, wanted);
}

void read(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) noexcept {
  builder_of(qp).begin(IBV_QP_EX_WITH_RDMA_READ, request(*qp, SendOperation::kRead, rkey, address));
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
  return builder_of(qp).complete();
}
void abort(ibv_qp_ex* qp) noexcept {
  builder_of(qp).abort();
}

void not_offered(ibv_qp_ex* qp) {
  builder_of(qp).spoil(EOPNOTSUPP);
}

}  // namespace

void fill_builders(ibv_qp_ex& qp) {
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

  qp.wr_atomic_cmp_swp = [](ibv_qp_ex* it, std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t) {
    not_offered(it);
  };
  qp.wr_atomic_fetch_add = [](ibv_qp_ex* it, std::uint32_t, std::uint64_t, std::uint64_t) {
    not_offered(it);
  };
  qp.wr_atomic_write = [](ibv_qp_ex* it, std::uint32_t, std::uint64_t, const void*) { not_offered(it); };
  qp.wr_bind_mw = [](ibv_qp_ex* it, ibv_mw*, std::uint32_t, const ibv_mw_bind_info*) { not_offered(it); };
  qp.wr_local_inv = [](ibv_qp_ex* it, std::uint32_t) { not_offered(it); };
  qp.wr_send_inv = [](ibv_qp_ex* it, std::uint32_t) { not_offered(it); };
  qp.wr_send_tso = [](ibv_qp_ex* it, void*, std::uint16_t, std::uint16_t) { not_offered(it); };
  qp.wr_set_ud_addr = [](ibv_qp_ex* it, ibv_ah*, std::uint32_t, std::uint32_t) { not_offered(it); };
  qp.wr_set_xrc_srqn = [](ibv_qp_ex* it, std::uint32_t) { not_offered(it); };
}

}  // namespace urnic::verbs_api
