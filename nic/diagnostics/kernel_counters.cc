// Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

#include "nic/diagnostics/kernel_counters.h"

#include <algorithm>
#include <cstddef>

namespace urnic::nic {
namespace {

/// PortXmitData and PortRcvData count in octets divided by 4 (hardware fact K5).
constexpr std::uint64_t kDataUnit = 4;

constexpr unsigned list_bit(CounterNames names) {
  return 1u << static_cast<unsigned>(names);
}
constexpr unsigned kInOwn = list_bit(CounterNames::kOwn);
constexpr unsigned kInMlx5 = list_bit(CounterNames::kMlx5);
constexpr unsigned kInIrdma = list_bit(CounterNames::kIrdma);
constexpr unsigned kInRxe = list_bit(CounterNames::kRxe);

/// The lists of the drivers are hardware facts F10 (mlx5), F11 (irdma as it is for E810) and F12 (rdma_rxe),
/// how mlx5 counts F1, F2 and F5, and that cnpSent stays 0 on E810 F6.
constexpr KernelCounter kCounters[] = {
    {"counters/port_xmit_data", kInOwn | kInMlx5, {"port_sent_bytes"}, kDataUnit},
    {"counters/port_rcv_data", kInOwn | kInMlx5, {"port_received_bytes"}, kDataUnit},
    {"counters/port_xmit_packets", kInOwn | kInMlx5, {"port_sent_frames"}},
    {"counters/port_rcv_packets", kInOwn | kInMlx5, {"port_received_frames"}},
    {"counters/port_xmit_discards",
     kInOwn | kInMlx5,
     {"port_dropped_frames", "tx_drop_no_neighbor", "tx_drop_too_long", "tx_drop_stalled"}},
    {"counters/port_rcv_errors",
     kInOwn | kInMlx5,
     {"rx_drop_truncated", "rx_drop_bad_ip_header", "rx_drop_bad_udp_length", "rx_drop_bad_udp_checksum",
      "rx_drop_bad_version", "rx_drop_too_short", "rx_drop_unexpected_payload", "rx_drop_bad_icrc"}},
    {"counters/VL15_dropped", kInOwn | kInMlx5, {}},
    {"counters/excessive_buffer_overrun_errors", kInOwn | kInMlx5, {}},
    {"counters/link_downed", kInMlx5, {"link_downed"}},
    {"counters/link_error_recovery", kInOwn | kInMlx5, {}},
    {"counters/local_link_integrity_errors", kInOwn | kInMlx5, {}},
    {"counters/port_rcv_constraint_errors", kInOwn | kInMlx5, {}},
    {"counters/port_rcv_remote_physical_errors", kInOwn | kInMlx5, {}},
    {"counters/port_rcv_switch_relay_errors", kInOwn | kInMlx5, {}},
    {"counters/port_xmit_constraint_errors", kInOwn | kInMlx5, {}},
    {"counters/symbol_error", kInOwn | kInMlx5, {}},
    // rdma_rxe's and mlx5's.
    {"hw_counters/duplicate_request", kInOwn | kInMlx5 | kInRxe, {"duplicate_request"}},
    // rdma_rxe's. Acknowledgements do not wait for another task here.
    {"hw_counters/ack_deferred", kInRxe, {}},
    {"hw_counters/completer_retry_err", kInOwn | kInRxe, {"completer_retry_err"}},
    {"hw_counters/link_downed", kInRxe, {"link_downed"}},
    {"hw_counters/out_of_seq_request", kInOwn | kInRxe, {"out_of_seq_request"}},
    {"hw_counters/rcvd_pkts", kInOwn | kInRxe, {"rcvd_pkts"}},
    {"hw_counters/rcvd_rnr_err", kInOwn | kInRxe, {"rcvd_rnr_err"}},
    {"hw_counters/rcvd_seq_err", kInOwn | kInRxe, {"rcvd_seq_err"}},
    {"hw_counters/rdma_recvs", kInOwn | kInRxe, {"rdma_recvs"}},
    {"hw_counters/rdma_sends", kInOwn | kInRxe, {"rdma_sends"}},
    {"hw_counters/retry_exceeded_err", kInOwn | kInRxe, {"retry_exceeded_err"}},
    {"hw_counters/retry_rnr_exceeded_err", kInOwn | kInRxe, {"retry_rnr_exceeded_err"}},
    {"hw_counters/send_err", kInOwn | kInRxe, {"send_err"}},
    {"hw_counters/send_rnr_err", kInOwn | kInRxe, {"send_rnr_err"}},
    {"hw_counters/sent_pkts", kInOwn | kInRxe, {"sent_pkts"}},
    // mlx5's.
    {"hw_counters/implied_nak_seq_err", kInOwn | kInMlx5, {"implied_nak_seq_err"}},
    {"hw_counters/local_ack_timeout_err", kInOwn, {"local_ack_timeout_err", "roce_adp_retrans"}},
    {"hw_counters/local_ack_timeout_err", kInMlx5, {"local_ack_timeout_err"}},
    {"hw_counters/np_cnp_sent", kInOwn | kInMlx5, {"np_cnp_sent"}},
    {"hw_counters/np_ecn_marked_roce_packets", kInOwn | kInMlx5, {"np_ecn_marked_roce_packets"}},
    {"hw_counters/out_of_buffer", kInOwn | kInMlx5, {"out_of_buffer"}},
    {"hw_counters/out_of_sequence", kInOwn | kInMlx5, {"out_of_sequence"}},
    {"hw_counters/packet_seq_err", kInOwn | kInMlx5, {"packet_seq_err"}},
    {"hw_counters/req_cqe_error", kInOwn, {"req_cqe_error"}},
    // A request that is flushed is an error here, and no flush (F1).
    {"hw_counters/req_cqe_error", kInMlx5, {"req_cqe_error", "req_cqe_flush_error"}},
    {"hw_counters/req_cqe_flush_error", kInMlx5, {}},
    {"hw_counters/req_remote_access_errors", kInMlx5, {"req_remote_access_errors"}},
    {"hw_counters/req_remote_invalid_request", kInMlx5, {"req_remote_invalid_request"}},
    {"hw_counters/req_rnr_retries_exceeded", kInOwn | kInMlx5, {"rnr_nak_retry_err"}},
    {"hw_counters/req_transport_retries_exceeded", kInOwn | kInMlx5, {"retry_exceeded_err"}},
    {"hw_counters/resp_cqe_error", kInOwn | kInMlx5, {"resp_cqe_error"}},
    {"hw_counters/resp_cqe_flush_error", kInMlx5, {"resp_cqe_flush_error"}},
    {"hw_counters/resp_local_length_error", kInMlx5, {"resp_local_length_error"}},
    {"hw_counters/resp_remote_access_errors", kInOwn, {"resp_remote_access_errors"}},
    // It does not move when the responder refuses (F2).
    {"hw_counters/resp_remote_access_errors", kInMlx5, {}},
    {"hw_counters/rnr_nak_retry_err", kInOwn | kInMlx5, {"rnr_nak_retry_err"}},
    {"hw_counters/roce_adp_retrans", kInMlx5, {"roce_adp_retrans"}},
    // None of these moved when a peer was given up (F1); there is no slow restart here.
    {"hw_counters/roce_adp_retrans_to", kInMlx5, {}},
    {"hw_counters/roce_slow_restart", kInMlx5, {}},
    {"hw_counters/roce_slow_restart_cnps", kInMlx5, {}},
    {"hw_counters/roce_slow_restart_trans", kInMlx5, {}},
    {"hw_counters/rp_cnp_handled", kInOwn, {"rp_cnp_handled"}},
    // What is sent again after a timeout counts as a CNP (F5).
    {"hw_counters/rp_cnp_handled", kInMlx5, {"rp_cnp_handled", "timeout_repetitions"}},
    {"hw_counters/rp_cnp_ignored", kInOwn | kInMlx5, {"rp_cnp_ignored"}},
    {"hw_counters/rx_atomic_requests", kInMlx5, {"rx_atomic_requests"}},
    {"hw_counters/rx_dct_connect", kInMlx5, {}},
    {"hw_counters/rx_icrc_encapsulated", kInOwn | kInMlx5, {"rx_icrc_encapsulated"}},
    {"hw_counters/rx_read_requests", kInMlx5, {"rx_read_requests"}},
    {"hw_counters/rx_write_requests", kInMlx5, {"rx_write_requests"}},
    // EFA's, which monitors of traffic read (rdmatop).
    {"hw_counters/rx_bytes", kInOwn, {"rcvd_bytes"}},
    {"hw_counters/rx_pkts", kInOwn, {"rcvd_pkts"}},
    {"hw_counters/tx_bytes", kInOwn, {"sent_bytes"}},
    {"hw_counters/tx_pkts", kInOwn, {"sent_pkts"}},
    // irdma's, under the names of Linux 6.1.
    {"hw_counters/RxECNMrkd", kInIrdma, {"np_ecn_marked_roce_packets"}},
    {"hw_counters/RxUDP", kInIrdma, {"rcvd_pkts"}},
    {"hw_counters/TxUDP", kInIrdma, {"sent_pkts"}},
    {"hw_counters/cnpHandled", kInIrdma, {"rp_cnp_handled"}},
    {"hw_counters/cnpIgnored", kInIrdma, {"rp_cnp_ignored"}},
    {"hw_counters/cnpSent", kInIrdma, {}},
    {"hw_counters/ip4InPkts", kInIrdma, {"rcvd_pkts"}, 1, "rcvd_ipv6_pkts"},
    {"hw_counters/ip4InReasmRqd", kInIrdma, {"rx_drop_fragment"}},
    {"hw_counters/ip4OutPkts", kInIrdma, {"sent_pkts"}, 1, "sent_ipv6_pkts"},
    {"hw_counters/ip4OutSegRqd", kInIrdma, {}},
    {"hw_counters/ip6InPkts", kInIrdma, {"rcvd_ipv6_pkts"}},
    {"hw_counters/ip6OutPkts", kInIrdma, {"sent_ipv6_pkts"}},
    {"hw_counters/ip6OutSegRqd", kInIrdma, {}},
    {"hw_counters/iwInRdmaReads", kInIrdma, {"rx_read_requests"}},
    {"hw_counters/iwInRdmaSends", kInIrdma, {"rx_send_requests"}},
    {"hw_counters/iwInRdmaWrites", kInIrdma, {"rx_write_requests"}},
    {"hw_counters/iwOutRdmaReads", kInIrdma, {"tx_read_requests"}},
    {"hw_counters/iwOutRdmaSends", kInIrdma, {"tx_send_requests"}},
    {"hw_counters/iwOutRdmaWrites", kInIrdma, {"tx_write_requests"}},
    {"hw_counters/rxVlanErrors", kInIrdma, {"rx_drop_wrong_vlan"}},
    {"hw_counters/tcpInOptErrors", kInIrdma, {}},
    {"hw_counters/tcpInProtoErrors", kInIrdma, {}},
    {"hw_counters/tcpInSegs", kInIrdma, {}},
    {"hw_counters/tcpOutSegs", kInIrdma, {}},
    {"hw_counters/tcpRetransSegs", kInIrdma, {}},
};

/// In the order of CounterNames.
constexpr std::array<std::string_view, 5> kListNames = {"own", "mlx5", "irdma", "rxe", "none"};

/// Made by the compiler: a process counts still when the destructors of its static objects have run.
template <CounterNames kNames>
constexpr auto make_list() {
  constexpr auto is_in = [](const KernelCounter& counter) { return (counter.lists & list_bit(kNames)) != 0; };
  std::array<KernelCounter, std::ranges::count_if(kCounters, is_in)> list{};
  std::ranges::copy_if(kCounters, list.begin(), is_in);
  return list;
}
template <CounterNames kNames>
constexpr auto kList = make_list<kNames>();

}  // namespace

std::span<const KernelCounter> kernel_counters(CounterNames names) {
  switch (names) {
    case CounterNames::kOwn:
      return kList<CounterNames::kOwn>;
    case CounterNames::kMlx5:
      return kList<CounterNames::kMlx5>;
    case CounterNames::kIrdma:
      return kList<CounterNames::kIrdma>;
    case CounterNames::kRxe:
      return kList<CounterNames::kRxe>;
    case CounterNames::kNone:
      break;
  }
  return {};
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
