# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What a NIC that is like a card does not imitate: how the product calls it, and which observations show it.

The judge wants each of them to differ: what is imitated one day has to go from here.
"""

_EVERYWHERE = {
    "identity": ("attr.vendor_id", "attr.vendor_part_id", "attr.fw_ver", "attr.name"),
}
_CONNECTX = _EVERYWHERE | {
    "capability-flags": ("attr.device_cap_flags", "attr_ex.odp_rc"),
    "virtual-lanes": ("port.max_vl_num",),
}
# {card: {name in `urnic personalities --json`: observations}}
NOT_IMITATED = {
    "connectx5": _CONNECTX | {"clock": ("attr_ex.hca_core_clock",)},
    "connectx6": _CONNECTX | {"members-of-all-groups": ("attr.max_total_mcast_qp_attach",)},
    "e810": _EVERYWHERE,
    "rxe": _EVERYWHERE | {"members-of-all-groups": ("attr.max_total_mcast_qp_attach",)},
}


def not_imitated_of(card):
    """Names of observations."""
    return {name for names in NOT_IMITATED[card].values() for name in names}


def is_less_here(difference, rows):
    """Whether the card has more objects than urnic can make, and the product says so. `rows` are the card's
    in `urnic personalities --json`, by name."""
    row = rows.get(difference.expectation.name.rpartition(".")[2])
    if row is None or row["granted"] == row["value"]:
        return False
    return str(difference.seen) == row["granted"] and difference.expectation.rule.holds(int(row["value"], 0))
