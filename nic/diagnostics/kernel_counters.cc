// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/kernel_counters.h"

#include <algorithm>
#include <cstddef>

namespace urnic::nic {
namespace {

/// PortXmitData and PortRcvData count in octets divided by 4 (hardware fact K5).
constexpr std::uint64_t kDataUnit = 4;

constexpr unsigned bit(CounterNames names) {
  return 1u << static_cast<unsigned>(names);
}
constexpr unsigned kOwn = bit(CounterNames::kOwn);
constexpr unsigned kMlx5 = bit(CounterNames::kMlx5);
constexpr unsigned kIrdma = bit(CounterNames::kIrdma);
constexpr unsigned kRxe = bit(CounterNames::kRxe);

/// The lists of the drivers are hardware facts F10 (mlx5), F11 (irdma as it is for E810) and F12 (rdma_rxe),
/// how mlx5 counts F1, F2 and F5, and that cnpSent stays 0 on E810 F6.
constexpr KernelCounter kCounters[] = {
    {"counters/port_xmit_data", kOwn | kMlx5, {"port_sent_bytes"}, kDataUnit},
    {"counters/port_rcv_data", kOwn | kMlx5, {"port_received_bytes"}, kDataUnit},
    {"counters/port_xmit_packets", kOwn | kMlx5, {"port_sent_frames"}},
    {"counters/port_rcv_packets", kOwn | kMlx5, {"port_received_frames"}},
    {"counters/port_xmit_discards",
     kOwn | kMlx5,
     {"port_dropped_frames", "tx_drop_no_neighbor", "tx_drop_too_long", "tx_drop_stalled"}},
    {"counters/port_rcv_errors",
     kOwn | kMlx5,
     {"rx_drop_truncated", "rx_drop_bad_ip_header", "rx_drop_bad_udp_length", "rx_drop_bad_udp_checksum",
      "rx_drop_bad_version", "rx_drop_too_short", "rx_drop_unexpected_payload", "rx_drop_bad_icrc"}},
    {"counters/VL15_dropped", kOwn | kMlx5, {}},
    {"counters/excessive_buffer_overrun_errors", kOwn | kMlx5, {}},
    {"counters/link_downed", kMlx5, {"link_downed"}},
    {"counters/link_error_recovery", kOwn | kMlx5, {}},
    {"counters/local_link_integrity_errors", kOwn | kMlx5, {}},
    {"counters/port_rcv_constraint_errors", kOwn | kMlx5, {}},
    {"counters/port_rcv_remote_physical_errors", kOwn | kMlx5, {}},
    {"counters/port_rcv_switch_relay_errors", kOwn | kMlx5, {}},
    {"counters/port_xmit_constraint_errors", kOwn | kMlx5, {}},
    {"counters/symbol_error", kOwn | kMlx5, {}},
    // rdma_rxe's and mlx5's.
    {"hw_counters/duplicate_request", kOwn | kMlx5 | kRxe, {"duplicate_request"}},
    // rdma_rxe's. Acknowledgements do not wait for another task here.
    {"hw_counters/ack_deferred", kRxe, {}},
    {"hw_counters/completer_retry_err", kOwn | kRxe, {"completer_retry_err"}},
    {"hw_counters/link_downed", kRxe, {"link_downed"}},
    {"hw_counters/out_of_seq_request", kOwn | kRxe, {"out_of_seq_request"}},
    {"hw_counters/rcvd_pkts", kOwn | kRxe, {"rcvd_pkts"}},
    {"hw_counters/rcvd_rnr_err", kOwn | kRxe, {"rcvd_rnr_err"}},
    {"hw_counters/rcvd_seq_err", kOwn | kRxe, {"rcvd_seq_err"}},
    {"hw_counters/rdma_recvs", kOwn | kRxe, {"rdma_recvs"}},
    {"hw_counters/rdma_sends", kOwn | kRxe, {"rdma_sends"}},
    {"hw_counters/retry_exceeded_err", kOwn | kRxe, {"retry_exceeded_err"}},
    {"hw_counters/retry_rnr_exceeded_err", kOwn | kRxe, {"retry_rnr_exceeded_err"}},
    {"hw_counters/send_err", kOwn | kRxe, {"send_err"}},
    {"hw_counters/send_rnr_err", kOwn | kRxe, {"send_rnr_err"}},
    {"hw_counters/sent_pkts", kOwn | kRxe, {"sent_pkts"}},
    // mlx5's.
    {"hw_counters/implied_nak_seq_err", kOwn | kMlx5, {"implied_nak_seq_err"}},
    {"hw_counters/local_ack_timeout_err", kOwn, {"local_ack_timeout_err", "roce_adp_retrans"}},
    {"hw_counters/local_ack_timeout_err", kMlx5, {"local_ack_timeout_err"}},
    {"hw_counters/np_cnp_sent", kOwn | kMlx5, {"np_cnp_sent"}},
    {"hw_counters/np_ecn_marked_roce_packets", kOwn | kMlx5, {"np_ecn_marked_roce_packets"}},
    {"hw_counters/out_of_buffer", kOwn | kMlx5, {"out_of_buffer"}},
    {"hw_counters/out_of_sequence", kOwn | kMlx5, {"out_of_sequence"}},
    {"hw_counters/packet_seq_err", kOwn | kMlx5, {"packet_seq_err"}},
    {"hw_counters/req_cqe_error", kOwn, {"req_cqe_error"}},
    // A request that is flushed is an error here, and no flush (F1).
    {"hw_counters/req_cqe_error", kMlx5, {"req_cqe_error", "req_cqe_flush_error"}},
    {"hw_counters/req_cqe_flush_error", kMlx5, {}},
    {"hw_counters/req_remote_access_errors", kMlx5, {"req_remote_access_errors"}},
    {"hw_counters/req_remote_invalid_request", kMlx5, {"req_remote_invalid_request"}},
    {"hw_counters/req_rnr_retries_exceeded", kOwn | kMlx5, {"rnr_nak_retry_err"}},
    {"hw_counters/req_transport_retries_exceeded", kOwn | kMlx5, {"retry_exceeded_err"}},
    {"hw_counters/resp_cqe_error", kOwn | kMlx5, {"resp_cqe_error"}},
    {"hw_counters/resp_cqe_flush_error", kMlx5, {"resp_cqe_flush_error"}},
    {"hw_counters/resp_local_length_error", kMlx5, {"resp_local_length_error"}},
    {"hw_counters/resp_remote_access_errors", kOwn, {"resp_remote_access_errors"}},
    // It does not move when the responder refuses (F2).
    {"hw_counters/resp_remote_access_errors", kMlx5, {}},
    {"hw_counters/rnr_nak_retry_err", kOwn | kMlx5, {"rnr_nak_retry_err"}},
    {"hw_counters/roce_adp_retrans", kMlx5, {"roce_adp_retrans"}},
    // None of these moved when a peer was given up (F1); there is no slow restart here.
    {"hw_counters/roce_adp_retrans_to", kMlx5, {}},
    {"hw_counters/roce_slow_restart", kMlx5, {}},
    {"hw_counters/roce_slow_restart_cnps", kMlx5, {}},
    {"hw_counters/roce_slow_restart_trans", kMlx5, {}},
    {"hw_counters/rp_cnp_handled", kOwn, {"rp_cnp_handled"}},
    // What is sent again after a timeout counts as a CNP (F5).
    {"hw_counters/rp_cnp_handled", kMlx5, {"rp_cnp_handled", "timeout_repetitions"}},
    {"hw_counters/rp_cnp_ignored", kOwn | kMlx5, {"rp_cnp_ignored"}},
    {"hw_counters/rx_atomic_requests", kMlx5, {"rx_atomic_requests"}},
    {"hw_counters/rx_dct_connect", kMlx5, {}},
    {"hw_counters/rx_icrc_encapsulated", kOwn | kMlx5, {"rx_icrc_encapsulated"}},
    {"hw_counters/rx_read_requests", kMlx5, {"rx_read_requests"}},
    {"hw_counters/rx_write_requests", kMlx5, {"rx_write_requests"}},
    // EFA's, which monitors of traffic read (rdmatop).
    {"hw_counters/rx_bytes", kOwn, {"rcvd_bytes"}},
    {"hw_counters/rx_pkts", kOwn, {"rcvd_pkts"}},
    {"hw_counters/tx_bytes", kOwn, {"sent_bytes"}},
    {"hw_counters/tx_pkts", kOwn, {"sent_pkts"}},
    // irdma's, under the names of Linux 6.1.
    {"hw_counters/RxECNMrkd", kIrdma, {"np_ecn_marked_roce_packets"}},
    {"hw_counters/RxUDP", kIrdma, {"rcvd_pkts"}},
    {"hw_counters/TxUDP", kIrdma, {"sent_pkts"}},
    {"hw_counters/cnpHandled", kIrdma, {"rp_cnp_handled"}},
    {"hw_counters/cnpIgnored", kIrdma, {"rp_cnp_ignored"}},
    {"hw_counters/cnpSent", kIrdma, {}},
    {"hw_counters/ip4InPkts", kIrdma, {"rcvd_pkts"}, 1, "rcvd_ipv6_pkts"},
    {"hw_counters/ip4InReasmRqd", kIrdma, {"rx_drop_fragment"}},
    {"hw_counters/ip4OutPkts", kIrdma, {"sent_pkts"}, 1, "sent_ipv6_pkts"},
    {"hw_counters/ip4OutSegRqd", kIrdma, {}},
    {"hw_counters/ip6InPkts", kIrdma, {"rcvd_ipv6_pkts"}},
    {"hw_counters/ip6OutPkts", kIrdma, {"sent_ipv6_pkts"}},
    {"hw_counters/ip6OutSegRqd", kIrdma, {}},
    {"hw_counters/iwInRdmaReads", kIrdma, {"rx_read_requests"}},
    {"hw_counters/iwInRdmaSends", kIrdma, {"rx_send_requests"}},
    {"hw_counters/iwInRdmaWrites", kIrdma, {"rx_write_requests"}},
    {"hw_counters/iwOutRdmaReads", kIrdma, {"tx_read_requests"}},
    {"hw_counters/iwOutRdmaSends", kIrdma, {"tx_send_requests"}},
    {"hw_counters/iwOutRdmaWrites", kIrdma, {"tx_write_requests"}},
    {"hw_counters/rxVlanErrors", kIrdma, {"rx_drop_wrong_vlan"}},
    {"hw_counters/tcpInOptErrors", kIrdma, {}},
    {"hw_counters/tcpInProtoErrors", kIrdma, {}},
    {"hw_counters/tcpInSegs", kIrdma, {}},
    {"hw_counters/tcpOutSegs", kIrdma, {}},
    {"hw_counters/tcpRetransSegs", kIrdma, {}},
};

/// In the order of CounterNames.
constexpr std::array<std::string_view, 5> kListNames = {"own", "mlx5", "irdma", "rxe", "none"};

std::vector<KernelCounter> list_of(std::size_t names) {
  std::vector<KernelCounter> list;
  for (const KernelCounter& counter : kCounters) {
    if ((counter.lists & (1u << names)) != 0) list.push_back(counter);
  }
  return list;
}

}  // namespace

std::span<const KernelCounter> kernel_counters(CounterNames names) {
  static const std::array<std::vector<KernelCounter>, kListNames.size()> lists = {
      list_of(0), list_of(1), list_of(2), list_of(3), list_of(4)};
  return lists[static_cast<std::size_t>(names)];
}

std::string_view name_of(CounterNames names) {
  return kListNames[static_cast<std::size_t>(names)];
}

std::optional<CounterNames> counter_names_named(std::string_view name) {
  const auto* const found = std::ranges::find(kListNames, name);
  if (found == kListNames.end()) return std::nullopt;
  return static_cast<CounterNames>(found - kListNames.begin());
}

std::uint64_t value_of(const KernelCounter& counter, const CounterValues& values) {
  std::uint64_t sum = 0;
  std::uint64_t less = 0;
  for (const auto& [name, value] : values) {
    const bool is_source =
        std::find(counter.sources.begin(), counter.sources.end(), name) != counter.sources.end();
    if (is_source) sum += value;
    if (name == counter.less) less = value;
  }
  // They are read one after the other, and a packet may come in between.
  return (sum - std::min(sum, less)) / counter.unit;
}

}  // namespace urnic::nic
