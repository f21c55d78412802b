# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What is known of ConnectX-5 and ConnectX-6 with default firmware settings, as libmlx5 shows them."""
from personality import rules
from personality.every_card import CQES, REFUSED, SRQ_ELEMENTS, SRQ_WRS, asked_sizes
from personality.rules import UNTOUCHED, Between, Matches, OneOf

_CHARACTERIZATION = "unionxic's rdma-fault-characterization"
_BOTH = f"on ConnectX-5 and ConnectX-6 by {_CHARACTERIZATION}"
_CX6 = f"on ConnectX-6 with firmware 20.43 by {_CHARACTERIZATION}"
_CX5 = f"on ConnectX-5 with firmware 16.35 by {_CHARACTERIZATION}"
_VERBS_C = "rdma-core's providers/mlx5/verbs.c"
_QP_C = "rdma-core's providers/mlx5/qp.c"
_CQ_C = "rdma-core's providers/mlx5/cq.c"
_SRQ_C = "rdma-core's providers/mlx5/srq.c"


def power_of_two(number):
    """The least power of two that is not less."""
    return 1 << (number - 1).bit_length()


# --- sizes ---
# A send slot has 64 bytes. Before its data, a request of RC may have what binding a memory window needs:
# control (16), UMR control (48), key context (64), and 64 more.
SLOT, OVERHEAD, INLINE_HEADER, ELEMENT = 64, 192, 4, 16
MOST_SLOTS = 32768


def _round_up(number, unit):
    return (number + unit - 1) // unit * unit


def send_request_bytes(elements, inline):
    inlined = OVERHEAD + _round_up(INLINE_HEADER + inline, 16) if inline else 0
    return _round_up(max(OVERHEAD + ELEMENT * elements, inlined), SLOT)


def granted_caps(wrs, elements, inline):
    request = send_request_bytes(elements, inline)
    receive = power_of_two(ELEMENT * max(1, elements))
    return {
        "create": "ok",
        "max_send_wr": power_of_two(wrs * request) // request,
        "max_inline_data": request - OVERHEAD - INLINE_HEADER,
        "max_recv_wr": max(power_of_two(wrs) * receive, SLOT) // receive,
        "max_recv_sge": receive // ELEMENT,
    }


def _sizes():
    found = []
    for asked in asked_sizes():
        prefix = "cap." + ".".join(map(str, asked)) + "."
        found += rules.from_source(rules.READ, _VERBS_C, granted_caps(*asked), prefix)
    for cqes in CQES:
        found += rules.from_source(rules.READ, _VERBS_C, {f"cq.{cqes}.cqe": power_of_two(cqes + 1) - 1})
    for wrs in SRQ_WRS:
        for elements in SRQ_ELEMENTS:
            entry = power_of_two(max(32, 16 + ELEMENT * elements))
            sizes = {
                "create": "ok",
                "max_wr": power_of_two(wrs + 1) - 1,
                "max_sge": (entry - 16) // ELEMENT,
            }
            found += rules.from_source(rules.READ, f"{_VERBS_C} and srq.c", sizes, f"srq.{wrs}.{elements}.")
    limits = {
        "cq.0.create": "EINVAL",
        "create.send_wr_8192": "ok",
        "create.send_wr_8193": "EINVAL",  # their slots would be more than MOST_SLOTS
        "create.send_wr_beyond": "EINVAL",
        "create.recv_wr_beyond": "EINVAL",
        "create.recv_sge_33": "EINVAL",
    }
    found += rules.from_source(rules.READ, f"{_VERBS_C}, and Linux' mlx5_ib for the limits", limits)
    found += rules.from_source(
        rules.RECALLED,
        "Linux' mlx5_ib_create_cq and create_qp",
        {"cq.beyond.create": "EINVAL", "create.recv_wr_most": "ok", "create.inline_4096": "EINVAL"},
    )
    found += rules.from_source(
        rules.REPORTED, "ofiwg/libfabric pull request 3790: RC takes 988 bytes", {"create.inline_512": "ok"}
    )
    return found


