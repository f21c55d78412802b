// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/queues/qp_ledger.h"

#include <fmt/core.h>

#include <bit>
#include <chrono>
#include <utility>
#include <vector>

namespace urnic::verbs_api {
namespace {

using nic::PostStatus;
using transport::SendOperation;
using transport::Sge;

constexpr std::uint32_t kDatagramHeaderBytes = 40;
constexpr std::uint64_t kAtomicAlignment = 8;
/// After so long without a look at a queue pair that has failed, the program does not know of it.
constexpr std::chrono::seconds kUnnoticedFor{2};

/// The longest message of each kind of NIC (max_msg_sz as their drivers have it).
constexpr std::uint64_t kLongestOfRxe = std::uint64_t{8} << 20;
constexpr std::uint64_t kLongestOfConnectx = std::uint64_t{1} << 30;

/// So many immediates in a row that are small numbers, if nothing is converted, are numbers of this host.
constexpr unsigned kMostOddImmediates = 16;
constexpr std::uint32_t kSmallImmediate = 0x10000;

bool is_rdma_write(SendOperation operation) {
  return operation == SendOperation::kWrite || operation == SendOperation::kWriteWithImmediate;
}

}  // namespace

QpLedger::QpLedger(QpFacts facts, const MemoryLedger& memory, Complaints& complaints)
    : facts_(std::move(facts)),
      memory_(memory),
      complaints_(complaints),
      sends_(facts_.name, facts_.sends, facts_.is_all_signaled, memory.writes(), complaints),
      receives_(facts_.name, facts_.receives, complaints),
      lists_(facts_.name, complaints) {}

QpLedger::~QpLedger() {
  if (facts_.order != nullptr) facts_.order->forget(facts_.name);
  if (facts_.send_cq != nullptr) facts_.send_cq->expect(-std::int64_t{sends_.signaled()});
}

void QpLedger::on_send(const transport::SendRequest& request, std::span<const Sge> elements,
                       std::uint64_t inline_bytes, PostStatus status) {
  if (status != PostStatus::kPosted) return check_refused(request, status);
  const bool is_written = has_response(request.operation) && !sends_data(request.operation);
  const bool reaches_memory = has_response(request.operation) || is_rdma_write(request.operation);
  memory_.check({.name = facts_.name,
                 .domain = facts_.domain,
                 .wr_id = request.wr_id,
                 .is_written = is_written,
                 .remote_key = reaches_memory ? std::optional(to_integer(request.rkey)) : std::nullopt},
                elements);
  const std::uint64_t length = nic::total_length(elements) + inline_bytes;
  check_atomic(request);
  check_length(request, length);
  check_sizes(request, elements.size(), inline_bytes);
  std::vector<BufferPrint> prints;
  if (sends_data(request.operation)) prints = memory_.prints(elements);
  const std::lock_guard lock(mutex_);
  const std::uint32_t before = sends_.signaled();
  const std::uint32_t number = sends_.next();
  sends_.posted(request, elements, std::move(prints));
  if (facts_.send_cq != nullptr) facts_.send_cq->expect(std::int64_t{sends_.signaled()} - before);
  if (facts_.order == nullptr || !is_rdma_write(request.operation)) return;
  facts_.order->posted({.queue_pair = &facts_.name,
                        .number = number,
                        .wr_id = request.wr_id,
                        .peer = peer_,
                        .rkey = request.rkey,
                        .address = request.remote_address,
                        .length = length});
}

void QpLedger::check_refused(const transport::SendRequest& request, PostStatus status) {
  if (status != PostStatus::kWrongState && status != PostStatus::kLost) return;
  complaints_.complain(Finding::kPostInWrongState, facts_.name, [&] {
    return fmt::format("wr_id {} ({}) was posted before the queue pair was in IBV_QPS_RTS", request.wr_id,
                       name_of(request.operation));
  });
}

void QpLedger::check_sizes(const transport::SendRequest& request, std::size_t elements,
                           std::uint64_t inline_bytes) {
  if (elements > facts_.sizes.send_elements) {
    complaints_.complain(Finding::kGrantedRoomUsed, facts_.name, [&] {
      return fmt::format("wr_id {} ({}) has {} elements, and max_send_sge was {}", request.wr_id,
                         name_of(request.operation), elements, facts_.sizes.send_elements);
    });
  }
  if (inline_bytes <= facts_.sizes.inline_bytes) return;
  complaints_.complain(Finding::kGrantedRoomUsed, facts_.name, [&] {
    return fmt::format("wr_id {} ({}) has {} bytes of inline data, and max_inline_data was {}", request.wr_id,
                       name_of(request.operation), inline_bytes, facts_.sizes.inline_bytes);
  });
}

void QpLedger::check_length(const transport::SendRequest& request, std::uint64_t length) {
  if (length <= kLongestOfRxe) return;
  complaints_.complain(Finding::kMessageTooLongElsewhere, facts_.name, [&] {
    return fmt::format("wr_id {} ({}) is {} bytes long, and {} take less in a message", request.wr_id,
                       name_of(request.operation), length,
                       length > kLongestOfConnectx ? "rdma_rxe and ConnectX" : "rdma_rxe");
  });
}

void QpLedger::check_atomic(const transport::SendRequest& request) {
  if (is_atomic(request.operation)) {
    complaints_.complain(Finding::kMissingOnSomeNics, facts_.name, [&] {
      return fmt::format("wr_id {} ({}) is an atomic, which E810 does not have", request.wr_id,
                         name_of(request.operation));
    });
  }
  const bool is_eight_bytes =
      is_atomic(request.operation) || request.operation == SendOperation::kAtomicWrite;
  if (!is_eight_bytes || request.remote_address % kAtomicAlignment == 0) return;
  complaints_.complain(Finding::kMisalignedAtomic, facts_.name, [&] {
    return fmt::format("wr_id {} ({}) is for remote address {:#x}", request.wr_id, name_of(request.operation),
                       request.remote_address);
  });
}

void QpLedger::on_sends_aborted(std::uint32_t count) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t before = sends_.signaled();
  sends_.aborted(count);
  if (facts_.order != nullptr) facts_.order->forget(facts_.name);
  if (facts_.send_cq != nullptr) facts_.send_cq->expect(std::int64_t{sends_.signaled()} - before);
}

