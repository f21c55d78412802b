// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// All dialogs of connection managers in a capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tools/conformance/check/cm/dialog.h"
#include "tools/conformance/check/cm/message.h"
#include "tools/conformance/check/findings/findings.h"
#include "tools/conformance/check/packets/flow_key.h"
#include "tools/conformance/check/packets/seen.h"

namespace urnic::check {

/// Finds the dialog of each message. Bounded: the newest kMaxDialogs are remembered.
class CmDialogs {
 public:
  static constexpr std::size_t kMaxDialogs = 4096;

  explicit CmDialogs(Findings& findings) : findings_(findings) {}

  /// Takes each message of a capture in order; `flow` is the one of its datagram.
  CmStep on_message(const CmMessage& message, const Seen& seen, std::uint32_t flow);
  void finish(std::int64_t end_ns);

 private:
  /// By the addresses of the request and its communication ID, in place of the queue pair. The IDs of SIDR
  /// are apart.
  struct Book {
    std::unordered_map<FlowKey, CmDialog, FlowKeyHash> dialogs;
    std::deque<FlowKey> oldest_first;
  };
  struct Place {
    CmDialog* dialog = nullptr;
    CmSide side = CmSide::kActive;
  };

  static CmDialog* at(Book& book, const Address& active, const Address& passive, std::uint32_t id);
  CmStep on_request(Book& book, const CmMessage& message, const Seen& seen, std::uint32_t flow);
  Place place_of(const CmMessage& message, const Frame& frame);
  Place place_by_transaction(const CmMessage& message, const Frame& frame);

  Findings& findings_;
  Book connections_;
  Book services_;
  std::unordered_map<std::uint64_t, FlowKey> by_transaction_;  ///< of connections
};

}  // namespace urnic::check
