// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// FlowTable: the flow rules of a device, and which queue pairs a frame goes to by them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "nic/raw/flow_rule.h"
#include "transport/types.h"

namespace urnic::nic {

/// A frame goes to the normal rule of the lowest priority number that matches; among equals to each of them,
/// as ConnectX hands equal rules' frames to all of their queue pairs. Rules that do not trap let it go on to
/// the next. Sniffers see all of them besides, and a frame that no rule takes is for default rules. However
/// many rules say so, a queue pair gets a frame once.
///
/// Looks at each rule in turn, and at no frame while there are no rules. Nothing but add() allocates. All
/// calls under the engine lock.
class FlowTable {
 public:
  FlowId add(const FlowRule& rule, transport::QpNumber qp);
  /// False when there is no such rule.
  bool remove(FlowId id);
  /// The queue pair is about to be destroyed.
  void remove_all_of(transport::QpNumber qp);

  bool has(transport::QpNumber qp) const;
  bool is_empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  struct Verdict {
    std::span<const transport::QpNumber> receivers;
    bool is_trapped = false;  ///< no other rule may have the frame
  };
  /// The queue pairs that get the frame by normal rules and as sniffers. The result is good until the next
  /// call.
  Verdict steer(std::span<const std::byte> frame);
  /// The queue pairs that get it by default rules: the frame that steer() was called with last, which no rule
  /// has taken.
  std::span<const transport::QpNumber> take_unclaimed(std::span<const std::byte> frame);

 private:
  struct Entry {
    FlowId id;
    transport::QpNumber qp;
    FlowRule rule;
  };
  using Entries = std::vector<Entry>;

  Entries& of(FlowKind kind) { return entries_[transport::to_integer(kind)]; }
  bool steer_normal(std::span<const std::byte> frame);
  void add_receiver(transport::QpNumber qp);
  void add_all(const Entries& entries);
  template <typename Predicate>
  void erase_if(Predicate predicate);

  std::array<Entries, 4> entries_;              // by kind; in the order of priority, then of age
  std::vector<transport::QpNumber> receivers_;  // of the current frame
  std::uint32_t last_id_ = 0;
  std::size_t size_ = 0;
};

}  // namespace urnic::nic
