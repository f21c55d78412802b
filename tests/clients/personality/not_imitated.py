# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What a NIC that is like a card does not imitate: how the product calls it, and which observations show it.

The judge wants each of them to differ for some card: what is imitated one day has to go from here.
"""

# {name in `urnic personalities --json`: observations}
NOT_IMITATED = {
    "identity": ("attr.vendor_id", "attr.vendor_part_id", "attr.fw_ver", "attr.name"),
    "capability-flags": ("attr.device_cap_flags", "attr_ex.odp_rc"),
    "clock": ("attr_ex.hca_core_clock",),
    "virtual-lanes": ("port.max_vl_num",),
    "members-of-all-groups": ("attr.max_total_mcast_qp_attach",),
    "silence-after-deregistration": ("dereg.silence_us",),
}

OBSERVATIONS = {name for names in NOT_IMITATED.values() for name in names}


def is_less_here(difference, rows):
    """Whether the card has more objects than urnic can make, and the product says so. `rows` are the card's
    in `urnic personalities --json`, by name."""
    row = rows.get(difference.expectation.name.rpartition(".")[2])
    if row is None or row["granted"] == row["value"]:
        return False
    return str(difference.seen) == row["granted"] and difference.expectation.rule.holds(_number(row["value"]))


def _number(text):
    return int(text, 0)
