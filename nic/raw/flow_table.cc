// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/raw/flow_table.h"

#include <algorithm>

#include "nic/raw/flow_match.h"
#include "transport/wire/byte_order.h"

namespace urnic::nic {

using transport::QpNumber;
using transport::wire::Mac;

namespace {

// No other thread writes, so that an addition needs no lock.
void count(FlowCounts& counts, std::size_t bytes) {
  counts.packets.store(counts.packets.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  counts.bytes.store(counts.bytes.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

}  // namespace

FlowId FlowTable::add(const FlowRule& rule, QpNumber qp) {
  ++last_id_;
  if (last_id_ == 0) ++last_id_;
  Entries& entries = of(rule.kind);
  const auto is_before = [](std::uint16_t priority, const Entry& entry) {
    return priority < entry.rule.priority;
  };
  const auto place = std::upper_bound(entries.begin(), entries.end(), rule.priority, is_before);
  receivers_.reserve(size_ + 1);
  entries.insert(place, Entry{.id = FlowId{last_id_}, .qp = qp, .rule = rule});
  ++size_;
  return FlowId{last_id_};
}

bool FlowTable::remove(FlowId id) {
  const std::size_t size_before = size_;
  erase_if([id](const Entry& entry) { return entry.id == id; });
  return size_ != size_before;
}

void FlowTable::remove_all_of(QpNumber qp) {
  erase_if([qp](const Entry& entry) { return entry.qp == qp; });
}

template <typename Predicate>
void FlowTable::erase_if(Predicate predicate) {
  for (Entries& entries : entries_) size_ -= std::erase_if(entries, predicate);
}

bool FlowTable::has(QpNumber qp) const {
  return std::any_of(entries_.begin(), entries_.end(), [qp](const Entries& entries) {
    return std::any_of(entries.begin(), entries.end(), [qp](const Entry& entry) { return entry.qp == qp; });
  });
}

FlowTable::Verdict FlowTable::steer(std::span<const std::byte> frame) {
  receivers_.clear();
  add_all(of(FlowKind::kSniffer));
  const bool is_trapped = steer_normal(frame);
  return {.receivers = receivers_, .is_trapped = is_trapped};
}

/// Whether a rule takes the frame away from all that come later.
bool FlowTable::steer_normal(std::span<const std::byte> frame) {
  const Entries& entries = of(FlowKind::kNormal);
  if (entries.empty()) return false;
  const FlowHeaders headers = FlowHeaders::read(frame);
  bool is_trapped = false;
  std::uint16_t trapping_priority = 0;
  for (const Entry& entry : entries) {
    if (is_trapped && entry.rule.priority != trapping_priority) break;
    if (!matches(entry.rule, headers)) continue;
    add_receiver(entry.qp);
    if (entry.rule.counts != nullptr) count(*entry.rule.counts, frame.size());
    if (!entry.rule.traps) continue;
    is_trapped = true;
    trapping_priority = entry.rule.priority;
  }
  return is_trapped;
}

std::span<const QpNumber> FlowTable::take_unclaimed(std::span<const std::byte> frame) {
  const std::size_t had = receivers_.size();
  add_all(of(FlowKind::kAllDefault));
  const bool is_for_group =
      frame.size() >= Mac::kBytes && transport::wire::load_address<Mac>(frame, 0).is_multicast();
  if (is_for_group) add_all(of(FlowKind::kMulticastDefault));
  return std::span(receivers_).subspan(had);
}

void FlowTable::add_all(const Entries& entries) {
  for (const Entry& entry : entries) add_receiver(entry.qp);
}

void FlowTable::add_receiver(QpNumber qp) {
  if (std::find(receivers_.begin(), receivers_.end(), qp) == receivers_.end()) receivers_.push_back(qp);
}

}  // namespace urnic::nic
