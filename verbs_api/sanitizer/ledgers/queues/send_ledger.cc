// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "verbs_api/sanitizer/ledgers/queues/send_ledger.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace urnic::verbs_api {
namespace {

using transport::SendOperation;
using transport::Sge;

/// Numbers below are no addresses of the heap on x86-64 and arm64, but what programs count with.
constexpr std::uint64_t kLeastPointer = std::uint64_t{1} << 40;

/// Whether its result is written to its elements when the peer answers.
bool brings_data(SendOperation operation) {
  return operation == SendOperation::kRead || is_atomic(operation);
}

bool starts_within(const Sge& one, const Sge& other) {
  return one.address - other.address < other.length;  // wraps around where it starts before
}

bool overlap(const Sge& one, const Sge& other) {
  return one.length != 0 && other.length != 0 && (starts_within(one, other) || starts_within(other, one));
}

std::optional<std::uint64_t> common_address(const std::vector<Sge>& some, const std::vector<Sge>& others) {
  for (const Sge& one : some) {
    for (const Sge& other : others) {
      if (overlap(one, other)) return std::max(one.address, other.address);
    }
  }
  return std::nullopt;
}

}  // namespace

SendLedger::SendLedger(const std::string& name, QueueRoom room, bool all_signaled,
                       const nic::WriteLog& writes, Complaints& complaints)
    : name_(name),
      room_(room),
      all_signaled_(all_signaled),
      writes_(writes),
      complaints_(complaints),
      ring_(std::max<std::uint32_t>(room.granted, 1)) {}

void SendLedger::posted(const transport::SendRequest& request, std::span<const Sge> elements,
                        std::vector<BufferPrint> prints) {
  check_room();
  Record& record = at(tail_);
  record.wr_id = request.wr_id;
  record.operation = request.operation;
  record.is_signaled = request.signaled || all_signaled_;
  record.is_fenced = request.fence;
  record.address = request.destination.address;
  record.elements.assign(elements.begin(), elements.end());
  record.prints = std::move(prints);
  record.receives_polled = receives_polled_;
  check_fence(record);
  check_targets(record);
  check_id(record);
  ++tail_;
  signaled_ += record.is_signaled;
  answered_ += brings_data(record.operation);
}

/// As hardware would count. Afterwards there is room for one more.
void SendLedger::check_room() {
  const std::uint32_t before = outstanding();
  if (before >= room_.granted) {
    complaints_.complain(Finding::kSendQueueNeverDrained, name_, [&] {
      const Record& oldest = at(head_);
      return fmt::format(
          "this post has no room on most hardware: requests from wr_id {} ({}) on hold all {} slots of the "
          "send queue, {} of them are signaled, and the program has polled no completion of these",
          oldest.wr_id, name_of(oldest.operation), room_.granted, signaled_);
    });
    forget_oldest();
  } else if (before >= room_.requested) {
    complaints_.complain(Finding::kRoomNotRequested, name_, [&] {
      return fmt::format("{} sends are outstanding with this one, and max_send_wr was {}", before + 1,
                         room_.requested);
    });
  }
}

void SendLedger::check_fence(const Record& record) {
  if (answered_ == 0 || record.is_fenced || !sends_data(record.operation)) return;
  for (std::uint32_t number = head_; number != tail_; ++number) {
    const Record& earlier = at(number);
    if (!brings_data(earlier.operation)) continue;
    const auto address = common_address(record.elements, earlier.elements);
    if (!address) continue;
    const Finding finding = earlier.is_fenced ? Finding::kFenceOnTheWrongRequest : Finding::kReadWithoutFence;
    return complaints_.complain(finding, name_, [&] {
      return fmt::format(
          "wr_id {} ({}) takes bytes from {:#x}, where wr_id {} ({}{}) may not have written yet",
          record.wr_id, name_of(record.operation), *address, earlier.wr_id, name_of(earlier.operation),
          earlier.is_fenced ? ", which has the fence" : "");
    });
  }
}

void SendLedger::check_targets(const Record& record) {
  if (!brings_data(record.operation)) return;
  const auto address = targets_.add(record.elements);
  if (!address) return;
  complaints_.complain(Finding::kOverlappingTargets, name_, [&] {
    return fmt::format("wr_id {} ({}) and an outstanding READ or atomic before it share memory at {:#x}",
                       record.wr_id, name_of(record.operation), *address);
  });
}

void SendLedger::check_id(const Record& record) {
  if (record.wr_id < kLeastPointer || !complaints_.wants(Finding::kWorkRequestIdReused)) return;
  for (std::uint32_t number = head_; number != tail_; ++number) {
    if (at(number).wr_id != record.wr_id) continue;
    return complaints_.complain(Finding::kWorkRequestIdReused, name_, [&] {
      return fmt::format("wr_id {:#x} is posted ({}), and an outstanding request ({}) has the same",
                         record.wr_id, name_of(record.operation), name_of(at(number).operation));
    });
  }
}

void SendLedger::check_buffers(const Record& record) {
  const bool has_received = record.receives_polled != receives_polled_;
  // A NIC does not send a datagram again, so an answer proves that it has read the buffer. UCX relies on it.
  const bool is_datagram = record.address != transport::AddressHandleId{};
  if (is_datagram && has_received) return;
  for (const BufferPrint& print : record.prints) {
    const auto change = print.change(writes_);
    if (!change) continue;
    return complaints_.complain(Finding::kBufferChangedBeforeCompletion, name_, [&] {
      return fmt::format(
          "among bytes {} to {} of the buffer of wr_id {} ({}) some have changed between its post and the "
          "poll of its completion{}",
          change->from, change->to - 1, record.wr_id, name_of(record.operation),
          has_received
              ? "; a receive was polled meanwhile, but the peer's answer does not say that the NIC is "
                "done with the buffer"
              : "");
    });
  }
}

void SendLedger::forget_oldest() {
  forget(at(head_++));
}

void SendLedger::forget(const Record& record) {
  signaled_ -= record.is_signaled;
  if (!brings_data(record.operation)) return;
  --answered_;
  targets_.remove(record.elements);
}

void SendLedger::aborted(std::uint32_t count) {
  for (; count != 0 && tail_ != head_; --count) {
    forget(at(--tail_));
  }
}

void SendLedger::polled(std::uint64_t wr_id, bool is_success) {
  // Programs may use one wr_id for all: the oldest that can have a completion is the one.
  const auto is_it = [&](const Record& record) {
    return record.wr_id == wr_id && (record.is_signaled || !is_success);
  };
  std::uint32_t number = head_;
  while (number != tail_ && !is_it(at(number))) ++number;
  if (number == tail_) return;  // forgotten
  while (head_ != number + 1) {
    check_buffers(at(head_));
    forget_oldest();
  }
}

void SendLedger::clear() {
  head_ = tail_;
  signaled_ = 0;
  answered_ = 0;
  targets_.clear();
}

bool SendLedger::uses_key(transport::Lkey key) const {
  for (std::uint32_t number = head_; number != tail_; ++number) {
    const auto& elements = at(number).elements;
    if (std::ranges::any_of(elements, [key](const Sge& sge) { return sge.lkey == key && sge.length != 0; })) {
      return true;
    }
  }
  return false;
}

bool SendLedger::uses_address(transport::AddressHandleId address) const {
  for (std::uint32_t number = head_; number != tail_; ++number) {
    if (at(number).address == address) return true;
  }
  return false;
}

}  // namespace urnic::verbs_api
