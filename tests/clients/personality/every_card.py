# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What the manual pages of libibverbs and the InfiniBand standard ask of every NIC."""
from personality import rules
from personality.rules import AtLeast

WRS = (1, 3, 16, 100, 1000)
ELEMENTS = (1, 3, 5)
INLINES = (0, 64, 220, 400)
CQES = (1, 100, 127, 128, 1000)
SRQ_WRS = (1, 3, 16, 100, 127, 128, 1000)
SRQ_ELEMENTS = (1, 2, 3, 5)


def asked_sizes():
    """The sizes that the probe asks of a queue pair."""
    for wrs in WRS:
        for elements in ELEMENTS:
            for inline in INLINES:
                if wrs == 16 or elements == 1 or inline == 0:
                    yield wrs, elements, inline


def granted():
    """No queue is smaller than the program requests, where the card makes one."""
    found = []
    for wrs, elements, inline in asked_sizes():
        prefix = f"cap.{wrs}.{elements}.{inline}."
        sizes = {
            "max_send_wr": AtLeast(wrs),
            "max_recv_wr": AtLeast(wrs),
            "max_send_sge": AtLeast(elements),
            "max_recv_sge": AtLeast(elements),
            "max_inline_data": AtLeast(inline),
        }
        found += rules.from_source(
            rules.DOCUMENTED, "manual page ibv_create_qp(3)", sizes, prefix, may_be_absent=True
        )
    for cqes in CQES:
        found += rules.from_source(
            rules.DOCUMENTED, "manual page ibv_create_cq(3)", {f"cq.{cqes}.cqe": AtLeast(cqes)}
        )
    for wrs in SRQ_WRS:
        for elements in SRQ_ELEMENTS:
            sizes = {"max_wr": AtLeast(wrs), "max_sge": AtLeast(elements)}
            found += rules.from_source(
                rules.DOCUMENTED,
                "manual page ibv_create_srq(3)",
                sizes,
                f"srq.{wrs}.{elements}.",
                may_be_absent=True,
            )
    return found


SUCCESSES = ("write", "read", "send", "receive", "send_imm", "receive_imm", "write_imm", "receive_write_imm")
# How each failure of the probe ends.
STATUSES = {
    "unknown_lkey": "LOC_PROT_ERR",
    "element_beyond_its_region": "LOC_PROT_ERR",
    "read_into_region_without_local_write": "LOC_PROT_ERR",
    "right_of_region_missing": "REM_ACCESS_ERR",
    "unknown_rkey": "REM_ACCESS_ERR",
    "remote_address_beyond": "REM_ACCESS_ERR",
    "receiver_not_ready": "RNR_RETRY_EXC_ERR",
    "unsignaled": "REM_ACCESS_ERR",
    "flush_first": "WR_FLUSH_ERR",
    "flush_second": "WR_FLUSH_ERR",
    "flush_receive_first": "WR_FLUSH_ERR",
    "flush_receive_second": "WR_FLUSH_ERR",
    "flush_after_failure": "WR_FLUSH_ERR",
    "flush_receive_after_failure": "WR_FLUSH_ERR",
    "responder_in_rtr": "SUCCESS",
}
FAILED_LOCALLY = ("unknown_lkey", "element_beyond_its_region", "read_into_region_without_local_write")
REFUSED = (
    "right_of_queue_pair_missing",
    "right_of_region_missing",
    "unknown_rkey",
    "remote_address_beyond",
)

# We have not read the standard itself; its rules are cited by the kernel's rxe, and ConnectX keeps them.
_STANDARD = "the InfiniBand standard, second-hand"

EVERY_CARD = [
    *granted(),
    *rules.from_source(
        rules.DOCUMENTED,
        "manual pages ibv_post_send(3) and ibv_create_qp(3)",
        {"post.list.bad_wr_is_the_wrong_one": True, "room.send.granted_is_enough": True},
    ),
    *rules.from_source(
        rules.READ, "rdma-core's providers: requests before bad_wr are posted", {"post.list.completed": 1}
    ),
    *rules.from_source(
        rules.DOCUMENTED,
        _STANDARD,
        {
            "post.receive.in_init": "ok",
            "post.send.in_err": "ok",
            "post.send.in_err_status": "WR_FLUSH_ERR",
            "dereg.status": "REM_ACCESS_ERR",
            "write_past_end.status": "REM_ACCESS_ERR",
        },
    ),
    *rules.from_source(
        rules.DOCUMENTED,
        "manual page ibv_poll_cq(3)",
        {f"wc.{name}.status": "SUCCESS" for name in SUCCESSES}
        | {f"wc.{name}.qp_num": "own" for name in SUCCESSES}
        | {
            "wc.receive.byte_len": 40,
            "wc.receive_imm.byte_len": 40,
            "wc.receive_write_imm.byte_len": 40,
            "wc.receive.opcode": 128,
            "wc.receive_imm.opcode": 128,
            "wc.receive_write_imm.opcode": 129,
            "wc.receive_imm.imm_data": 0x04030201,
            "wc.receive_write_imm.imm_data": 0x04030201,
            "wc.remote_access_error.qp_num": "own",
            "wc.remote_access_error.status": "REM_ACCESS_ERR",
            "wc.flushed_send.status": "WR_FLUSH_ERR",
            "wc.flushed_receive.status": "WR_FLUSH_ERR",
            "wc.flushed_send.qp_num": "own",
            "wc.flushed_receive.qp_num": "own",
        },
    ),
    *rules.from_source(
        rules.DOCUMENTED, _STANDARD, {f"fail.{name}.status": status for name, status in STATUSES.items()}
    ),
    *rules.from_source(
        rules.DOCUMENTED,
        _STANDARD,
        {f"state.{name}.near": "ERR" for name in FAILED_LOCALLY + REFUSED}
        | {f"state.{name}.far": "ERR" for name in REFUSED}
        | {f"state.{name}.far": "RTS" for name in FAILED_LOCALLY + ("receiver_not_ready",)},
    ),
    *rules.from_source(
        rules.DOCUMENTED,
        "manual page ibv_reg_mr(3)",
        {
            "reg_mr.remote_write_without_local_write": "EINVAL",
            "reg_mr.remote_atomic_without_local_write": "EINVAL",
            "reg_mr.remote_read_alone": "ok",
            "dereg.errno": "ok",
        },
    ),
]

# What no card here is known for, so that each expectation of these names would be a guess.
NOWHERE_KNOWN = rules.not_known(
    "depends on the host, or no source says",
    "attr.num_comp_vectors",
    "port.active_mtu",
    "port.max_mtu",
    "port.link_layer",
    "wc.receive.sl",
    "wc.receive.slid",
    "create.send_sge_beyond",
    "event.send_too_long.near",
    "event.send_too_long.far",
)