# --- posting and room ---
_ROOM = [
    *rules.from_source(
        rules.READ,
        f"{_QP_C} (mlx5_wq_overflow) and {_CQ_C}: the tail moves when a completion is polled",
        {
            "room.send.unsignaled_fit_is": "granted",
            "room.send.errno_when_full": "ENOMEM",
            "room.send.errno_after_they_ended": "ENOMEM",
            "room.send.errno_before_poll": "ENOMEM",
            "room.send.after_poll_fit_is": "up to the polled",
            "room.receive.fit_is": "granted",
            "room.receive.errno_when_full": "ENOMEM",
            "room.receive.errno_before_poll": "ENOMEM",
            "room.receive.errno_after_poll": "ok",
        },
    ),
    *rules.from_source(
        rules.READ, _SRQ_C, {"room.srq.fit_is": "granted", "room.srq.errno_when_full": "ENOMEM"}
    ),
]
_POSTING = [
    *rules.from_source(
        rules.READ,
        _QP_C,
        {
            "post.send.too_many_elements": "ENOMEM",
            "post.receive.too_many_elements": "EINVAL",
            "post.send.inline_too_long": "ENOMEM",
            "post.send.in_reset": "ok",
            "post.send.in_init": "ok",
            "post.receive.in_reset": "ok",
            "post.atomic.aligned": "ok",
            "post.atomic.misaligned": "ok",
        },
    ),
    *rules.from_source(rules.READ, _SRQ_C, {"post.srq.too_many_elements": "EINVAL"}),
    *rules.from_source(
        rules.DOCUMENTED,
        "the InfiniBand standard, second-hand: a misaligned atomic is an invalid request",
        {"post.atomic.misaligned_status": "REM_INV_REQ_ERR", "post.atomic.aligned_status": "SUCCESS"},
    ),
    *rules.from_source(rules.RECALLED, _QP_C, {"post.send.unknown_opcode": "EINVAL"}),
    *rules.not_known("no source says", "post.atomic.of_4_bytes"),
]

# --- completions ---
_ERRORS = ("remote_access_error", "flushed_send", "flushed_receive")
_LEFT_ON_ERROR = (
    "opcode",
    "byte_len",
    "imm_data",
    "src_qp",
    "slid",
    "sl",
    "pkey_index",
    "dlid_path_bits",
)
_GOOD_SENDS = {"send": 0, "send_imm": 0, "write": 1, "write_imm": 1, "read": 2, "atomic": 4}  # opcodes
_COMPLETIONS = [
    *rules.from_source(
        rules.READ,
        f"{_CQ_C}: fields of a failed completion that it does not write",
        {f"wc.{name}.{field}": UNTOUCHED for name in _ERRORS for field in _LEFT_ON_ERROR}
        | {f"wc.{name}.wc_flags": 0 for name in _ERRORS},
    ),
    *rules.from_source(
        rules.READ,
        f"{_CQ_C} (handle_good_req)",
        {f"wc.{name}.opcode": opcode for name, opcode in _GOOD_SENDS.items()}
        | {f"wc.{name}.{field}": UNTOUCHED for name in _GOOD_SENDS for field in ("src_qp", "imm_data")}
        | {f"wc.{name}.byte_len": UNTOUCHED for name in ("send", "send_imm", "write", "write_imm")}
        | {"wc.read.byte_len": 40, "wc.atomic.byte_len": 8}
        | {f"wc.{name}.wc_flags": 2 if "imm" in name else 0 for name in _GOOD_SENDS},
    ),
    *rules.from_source(
        rules.READ,
        f"{_CQ_C}: vendor_err is written on errors alone",
        {
            f"wc.{name}.vendor_err": UNTOUCHED
            for name in (*_GOOD_SENDS, "receive", "receive_imm", "receive_write_imm")
        },
    ),
    *rules.from_source(
        rules.REPORTED,
        "the crate async-rdma, whose test of other devices than rxe expects it",
        {"wc.receive_imm.wc_flags": 2},
    ),
    *rules.from_source(
        rules.READ,
        f"{_CQ_C} (__mlx5_cq_clean)",
        {
            f"purge.{when}.{which}_polled_later": 0
            for when in ("destroy", "reset")
            for which in ("sends", "receives")
        },
    ),
]

