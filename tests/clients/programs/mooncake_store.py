#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Clients of a Mooncake store at 127.0.0.1: `hold PORT` lends memory to it, `use PORT` puts values and gets
them back, and has none."""
import sys
import time

from mooncake.store import MooncakeDistributedStore

MIB = 1 << 20
VALUES = 30

role, master = sys.argv[1], f"127.0.0.1:{sys.argv[2]}"
store = MooncakeDistributedStore()
segment = 128 * MIB if role == "hold" else 0
if store.setup("127.0.0.1", "P2PHANDSHAKE", segment, 32 * MIB, "rdma", "urnic0", master) != 0:
    sys.exit("the store does not start: its own words stand above")
if role == "hold":
    print("holds", flush=True)
    time.sleep(1000)
values = {f"value{i}": bytes((i + j) % 251 for j in range(MIB)) for i in range(VALUES)}
for name, value in values.items():
    if store.put(name, value) != 0:
        sys.exit(f"{name} was not put")
for name, value in values.items():
    if store.get(name) != value:
        sys.exit(f"{name} is not what was put")
print(f"{VALUES} values came back as they were put", flush=True)
store.close()