void QpLedger::on_receive(const transport::ReceiveRequest& request, std::span<const Sge> elements,
                          PostStatus status) {
  if (status == PostStatus::kWrongState || status == PostStatus::kLost) {
    return complaints_.complain(Finding::kPostInWrongState, facts_.name, [&] {
      return fmt::format("receive wr_id {} was posted while the queue pair was in IBV_QPS_RESET",
                         request.wr_id);
    });
  }
  if (status != PostStatus::kPosted) return;
  memory_.check({.name = facts_.name, .domain = facts_.domain, .wr_id = request.wr_id, .is_written = true},
                elements);
  const std::uint64_t length = nic::total_length(elements);
  if (facts_.has_datagrams && length < kDatagramHeaderBytes) {
    complaints_.complain(Finding::kReceiveWithoutHeaderRoom, facts_.name,
                         [&] { return fmt::format("receive wr_id {} has {} bytes", request.wr_id, length); });
  }
  if (elements.size() > facts_.sizes.receive_elements) {
    complaints_.complain(Finding::kGrantedRoomUsed, facts_.name, [&] {
      return fmt::format("receive wr_id {} has {} elements, and max_recv_sge was {}", request.wr_id,
                         elements.size(), facts_.sizes.receive_elements);
    });
  }
  const std::lock_guard lock(mutex_);
  receives_.posted(request.wr_id, elements);
}

void QpLedger::list_begins(const PostedList& list) {
  if (!users_.enter() && facts_.has_one_thread) {
    complaints_.complain(Finding::kTwoThreadsAtOnce, facts_.name, [] {
      return std::string("its thread domain promises one thread at a time, and two post to it at once");
    });
  }
  const std::lock_guard lock(mutex_);
  lists_.begins(list);
}

void QpLedger::list_ends(const PostedList& list, int error, std::uint64_t wr_id, std::size_t taken) {
  users_.leave();
  if (facts_.send_cq != nullptr) {
    if (taken != 0) facts_.send_cq->has_work();
    if (error != 0) facts_.send_cq->refused(facts_.name, wr_id, error);
  }
  const std::lock_guard lock(mutex_);
  if (error != 0) lists_.refused(list, taken);
}