# --- failures: vendor_err, {name: (status, code)} ---
_CODES = {
    "element_beyond_its_region": ("LOC_PROT_ERR", 0x53),
    "unknown_lkey": ("LOC_PROT_ERR", 0x52),
    "read_into_region_without_local_write": ("LOC_PROT_ERR", 0x33),
    "right_of_queue_pair_missing": ("REM_INV_REQ_ERR", 0x8A),
    "right_of_region_missing": ("REM_ACCESS_ERR", 0x88),
    "unknown_rkey": ("REM_ACCESS_ERR", 0x88),
    "remote_address_beyond": ("REM_ACCESS_ERR", 0x88),
    "unsignaled": ("REM_ACCESS_ERR", 0x88),
    "receiver_not_ready": ("RNR_RETRY_EXC_ERR", 0x87),
    "flush_first": ("WR_FLUSH_ERR", 0xF5),
}
_FAILURES = [
    *rules.from_source(
        rules.MEASURED,
        _BOTH,
        {f"fail.{name}.status": status for name, (status, _) in _CODES.items()}
        | {f"fail.{name}.vendor_err": code for name, (_, code) in _CODES.items()}
        | {"wc.remote_access_error.vendor_err": 0x88, "dereg.vendor_err": 0x88},
    ),
    *rules.from_source(
        rules.REPORTED,
        "linux-nvme/nvme-cli issue 3268: flushes after a failure, and of receives",
        {
            "fail.flush_after_failure.vendor_err": 0xF9,
            "fail.flush_receive_after_failure.vendor_err": 0xF9,
            "fail.flush_receive_first.vendor_err": 0xF9,
            "fail.flush_receive_second.vendor_err": 0xF9,
        },
    ),
    *rules.from_source(
        rules.DOCUMENTED,
        "the InfiniBand standard, second-hand: a SEND longer than its receive is an invalid request",
        {"fail.send_too_long.status": "REM_INV_REQ_ERR", "fail.receive_too_short.status": "LOC_LEN_ERR"},
    ),
    *rules.from_source(
        rules.INFERRED,
        "the code of the same status for another cause",
        {"fail.send_too_long.vendor_err": 0x8A},
    ),
    *rules.not_known(
        "no measurement was found",
        "fail.receive_too_short.vendor_err",
        "fail.flush_second.vendor_err",
    ),
    *rules.not_known(
        "the sources disagree whether requests without IBV_SEND_SIGNALED are flushed with completions",
        "flush.unsignaled_of_3",
    ),
    *rules.from_source(
        rules.MEASURED,
        f"{_CX6}: 0.25 ms after the post with rnr_retry 0; most of the range is for a busy host",
        {"fail.receiver_not_ready.ms": Between(0, 100)},
    ),
    *rules.from_source(
        rules.REPORTED,
        "logs of users in NVIDIA/nccl issues 1710, 1919, 1524 and 1905",
        {
            "event.right_of_region_missing.far": "QP_ACCESS_ERR",
            "event.unknown_rkey.far": "QP_ACCESS_ERR",
            "event.remote_address_beyond.far": "QP_ACCESS_ERR",
            "event.right_of_queue_pair_missing.far": OneOf("QP_REQ_ERR", "QP_ACCESS_ERR"),
            "event.element_beyond_its_region.near": "QP_ACCESS_ERR",
        },
    ),
    *rules.from_source(
        rules.MEASURED,
        _BOTH,
        {"fail.responder_in_rtr.status": "SUCCESS", "state.receiver_not_ready.far": "RTS"}
        | {f"state.{name}.far": "ERR" for name in REFUSED}
        | {"dereg.status": "REM_ACCESS_ERR", "write_past_end.status": "REM_ACCESS_ERR"},
    ),
    *rules.from_source(
        rules.MEASURED,
        f"{_BOTH}: an empty entry of the GID table",
        {"modify.rtr_with_empty_gid": "EINVAL"},
    ),
]

# --- memory ---
_MEMORY = [
    *rules.from_source(
        rules.MEASURED,
        f"{_BOTH}: WRITEs commit packet by packet, 4400 of 4400",
        {"write_past_end.whole_packets_left": 4, "write_past_end.odd_bytes_left": 0},
    ),
    *rules.from_source(rules.RECALLED, "habit of mlx5 keys", {"reg_mr.keys_are_equal": True}),
]

# --- attributes ---
_PRINTS = "printed by ibv_devinfo of a {card}"
_ATTRIBUTES = {
    "attr.vendor_id": 0x02C9,
    "attr.hw_ver": 0,
    "attr.name": Matches(r"mlx5_\w+|roce\w+"),
    "attr.transport": 0,
    "attr.phys_port_cnt": 1,
    "attr.max_mr_size": 2**64 - 1,
    "attr.page_size_cap": 0xFFFFFFFFFFFFF000,
    "attr.max_qp_wr": MOST_SLOTS,
    "attr.device_cap_flags": 0xED721C36,
    "attr.max_sge": 30,
    "attr.max_sge_rd": 30,
    "attr.max_cq": 16777216,
    "attr.max_cqe": 4194303,
    "attr.max_mr": 16777216,
    "attr.max_qp_rd_atom": 16,
    "attr.max_qp_init_rd_atom": 16,
    "attr.atomic_cap": 1,
    "attr.max_mcast_grp": 2097152,
    "attr.max_mcast_qp_attach": 240,
    "attr.max_ah": 2147483647,
    "attr.max_srq": 8388608,
    "attr.max_srq_wr": 32767,
    "attr.max_srq_sge": 31,
    "attr.max_pkeys": 128,
    "attr.local_ca_ack_delay": 16,
    "attr_ex.odp_general": 3,
    "attr_ex.odp_rc": OneOf(47, 63),  # with atomics on some
    "attr_ex.completion_timestamp_mask": 0x7FFFFFFFFFFFFFFF,
    "attr_ex.max_cq_count": 65535,
    "attr_ex.max_cq_period": 4095,
    "attr_ex.max_dm_size": 131072,
    "port.lid": 0,
    "port.sm_lid": 0,
    "port.gid_tbl_len": 255,
    "port.pkey_tbl_len": 1,
    "port.max_msg_sz": 0x40000000,
    "port.max_vl_num": 0,
    "port.port_cap_flags": 0x04010000,
}
_GIDS = rules.from_source(
    rules.MEASURED,
    "printed by show_gids and ibv_devinfo of a ConnectX-6 Dx: RoCE v1 and v2 of each address, in pairs",
    {
        "gid.types": Matches("(12)+"),
        "gid.pairs_have_one_address": True,
        "gid.first_is_link_local": True,
    },
)


