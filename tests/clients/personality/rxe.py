# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What is known of the Linux kernel's rdma_rxe of 5.16 and later, as librxe shows it."""
from personality import rules
from personality.rules import Between, Matches, OneOf, Written

_PARAM = "Linux' drivers/infiniband/sw/rxe/rxe_param.h of 6.1"
_LIBRARY = "rdma-core's providers/rxe/rxe.c"
_RESPONDER = "Linux' drivers/infiniband/sw/rxe/rxe_resp.c"
_COMPLETER = "Linux' drivers/infiniband/sw/rxe/rxe_comp.c"

_ERRORS = ("remote_access_error", "flushed_send", "flushed_receive")
_FIELDS = ("opcode", "vendor_err", "byte_len", "imm_data", "src_qp", "wc_flags", "pkey_index", "slid", "sl")
_IMMEDIATE = ("send_imm", "write_imm")
_GOOD = ("send", "write", "read", "receive", "receive_imm")


def _acknowledgement_timeout_ms(timeout):
    return 4.096e-3 * 2**timeout


def _waits():
    """The nominal time for each transmission, and not much more: retries that are 7 never end."""
    found = []
    for timeout, retries in ((14, 0), (14, 1), (14, 3), (17, 1)):
        nominal = _acknowledgement_timeout_ms(timeout) * (retries + 1)
        rule = Between(int(nominal * 0.9), int(nominal * 1.5) + 150)
        found += rules.from_source(
            rules.READ,
            "Linux' rxe_comp.c and rxe_verbs.h: the nominal timeout, retry count + 1 times",
            {f"time.{timeout}.{retries}.ms": rule, f"time.{timeout}.{retries}.status": "RETRY_EXC_ERR"},
        )
    found += rules.from_source(
        rules.READ,
        "Linux' rxe_comp.c: a retry count of 7 is endless",
        {"time.8.7.ms": "never", "time.14.7.ms": "never"},
    )
    return found


RXE = [
    *rules.from_source(
        rules.READ,
        _PARAM,
        {
            "attr.vendor_id": 0xFFFFFF,
            "attr.vendor_part_id": 0,
            "attr.hw_ver": 0,
            "attr.fw_ver": "0.0.0",
            "attr.name": Matches(r"rxe\w+"),
            "attr.transport": 0,
            "attr.phys_port_cnt": 1,
            "attr.max_mr_size": 2**64 - 1,
            "attr.page_size_cap": OneOf(0xFFFFF000, 4096),
            "attr.max_qp": 1048576,
            "attr.max_qp_wr": 1048576,
            "attr.max_sge": 32,
            "attr.max_sge_rd": 32,
            "attr.max_cq": 1048576,
            "attr.max_cqe": 32767,
            "attr.max_pd": 1048576,
            "attr.max_qp_rd_atom": 128,
            "attr.max_qp_init_rd_atom": 128,
            "attr.max_res_rd_atom": 0x3F000,
            "attr.atomic_cap": 1,
            "attr.max_mcast_grp": 8192,
            "attr.max_mcast_qp_attach": 56,
            "attr.max_total_mcast_qp_attach": 0x70000,
            "attr.max_ah": 1048576,
            "attr.max_srq_wr": 1048576,
            "attr.max_srq_sge": 27,
            "attr.max_pkeys": 64,
            "attr.local_ca_ack_delay": 15,
            "attr_ex.max_dm_size": 0,
            "attr_ex.max_cq_count": 0,
            "port.max_msg_sz": 0x800000,
            "port.gid_tbl_len": 1024,
            "port.pkey_tbl_len": OneOf(1, 64),
            "port.lid": 0,
            "port.sm_lid": 0,
            "port.max_vl_num": 1,
        },
    ),
    *rules.from_source(
        rules.MEASURED,
        "seen on hosts with rxe: RoCE v2 alone, the first link-local",
        {"gid.types": Matches("2+"), "gid.first_is_link_local": True},
    ),
    *rules.from_source(
        rules.READ,
        f"{_LIBRARY} (validate_send_wr)",
        {
            "post.send.too_many_elements": "EINVAL",
            "post.receive.too_many_elements": "EINVAL",
            "post.send.inline_too_long": "EINVAL",
            "post.atomic.aligned": "ok",
            "post.atomic.misaligned": "EINVAL",
            "post.atomic.of_4_bytes": "EINVAL",
            "room.receive.errno_when_full": "ENOMEM",
            "create.inline_512": "ok",
        },
    ),
    *rules.from_source(rules.READ, f"{_LIBRARY} (rxe_post_recv)", {"post.receive.in_reset": "EINVAL"}),
    *rules.from_source(
        rules.RECALLED,
        f"{_LIBRARY}, and the kernel's rxe_comp.c, which moves the other end of the queue",
        {"room.send.unsignaled_fit_is": "never full", "room.send.errno_before_poll": "ok"},
    ),
    *rules.from_source(
        rules.READ,
        f"{_LIBRARY} (rxe_poll_cq) copies the kernel's whole entry, which begins as zeros;"
        f" {_RESPONDER} (do_complete) adds IBV_WC_GRH to every receive",
        {f"wc.{name}.{field}": Written() for name in (*_ERRORS, *_GOOD) for field in _FIELDS}
        | {f"wc.{name}.imm_data": 0 for name in _ERRORS}
        | {"wc.receive.wc_flags": 1, "wc.receive_imm.wc_flags": 3},
    ),
    *rules.from_source(
        rules.RECALLED,
        "the kernel's rxe leaves them in the queue",
        {
            f"purge.{when}.{which}_polled_later": 2
            for when in ("destroy", "reset")
            for which in ("sends", "receives")
        },
    ),
    *rules.from_source(
        rules.READ,
        _RESPONDER,
        {
            "fail.right_of_queue_pair_missing.status": "REM_INV_REQ_ERR",
            "fail.send_too_long.status": "REM_OP_ERR",
            "fail.receive_too_short.status": "LOC_QP_OP_ERR",
        },
    ),
    *rules.from_source(
        rules.READ,
        f"{_COMPLETER} (make_send_cqe), before Linux 6.2, and seen with 6.1: length and flag alone",
        {f"wc.{name}.wc_flags": 2 for name in _IMMEDIATE}
        | {f"wc.{name}.byte_len": 40 for name in _IMMEDIATE}
        | {f"wc.{name}.imm_data": 0 for name in _IMMEDIATE},
    ),
    *rules.from_source(
        rules.READ,
        f"{_COMPLETER} (make_send_cqe) and {_RESPONDER} (do_complete): begin with zeros and do not set it",
        {f"fail.{name}.vendor_err": 0 for name in ("unknown_lkey", "unknown_rkey", "flush_first")},
    ),
    *_waits(),
    *rules.from_source(
        rules.READ,
        f"{_RESPONDER} (check_rkey): the first packet is refused, as the whole message does not fit",
        {"write_past_end.whole_packets_left": 0, "write_past_end.odd_bytes_left": 0},
    ),
    *rules.not_known("no source says", "dereg.silence_us"),
]
