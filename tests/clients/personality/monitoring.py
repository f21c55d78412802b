# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What is known of the counters and files that each card's driver makes, for programs that monitor.

Read in Linux' drivers/infiniband (hw/mlx5/counters.c, hw/irdma/verbs.c, sw/rxe/rxe_hw_counters.c and
core/sysfs.c), and of mlx5 listed on a card by unionxic's rdma-fault-characterization. `lifespan` is in each.
"""

MLX5_COUNTERS = set(
    """duplicate_request implied_nak_seq_err local_ack_timeout_err np_cnp_sent np_ecn_marked_roce_packets
    out_of_buffer out_of_sequence packet_seq_err req_cqe_error req_cqe_flush_error req_remote_access_errors
    req_remote_invalid_request req_rnr_retries_exceeded req_transport_retries_exceeded resp_cqe_error
    resp_cqe_flush_error resp_local_length_error resp_remote_access_errors rnr_nak_retry_err roce_adp_retrans
    roce_adp_retrans_to roce_slow_restart roce_slow_restart_cnps roce_slow_restart_trans rp_cnp_handled
    rp_cnp_ignored rx_atomic_requests rx_dct_connect rx_icrc_encapsulated rx_read_requests
    rx_write_requests""".split()
)
_IP = "InOctets InPkts InReasmRqd InMcastPkts InMcastOctets OutOctets OutPkts OutSegRqd OutMcastPkts".split()
_IP += "OutMcastOctets InDiscards InTruncatedPkts OutNoRoutes".split()
IRDMA_COUNTERS = (
    set(
        """rxVlanErrors tcpRetransSegs tcpInOptErrors tcpInProtoErrors tcpInSegs tcpOutSegs cnpHandled
    cnpIgnored cnpSent iwInRdmaReads iwInRdmaSends iwInRdmaWrites iwOutRdmaReads iwOutRdmaSends
    iwOutRdmaWrites iwRdmaBnd iwRdmaInv RxUDP TxUDP RxECNMrkd""".split()
    )
    | {f"{version}{name}" for version in ("ip4", "ip6") for name in _IP}
)
RXE_COUNTERS = set(
    """sent_pkts rcvd_pkts duplicate_request out_of_seq_request rcvd_rnr_err send_rnr_err rcvd_seq_err
    ack_deferred retry_exceeded_err retry_rnr_exceeded_err completer_retry_err send_err link_downed rdma_sends
    rdma_recvs""".split()
)
COUNTERS = {
    "connectx5": MLX5_COUNTERS,
    "connectx6": MLX5_COUNTERS,
    "e810": IRDMA_COUNTERS,
    "rxe": RXE_COUNTERS,
    "strict": MLX5_COUNTERS & IRDMA_COUNTERS & RXE_COUNTERS,
}

# What urnic says that it does not count (nic/personality/PERSONALITIES.md).
UNCOUNTED = {"e810": {"iwRdmaBnd", "iwRdmaInv", "ip6InReasmRqd"}} | {
    card: set() for card in ("connectx5", "connectx6", "rxe", "strict")
}
UNCOUNTED["e810"] |= {
    f"{version}{name}"
    for version in ("ip4", "ip6")
    for name in _IP
    if "Octets" in name or "Mcast" in name or name in ("InDiscards", "InTruncatedPkts", "OutNoRoutes")
}

# Linux makes these for each device, and a folder `counters` of a port for drivers that answer MADs.
OF_EACH_DEVICE = {"fw_ver", "node_desc", "node_guid", "node_type", "sys_image_guid", "ports", "device"}
OF_MLX5 = {"board_id", "hca_type", "hw_rev"}
FILES = {
    "connectx5": OF_EACH_DEVICE | OF_MLX5,
    "connectx6": OF_EACH_DEVICE | OF_MLX5,
    "e810": OF_EACH_DEVICE,
    "rxe": OF_EACH_DEVICE,  # and `parent`, where the device has an interface
    "strict": OF_EACH_DEVICE,
}
HAS_PORT_COUNTERS = {"connectx5": True, "connectx6": True, "e810": False, "rxe": False, "strict": False}
# Of OFED, and of Linux for all devices: not what tells the drivers apart.
FURTHER_FILES = {"ecn", "uevent"}