# --- timers: milliseconds from the post to the completion. The first failure of a process and later ones
# differ by about 0.1 s, and a busy host adds to both. ---
def _waits(source, milliseconds):
    """{(timeout, retry count): rule}"""
    found = []
    for (timeout, retries), rule in milliseconds.items():
        prefix = f"time.{timeout}.{retries}."
        found += rules.from_source(rules.MEASURED, source, {"ms": rule}, prefix)
        found += rules.from_source(
            rules.MEASURED, _BOTH, {"status": "RETRY_EXC_ERR", "vendor_err": 0x81}, prefix
        )
    return found


_SEVEN_RETRIES = Between(3450, 3950)
_COMMON = [
    *_sizes(),
    *_ROOM,
    *_POSTING,
    *_COMPLETIONS,
    *_FAILURES,
    *_MEMORY,
    *_GIDS,
]

CONNECTX5 = [
    *_COMMON,
    *rules.from_source(
        rules.MEASURED,
        _PRINTS.format(card="ConnectX-5 (openucx/ucx issue 9830, open-mpi/ompi pull request 6137)"),
        _ATTRIBUTES
        | {
            "attr.vendor_part_id": OneOf(4119, 4121),
            "attr.fw_ver": Matches(r"16\.\d+\.\d+"),
            "attr.max_qp": OneOf(262144, 131072),
            "attr.max_res_rd_atom": OneOf(4194304, 2097152),
            "attr.max_pd": 16777216,
            "attr.max_mw": OneOf(0, 16777216),
            "attr_ex.hca_core_clock": 156250,
        },
    ),
    *_waits(
        f"{_CX5}, at any timeout up to 16",
        {
            (8, 7): _SEVEN_RETRIES,
            (14, 7): _SEVEN_RETRIES,
            (14, 0): Between(380, 650),
            (14, 3): Between(1900, 2300),
        },
    ),
    *rules.not_known("not measured on this card", "time.14.1.ms", "time.17.1.ms", "dereg.silence_us"),
]

CONNECTX6 = [
    *_COMMON,
    *rules.from_source(
        rules.MEASURED,
        _PRINTS.format(card="ConnectX-6 Dx with firmware 22.36, or ConnectX-6 with 20.37"),
        _ATTRIBUTES
        | {
            "attr.vendor_part_id": OneOf(4123, 4125, 4127),
            "attr.fw_ver": Matches(r"2[02]\.\d+\.\d+"),
            "attr.max_qp": 131072,
            "attr.max_res_rd_atom": 2097152,
            "attr.max_pd": 8388608,
            "attr.max_mw": 16777216,
            "attr.max_total_mcast_qp_attach": 503316480,
            "attr_ex.hca_core_clock": OneOf(1000000, 156250),
        },
    ),
    *_waits(
        f"{_CX6}, with roce_adp_retrans_en",
        {
            (8, 7): _SEVEN_RETRIES,
            (14, 7): _SEVEN_RETRIES,
            (14, 0): Between(1900, 2300),
            (14, 1): Between(400, 700),
            (14, 3): Between(1400, 1750),
        },
    ),
    *rules.from_source(
        rules.MEASURED,
        f"{_CX6}: 1.0 to 2.2 ms without an answer; more is for a busy host",
        {"dereg.silence_us": Between(900, 10000)},
    ),
    *rules.from_source(
        rules.INFERRED,
        "the first phase at timeout 17 and retry count 7",
        {"time.17.1.ms": Between(900, 1200)},
    ),
]

# What takes longer than a usual run.
CONNECTX6_SLOW = _waits(
    f"{_CX6}, with roce_adp_retrans_en",
    {(16, 7): _SEVEN_RETRIES, (17, 7): Between(6850, 7600), (18, 7): Between(14200, 15300)},
)