void QpLedger::set_peer(const transport::wire::Gid& peer) {
  const std::lock_guard lock(mutex_);
  peer_ = peer;
}

void QpLedger::set_read_depth(const ReadDepth& depth) {
  const std::lock_guard lock(mutex_);
  if (depth.as_requester) depth_.as_requester = depth.as_requester;
  if (depth.as_responder) depth_.as_responder = depth.as_responder;
}

ReadDepth QpLedger::read_depth() const {
  const std::lock_guard lock(mutex_);
  return depth_;
}

void QpLedger::failed(SanitizerTime now, std::string_view reason) {
  const std::lock_guard lock(mutex_);
  failed_since_ = now;
  failed_why_ = reason;
}

void QpLedger::noticed() {
  const std::lock_guard lock(mutex_);
  failed_since_.reset();
}

void QpLedger::look(SanitizerTime now) {
  const std::lock_guard lock(mutex_);
  if (!failed_since_ || now - *failed_since_ < kUnnoticedFor) return;
  failed_since_.reset();
  complaints_.complain_of(CallPath(), Finding::kFailedQueuePairUnnoticed, facts_.name, [&] {
    return fmt::format(
        "it is in IBV_QPS_ERR for {} seconds, since it refused a request of its peer ({}), and the program "
        "has polled no completion of it and read no event",
        kUnnoticedFor.count(), failed_why_);
  });
}

void QpLedger::polled(const transport::Completion& completion) {
  const bool is_success = completion.status == transport::CompletionStatus::kSuccess;
  const std::lock_guard lock(mutex_);
  failed_since_.reset();
  lists_.forget();
  if (is_receive(completion.opcode)) {
    if (is_success && completion.has_immediate) check_immediate(completion);
    sends_.receive_polled();
    return receives_.polled();
  }
  const std::uint32_t before = sends_.signaled();
  sends_.polled(completion.wr_id, is_success);
  if (facts_.send_cq != nullptr) facts_.send_cq->expect(std::int64_t{sends_.signaled()} - before);
  if (facts_.order != nullptr) facts_.order->done(facts_.name, sends_.oldest());
}

/// 0 is the same in both orders.
void QpLedger::check_immediate(const transport::Completion& completion) {
  if constexpr (std::endian::native == std::endian::big) return;
  const std::uint32_t number = completion.immediate;
  if (number == 0) return;
  odd_immediates_ = number < kSmallImmediate ? odd_immediates_ + 1 : 0;
  if (odd_immediates_ <= kMostOddImmediates) return;
  odd_immediates_ = 0;
  complaints_.complain(Finding::kImmediateInHostOrder, facts_.name, [&] {
    return fmt::format(
        "{} immediates in a row are small numbers in the order of this host, the last one {}; in network "
        "order that is {:#x}",
        kMostOddImmediates + 1, number, __builtin_bswap32(number));
  });
}

void QpLedger::reset() {
  const std::lock_guard lock(mutex_);
  if (facts_.send_cq != nullptr) facts_.send_cq->expect(-std::int64_t{sends_.signaled()});
  if (facts_.send_cq != nullptr && sends_.signaled() != 0) {
    facts_.send_cq->lost(facts_.name, sends_.signaled());
  }
  if (facts_.order != nullptr) facts_.order->forget(facts_.name);
  sends_.clear();
  receives_.clear();
  failed_since_.reset();
}

bool QpLedger::uses_key(transport::Lkey key) const {
  const std::lock_guard lock(mutex_);
  return sends_.uses_key(key);
}

bool QpLedger::uses_address(transport::AddressHandleId address) const {
  const std::lock_guard lock(mutex_);
  return sends_.uses_address(address);
}

void QpLedger::check_destroy() const {
  const std::lock_guard lock(mutex_);
  if (sends_.signaled() == 0) return;
  if (facts_.send_cq != nullptr) facts_.send_cq->lost(facts_.name, sends_.signaled());
  complaints_.complain(Finding::kDestroyedWithWorkOutstanding, facts_.name, [&] {
    return fmt::format("the program has not polled the completions of {} signaled sends", sends_.signaled());
  });
}

}  // namespace urnic::verbs_api
