#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""check_exports.py LIBRARY FACTS: whether the drop-in shows the names that it must, and no others.

FACTS says what libibverbs of which rdma-core version exports (rdma_core_exports.txt). Clients that were
linked to any of them must find every name under its version node. Programs that are linked to the drop-in get
the public names and the names of the first private node. Prints a line for each version. The exit code is 1
when a name is missing or one too many is there.
"""
import subprocess
import sys

OWN = {f"urnic_rdma_cm_{what}@@URNIC_PRIVATE" for what in ("open", "write", "close", "owns")}

library, facts = sys.argv[1:]
listing = subprocess.run(
    ["nm", "-D", "--defined-only", "--with-symbol-versions", library],
    capture_output=True,
    text=True,
    check=True,
)
symbols = [line.split()[-2:] for line in listing.stdout.splitlines()]
exported = {name for kind, name in symbols if kind != "A"}  # version nodes are absolute

rows = [line.split() for line in open(facts) if not line.startswith("#")]
private_since = {int(since): number for word, number, since in rows if word == "private"}
names = [(name, node, int(since)) for name, node, since in rows if name != "private"]
versions = sorted({since for _, _, since in names} | set(private_since))

expected = set(OWN)
default_node = {}  # of a name: the oldest that has it
is_right = True
for version in versions:
    private = private_since[max(since for since in private_since if since <= version)]
    driver = (f"verbs_register_driver_{private}", "PRIVATE", version)
    wanted = set()
    for name, node, since in [*names, driver]:
        if since > version:
            continue
        where = f"IBVERBS_PRIVATE_{private}" if node == "PRIVATE" else node
        is_default = default_node.setdefault(name, where) == where
        wanted.add(f"{name}{'@@' if is_default else '@'}{where}")
    missing = sorted(wanted - exported)
    expected |= wanted
    is_right = is_right and not missing
    print(f"rdma-core {version}: {len(wanted) - len(missing)} of {len(wanted)} names", *missing)
for name in sorted(exported - expected):
    print(f"exported, and should not be: {name}")
    is_right = False
sys.exit(0 if is_right else 1)
