// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Counters: how many messages a communication manager sent and received, of each kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/counters.h"
#include "transport/enum_names.h"
#include "transport/types.h"

namespace urnic::nic::cm {

/// In the order of their attribute IDs (fact 44).
enum class MessageKind : std::uint8_t {
  kReq,
  kMra,
  kRej,
  kRep,
  kRtu,
  kDreq,
  kDrep,
  kSidrReq,
  kSidrRep,
  kLap,
  kApr,
};

/// As Linux calls it in the files below cm_tx_msgs; "" for what is no kind.
constexpr std::string_view name_of(MessageKind kind) {
  using enum MessageKind;
  switch (kind) {
    case kReq:
      return "req";
    case kMra:
      return "mra";
    case kRej:
      return "rej";
    case kRep:
      return "rep";
    case kRtu:
      return "rtu";
    case kDreq:
      return "dreq";
    case kDrep:
      return "drep";
    case kSidrReq:
      return "sidr_req";
    case kSidrRep:
      return "sidr_rep";
    case kLap:
      return "lap";
    case kApr:
      return "apr";
  }
  return "";
}

/// What is counted of each kind.
enum class CounterGroup : std::uint8_t {
  kSent,        ///< repeats included
  kRepeated,    ///< of those sent: no answer had come
  kReceived,    ///< duplicates included
  kDuplicates,  ///< of those received: they had been answered, or wait for the program's answer
};

/// The names of Linux' folders of counters; "" for what is no group.
constexpr std::string_view name_of(CounterGroup group) {
  using enum CounterGroup;
  switch (group) {
    case kSent:
      return "cm_tx_msgs";
    case kRepeated:
      return "cm_tx_retries";
    case kReceived:
      return "cm_rx_msgs";
    case kDuplicates:
      return "cm_rx_duplicates";
  }
  return "";
}

/// Counted under the engine lock, read by any thread.
class Counters {
 public:
  void add(CounterGroup group, MessageKind kind) { cell(group, kind).add(1); }
  void add_malformed() { malformed_.add(1); }
  void add_unexpected() { unexpected_.add(1); }
  void add_dropped() { dropped_.add(1); }

  std::uint64_t value(CounterGroup group, MessageKind kind) const {
    return cells_[index_of(group, kind)].value();
  }
  /// Of all kinds.
  std::uint64_t value(CounterGroup group) const;
  /// Received, and no message that can be read: of no kind.
  std::uint64_t malformed() const { return malformed_.value(); }
  /// Received for no connection of ours, or in a state in which they mean nothing.
  std::uint64_t unexpected() const { return unexpected_.value(); }
  /// Not sent: too many waited for the port already.
  std::uint64_t dropped() const { return dropped_.value(); }

  /// Every counter by name: "cm_tx_msgs_req" and so on, "cm_rx_malformed", "cm_rx_unexpected",
  /// "cm_tx_dropped". The names stay for good.
  std::vector<std::pair<std::string_view, std::uint64_t>> all() const;

 private:
  static constexpr std::size_t kKinds = transport::count_of<MessageKind>();
  static constexpr std::size_t kGroups = transport::count_of<CounterGroup>();

  static constexpr std::size_t index_of(CounterGroup group, MessageKind kind) {
    return transport::to_integer(group) * kKinds + transport::to_integer(kind);
  }
  transport::CounterCell& cell(CounterGroup group, MessageKind kind) { return cells_[index_of(group, kind)]; }

  std::array<transport::CounterCell, kGroups * kKinds> cells_;
  transport::CounterCell malformed_;
  transport::CounterCell unexpected_;
  transport::CounterCell dropped_;
};

}  // namespace urnic::nic::cm
