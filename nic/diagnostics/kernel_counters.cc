// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/kernel_counters.h"

#include <algorithm>

namespace urnic::nic {
namespace {

/// PortXmitData and PortRcvData count in octets divided by 4 (hardware fact K5).
constexpr std::uint64_t kDataUnit = 4;

constexpr KernelCounter kCounters[] = {
    {"counters/port_xmit_data", {"port_sent_bytes"}, kDataUnit},
    {"counters/port_rcv_data", {"port_received_bytes"}, kDataUnit},
    {"counters/port_xmit_packets", {"port_sent_frames"}},
    {"counters/port_rcv_packets", {"port_received_frames"}},
    {"counters/port_xmit_discards",
     {"port_dropped_frames", "tx_drop_no_neighbor", "tx_drop_too_long", "tx_drop_stalled"}},
    {"counters/port_rcv_errors",
     {"rx_drop_truncated", "rx_drop_bad_ip_header", "rx_drop_bad_udp_length", "rx_drop_bad_udp_checksum",
      "rx_drop_bad_version", "rx_drop_too_short", "rx_drop_unexpected_payload", "rx_drop_bad_icrc"}},
    {"counters/VL15_dropped", {}},
    {"counters/excessive_buffer_overrun_errors", {}},
    {"counters/link_error_recovery", {}},
    {"counters/local_link_integrity_errors", {}},
    {"counters/port_rcv_constraint_errors", {}},
    {"counters/port_rcv_remote_physical_errors", {}},
    {"counters/port_rcv_switch_relay_errors", {}},
    {"counters/port_xmit_constraint_errors", {}},
    {"counters/symbol_error", {}},
    // rdma_rxe's and mlx5's.
    {"hw_counters/duplicate_request", {"duplicate_request"}},
    // rdma_rxe's.
    {"hw_counters/completer_retry_err", {"completer_retry_err"}},
    {"hw_counters/out_of_seq_request", {"out_of_seq_request"}},
    {"hw_counters/rcvd_pkts", {"rcvd_pkts"}},
    {"hw_counters/rcvd_rnr_err", {"rcvd_rnr_err"}},
    {"hw_counters/rcvd_seq_err", {"rcvd_seq_err"}},
    {"hw_counters/rdma_recvs", {"rdma_recvs"}},
    {"hw_counters/rdma_sends", {"rdma_sends"}},
    {"hw_counters/retry_exceeded_err", {"retry_exceeded_err"}},
    {"hw_counters/retry_rnr_exceeded_err", {"retry_rnr_exceeded_err"}},
    {"hw_counters/send_err", {"send_err"}},
    {"hw_counters/send_rnr_err", {"send_rnr_err"}},
    {"hw_counters/sent_pkts", {"sent_pkts"}},
    // mlx5's.
    {"hw_counters/implied_nak_seq_err", {"implied_nak_seq_err"}},
    {"hw_counters/local_ack_timeout_err", {"local_ack_timeout_err"}},
    {"hw_counters/np_cnp_sent", {"np_cnp_sent"}},
    {"hw_counters/np_ecn_marked_roce_packets", {"np_ecn_marked_roce_packets"}},
    {"hw_counters/out_of_buffer", {"out_of_buffer"}},
    {"hw_counters/out_of_sequence", {"out_of_sequence"}},
    {"hw_counters/packet_seq_err", {"packet_seq_err"}},
    {"hw_counters/req_cqe_error", {"req_cqe_error"}},
    {"hw_counters/req_rnr_retries_exceeded", {"rnr_nak_retry_err"}},
    {"hw_counters/req_transport_retries_exceeded", {"retry_exceeded_err"}},
    {"hw_counters/resp_cqe_error", {"resp_cqe_error"}},
    {"hw_counters/resp_remote_access_errors", {"resp_remote_access_errors"}},
    {"hw_counters/rnr_nak_retry_err", {"rnr_nak_retry_err"}},
    {"hw_counters/rp_cnp_handled", {"rp_cnp_handled"}},
    {"hw_counters/rp_cnp_ignored", {"rp_cnp_ignored"}},
    {"hw_counters/rx_icrc_encapsulated", {"rx_icrc_encapsulated"}},
    // EFA's, which monitors of traffic read (rdmatop).
    {"hw_counters/rx_bytes", {"rcvd_bytes"}},
    {"hw_counters/rx_pkts", {"rcvd_pkts"}},
    {"hw_counters/tx_bytes", {"sent_bytes"}},
    {"hw_counters/tx_pkts", {"sent_pkts"}},
};

}  // namespace

std::span<const KernelCounter> kernel_counters() {
  return kCounters;
}

std::uint64_t value_of(const KernelCounter& counter, const CounterValues& values) {
  std::uint64_t sum = 0;
  for (const auto& [name, value] : values) {
    const bool is_source =
        std::find(counter.sources.begin(), counter.sources.end(), name) != counter.sources.end();
    if (is_source) sum += value;
  }
  return sum / counter.unit;
}

}  // namespace urnic::nic
