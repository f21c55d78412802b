// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// The half of DeviceRig that is the program: what it posts and what it does to its objects.
#include <array>

#include "tests/fuzz/device_rig.h"
#include "tools/simulation/kernel/connect.h"
#include "tools/simulation/seeds/models/expected_opcode.h"

namespace urnic::test {
namespace {

using namespace nic;
using transport::CompletionOpcode;
using transport::QpNumber;
using transport::QpState;
using transport::SendOperation;
using transport::Sge;

}  // namespace

/// What the state has to be given, and nothing that it does not allow.
QpAttributes DeviceRig::attributes_for(const Connection& connection, QpState state) const {
  const auto before = connection.qp->query().state;
  if (state == QpState::kReadyToSend && before != QpState::kReadyToReceive) return {.state = state};
  constexpr transport::Psn kSoonAround(0xfffff0);
  QpAttributes attributes = kernel::attributes_for(connection.kind.type, state,
                                                   {.address = connection.peer,
                                                    .peer_qp = kPeerQp,
                                                    .access = kEverything,
                                                    .send_psn = kSoonAround,
                                                    .receive_psn = kSoonAround,
                                                    .min_rnr_timer = 1,
                                                    .ack_timeout = 10,
                                                    .retry_count = 2,
                                                    .rnr_retry = 2,
                                                    .qkey = kQkey});
  if (state == QpState::kSqDrained && before == QpState::kReadyToSend) attributes.notify_when_drained = true;
  return attributes;
}

void DeviceRig::post_send(std::size_t qp_index, const Posting& posting) {
  const Region region = !transport::sends_data(posting.operation) ? kOwn : kConstant;
  const std::uint64_t wr_id = note_work({.qp = qp(qp_index).number(),
                                         .opcode = sim::expected_opcode(posting.operation),
                                         .length = posting.length,
                                         .may_vanish = !posting.is_signaled});
  std::array<Sge, 1> sges{{{.address = address_of(region), .length = posting.length, .lkey = {}}}};
  const transport::SendRequest request = request_of(wr_id, posting);
  QueuePair::SendBatch batch(qp(qp_index));
  PostStatus status;
  if (posting.is_inline) {
    sges[0].address = reinterpret_cast<std::uintptr_t>(memory_of(region));
    status = batch.post_inline(request, sges);
  } else {
    sges[0].lkey = transport::Lkey{regions_[region].key};
    status = batch.post(request, sges);
  }
  if (status != PostStatus::kPosted) {
    outstanding_.erase(wr_id);
  } else if (posting.operation == SendOperation::kBindWindow) {
    windows_[posting.target & 1u] = to_integer(request.binding.new_rkey);
  }
}

transport::SendRequest DeviceRig::request_of(std::uint64_t wr_id, const Posting& posting) {
  transport::SendRequest request{.wr_id = wr_id,
                                 .operation = posting.operation,
                                 .signaled = posting.is_signaled,
                                 .solicited = posting.solicited,
                                 .fence = posting.fence,
                                 .remote_address = 0x7000,
                                 .rkey = transport::Rkey{0x7007}};
  request.flush.length = posting.length;
  request.xrc_srq = posting.target;
  request.destination = {.address = addresses_[posting.target & 1u], .qp = kPeerQp, .qkey = kQkey};
  const std::uint32_t window = windows_[posting.target & 1u];
  if (posting.operation == SendOperation::kLocalInvalidate) request.invalidate_rkey = transport::Rkey{window};
  if (posting.operation != SendOperation::kBindWindow) return request;
  request.binding = {
      .window = transport::Rkey{window},
      .new_rkey = transport::Rkey{(window & ~0xffu) | ((window + 1) & 0xffu)},
      .region = transport::Lkey{regions_[(posting.target & 2u) != 0 ? kConstant : kShared].key},
      .address = address_of(kShared),
      .length = posting.length,
      .access = kEverything,
      .is_zero_based = (posting.target & 4u) != 0};
  return request;
}

void DeviceRig::post_receive(std::size_t qp_index, std::uint32_t length) {
  const std::uint64_t wr_id =
      note_work({.qp = qp(qp_index).number(), .opcode = CompletionOpcode::kReceive, .length = length});
  const std::array<Sge, 1> sges{
      {{.address = address_of(kOwn), .length = length, .lkey = transport::Lkey{regions_[kOwn].key}}}};
  if (QueuePair::ReceiveBatch(qp(qp_index)).post({.wr_id = wr_id}, sges) != PostStatus::kPosted) {
    outstanding_.erase(wr_id);
  }
}

void DeviceRig::post_shared(std::size_t queue, std::uint32_t length) {
  const std::uint64_t wr_id = note_work({.opcode = CompletionOpcode::kReceive, .length = length});
  const std::array<Sge, 1> sges{
      {{.address = address_of(kOwn), .length = length, .lkey = transport::Lkey{regions_[kOwn].key}}}};
  if (SharedReceiveQueue::Batch(*shared_queues_[queue]).post({.wr_id = wr_id}, sges) != PostStatus::kPosted) {
    outstanding_.erase(wr_id);
  }
}

void DeviceRig::arm_limit(std::size_t queue, std::uint32_t limit) {
  const bool is_armed = shared_queues_[queue]->modify({.limit = limit}).has_value();
  require(is_armed == (limit <= kSharedReceives), "a limit can be armed that the shared queue can reach");
}

void DeviceRig::let_vanish(QpNumber qp) {
  for (auto& [wr_id, work] : outstanding_) work.may_vanish |= work.qp == qp;
}

void DeviceRig::reconnect(std::size_t qp_index) {
  modify(qp_index, QpState::kReset, 0);
  connect(queue_pairs_[qp_index]);
}

void DeviceRig::modify(std::size_t qp_index, QpState state, std::uint8_t left_out) {
  const auto is_left_out = [left_out](unsigned bit) { return (left_out >> bit & 1u) != 0; };
  QpAttributes attributes = attributes_for(queue_pairs_[qp_index], state);
  if (is_left_out(0)) attributes.access.reset();
  if (is_left_out(1)) attributes.address.reset();
  if (is_left_out(2)) attributes.send_psn.reset();
  if (is_left_out(3)) attributes.ack_timeout.reset();
  if (is_left_out(4)) attributes.qkey.reset();
  if (is_left_out(5)) attributes.notify_when_drained.reset();
  if (is_left_out(6)) attributes.min_rnr_timer.reset();
  const auto before = qp(qp_index).query().state;
  const bool is_changed = qp(qp_index).modify(attributes).has_value();
  require(is_changed || qp(qp_index).query().state == before, "a refused change of state changes nothing");
  if (state == QpState::kReset) {
    require(is_changed, "a queue pair can be reset");
    let_vanish(qp(qp_index).number());
  }
}

void DeviceRig::renew_queue_pair(std::size_t qp_index) {
  Connection& connection = queue_pairs_[qp_index];
  let_vanish(connection.qp->number());
  device_->destroy_qp(std::move(connection.qp));
  connection.qp = make_queue_pair(connection.kind);
  lead_to(connection);
}

/// The queue pairs that use the first one are not asked first: then it stays.
void DeviceRig::renew_shared_queue(std::size_t queue) {
  const bool is_used = queue == 0;
  require(device_->destroy_srq(shared_queues_[queue]).has_value() != is_used,
          "a shared queue is destroyed when unused");
  if (!is_used) make_shared_queue(queue);
}

void DeviceRig::renew_window(std::size_t index) {
  require(device_->deallocate_window(*pd_, windows_[index]).has_value(), "a window can be given back");
  const auto key = device_->allocate_window(*pd_, index == 0 ? WindowType::kType1 : WindowType::kType2);
  require(key.has_value(), "a window can be allocated");
  windows_[index] = key.value();
}

void DeviceRig::renew_second_key() {
  require(device_->deregister_memory(*pd_, second_key_).has_value(), "memory can be deregistered");
  const auto region = device_->register_memory(*pd_, memory_of(kShared), kRegionBytes, address_of(kShared),
                                               transport::Access::kLocalWrite | kEverything);
  require(region.has_value(), "memory can be registered again");
  second_key_ = region.value().key;
}

void DeviceRig::renew_address(std::size_t index) {
  if (addresses_[index] != transport::AddressHandleId{}) {
    require(device_->destroy_address_handle(*pd_, addresses_[index]).has_value(),
            "an address handle can be destroyed");
  }
  const Connection& connection = queue_pairs_[index == 0 ? 0 : 2];
  const auto address = device_->create_address_handle(*pd_, connection.peer);
  require(address.has_value(), "an address handle can be made");
  addresses_[index] = address.value();
}

void DeviceRig::join_group(std::size_t qp_index) {
  const bool is_joined = device_->attach_multicast(qp(qp_index), group()).has_value();
  require(is_joined == (queue_pairs_[qp_index].kind.type == QpType::kUd),
          "datagram queue pairs can join a group");
}

void DeviceRig::leave_group(std::size_t qp_index) {
  static_cast<void>(device_->detach_multicast(qp(qp_index), group()));
}

}  // namespace urnic::test
