# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What is known of Intel's E810 with RoCE v2, as libirdma shows it.

No public measurement of its timers was found. Its limits depend on its profile and driver, so that what one
print shows is not judged."""
from personality import rules
from personality.every_card import SRQ_ELEMENTS, SRQ_WRS, STATUSES, asked_sizes
from personality.rules import UNTOUCHED, Matches, OneOf, Written

_UVERBS_C = "rdma-core's providers/irdma/uverbs.c"
_UK_C = "rdma-core's providers/irdma/uk.c"
_KERNEL = "Linux' drivers/infiniband/hw/irdma"
_PRINT = "printed by ibv_devinfo of one E810 with an out-of-tree driver (deepseek-ai/3FS issue 192)"

MOST_INLINE = 101
RESERVED = 258  # of the 32-byte units of a send queue


def request_shift(elements, inline):
    """A request takes two to this power units of 32 bytes. An immediate counts as an element."""
    elements += 1
    if elements <= 1 and inline <= 8:
        return 0
    if elements < 4 and inline <= 39:
        return 1
    return 2 if elements < 8 and inline <= MOST_INLINE else 3


def granted_sends(wrs, elements, inline):
    shift = request_shift(elements, inline)
    needed = (wrs << shift) + RESERVED
    return ((1 << (needed - 1).bit_length()) - RESERVED) >> shift


def _sizes():
    found = []
    for wrs, elements, inline in asked_sizes():
        prefix = f"cap.{wrs}.{elements}.{inline}."
        is_possible = inline <= MOST_INLINE
        sizes = {"create": "ok" if is_possible else "EINVAL"}
        if is_possible:
            sizes["max_send_wr"] = granted_sends(wrs, elements, inline)
        found += rules.from_source(rules.READ, f"{_UK_C} and uverbs.c", sizes, prefix)
    for wrs in SRQ_WRS:
        for elements in SRQ_ELEMENTS:
            found += rules.from_source(
                rules.READ,
                f"{_UVERBS_C}: this generation has no shared receive queues",
                {f"srq.{wrs}.{elements}.create": OneOf("EOPNOTSUPP", "ENOSYS")},
            )
    found += rules.from_source(
        rules.READ,
        f"{_UVERBS_C} and {_KERNEL}/user.h",
        {
            "create.inline_101": "ok",
            "create.inline_102": "EINVAL",
            "create.inline_512": "EINVAL",
            "create.inline_4096": "EINVAL",
            "cq.0.create": "EINVAL",
            "cq.beyond.create": "EINVAL",
        },
    )
    return found


# The lower half of the code, by status; the upper half is 1.
MINOR_CODES = {
    "WR_FLUSH_ERR": 1,
    "LOC_PROT_ERR": 2,
    "REM_ACCESS_ERR": 3,
    "LOC_QP_OP_ERR": 4,
    "REM_OP_ERR": 5,
    "LOC_LEN_ERR": 6,
    "FATAL_ERR": 7,
    "RETRY_EXC_ERR": 8,
    "MW_BIND_ERR": 9,
    "REM_INV_REQ_ERR": 0xA,
    "RNR_RETRY_EXC_ERR": 0xB,
}
# Which request's completion names the reason is E810's own: "unsignaled" is not among them.
_STATUSES = {
    name: status for name, status in STATUSES.items() if status in MINOR_CODES and name != "unsignaled"
}


def vendor_err(status):
    return 0x10000 | MINOR_CODES[status]


_FAILURES = [
    *rules.from_source(
        rules.READ,
        f"{_UVERBS_C} and {_KERNEL}/user.h",
        {f"fail.{name}.vendor_err": vendor_err(status) for name, status in _STATUSES.items()},
    ),
    *rules.from_source(
        rules.INFERRED,
        "what the same cause is on other cards",
        {
            "fail.right_of_queue_pair_missing.status": "REM_INV_REQ_ERR",
            "fail.right_of_queue_pair_missing.vendor_err": vendor_err("REM_INV_REQ_ERR"),
            "fail.send_too_long.status": "REM_INV_REQ_ERR",
            "fail.receive_too_short.status": "LOC_LEN_ERR",
            "fail.receive_too_short.vendor_err": vendor_err("LOC_LEN_ERR"),
        },
    ),
    *rules.from_source(
        rules.READ,
        f"{_UK_C} (irdma_uk_cq_poll_cmpl): the library makes a completion of each request",
        {"flush.unsignaled_of_3": 3},
    ),
]

_ERRORS = ("remote_access_error", "flushed_send", "flushed_receive")
_GOOD = ("send", "write", "read", "receive", "receive_imm")
_COMPLETIONS = [
    *rules.from_source(
        rules.READ,
        f"{_UVERBS_C} (irdma_process_cqe)",
        {
            f"wc.{name}.{field}": Written()
            for name in _ERRORS
            for field in ("opcode", "byte_len", "vendor_err")
        }
        | {"wc.remote_access_error.opcode": 1, "wc.flushed_send.opcode": 0, "wc.flushed_receive.opcode": 128}
        | {f"wc.{name}.vendor_err": UNTOUCHED for name in _GOOD}
        | {f"wc.{name}.src_qp": "own" for name in _GOOD},
    ),
    *rules.from_source(
        rules.READ,
        f"{_UK_C} (irdma_uk_clean_cq)",
        {"purge.destroy.sends_polled_later": 0, "purge.destroy.receives_polled_later": 0},
    ),
    *rules.not_known(
        "read for the destruction of a queue pair alone",
        "purge.reset.sends_polled_later",
        "purge.reset.receives_polled_later",
    ),
]

_POSTING = [
    *rules.from_source(
        rules.READ,
        f"{_UK_C} and uverbs.c",
        {
            "post.send.too_many_elements": "EINVAL",
            "post.receive.too_many_elements": "EINVAL",
            "post.send.inline_too_long": "EINVAL",
            "post.atomic.aligned": "EINVAL",
            "post.atomic.misaligned": "EINVAL",
            "room.send.errno_when_full": "ENOMEM",
            "room.send.errno_after_they_ended": "ENOMEM",
            "room.receive.errno_when_full": "ENOMEM",
        },
    ),
    *rules.not_known("NOPs between requests take room, too", "room.send.unsignaled_fit_is"),
]

_ATTRIBUTES = [
    *rules.from_source(
        rules.READ,
        f"{_KERNEL}/verbs.c (irdma_query_device), and {_PRINT}",
        {
            "attr.vendor_id": 0x8086,
            "attr.vendor_part_id": OneOf(5521, 5522, 5523),
            "attr.transport": 0,
            "attr.phys_port_cnt": 1,
            "attr.max_mr_size": 0x200000000000,
            "attr.page_size_cap": 0x40201000,
            "attr.max_sge": OneOf(13, 6),
            "attr.max_sge_rd": OneOf(13, 6),
            "attr.max_res_rd_atom": 0,
            "attr.atomic_cap": 0,
            "attr.max_mcast_grp": 4096,
            "attr.max_mcast_qp_attach": 8,
            "attr.max_srq": 0,
            "attr.max_srq_wr": 0,
            "attr.max_srq_sge": 0,
            "attr.max_pkeys": 1,
            "attr.local_ca_ack_delay": 0,
            "attr.fw_ver": Matches(r"\d+\.\d+"),
            "attr.name": Matches(r"irdma\d+|roce\w+"),
            "attr_ex.odp_general": 0,
            "attr_ex.max_dm_size": 0,
            "port.max_msg_sz": 0x7FFFFFFF,
            "port.gid_tbl_len": 32,
            "port.pkey_tbl_len": 1,
            "port.lid": 1,
            "port.sm_lid": 0,
        },
    ),
    *rules.from_source(
        rules.REPORTED,
        _PRINT,
        {
            "attr.max_qp": 4092,
            "attr.max_qp_wr": 8127,
            "attr.max_cq": 8189,
            "attr.max_cqe": 1048574,
            "attr.max_qp_rd_atom": OneOf(127, 32, 8),
            "attr.max_qp_init_rd_atom": OneOf(255, 64, 8),
            "attr.max_ah": 131072,
        },
    ),
    *rules.from_source(
        rules.MEASURED,
        "seen on a card: RoCE v2 alone, the first link-local",
        {"gid.types": Matches("2+"), "gid.first_is_link_local": True},
    ),
    *rules.from_source(rules.READ, f"{_KERNEL}/verbs.c: one key for both", {"reg_mr.keys_are_equal": True}),
]

E810 = [
    *_sizes(),
    *_FAILURES,
    *_COMPLETIONS,
    *_POSTING,
    *_ATTRIBUTES,
    *rules.not_known(
        "no measurement of this card's timers and memory was found",
        "time.8.7.ms",
        "time.14.7.ms",
        "time.14.0.ms",
        "time.14.3.ms",
        "time.17.1.ms",
        "dereg.silence_us",
        "write_past_end.whole_packets_left",
    ),
]
