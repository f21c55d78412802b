// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// UnreliableFlow: what one unreliable queue pair may send, judged from the wire alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "tools/simulation/seeds/core/wire_view.h"

namespace urnic::sim {

/// Watches the packets of one queue pair (UC or UD): PSNs without a gap, nothing twice, messages whole and
/// cut at the path MTU, no AckReq (fact 18), Q_Key and source of datagrams.
class UnreliableFlow {
 public:
  struct Expectations {
    bool is_datagram = false;
    std::uint32_t mtu_bytes = 1024;
    std::uint32_t first_psn = 0;
    std::uint32_t qp_number = 0;
    /// How many packets the NIC has dropped so far, with their PSNs, as it found no neighbor; nothing: none.
    std::function<std::uint64_t()> without_neighbor;
  };

  explicit UnreliableFlow(Expectations expected)
      : expected_(std::move(expected)), next_(expected_.first_psn) {}

  std::optional<std::string> on_sent(const WireView& packet);

  /// The queue pair may begin no message any more (SQD, SQE), or may again.
  void on_draining(bool is_draining) { is_draining_ = is_draining; }
  bool is_inside_message() const { return open_.has_value(); }

 private:
  std::optional<std::string> check_message(const WireView& packet);

  Expectations expected_;
  std::uint32_t next_;
  std::uint64_t skipped_ = 0;       // PSNs
  std::optional<PacketKind> open_;  // the message whose last packet has not come
  std::uint64_t left_ = 0;          // of a WRITE
  bool is_draining_ = false;
};

}  // namespace urnic::sim
