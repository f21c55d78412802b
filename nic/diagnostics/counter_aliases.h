// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

// Counters under the names that rdma_rxe and mlx5 give them, for people and tools that look for those (fact
// 54).
#pragma once

#include <array>
#include <string_view>

namespace urnic::nic {

/// Another name, and what is added up for it. rxe's ack_deferred has no counterpart here: nothing is
/// published under that name.
struct CounterAlias {
  std::string_view name;
  std::array<std::string_view, 4> sources;
};

inline constexpr CounterAlias kCounterAliases[] = {
    {"out_of_seq_request", {"out_of_sequence"}},
    {"rcvd_seq_err", {"packet_seq_err"}},
    {"retry_rnr_exceeded_err", {"rnr_nak_retry_err"}},
    {"completer_retry_err",
     {"packet_seq_err", "implied_nak_seq_err", "local_ack_timeout_err", "roce_adp_retrans"}},
    {"send_err", {"tx_drop_no_neighbor", "tx_drop_too_long", "tx_drop_stalled"}},
    {"rx_icrc_encapsulated", {"rx_drop_bad_icrc"}},
};

}  // namespace urnic::nic
