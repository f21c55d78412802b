#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Two connected queue pairs of one process, by the Python package ibverbs: WRITE, READ, SEND and an atomic,
with the data looked at."""
import ctypes
import time

import ibverbs as ib

SIZE = 4096
PATTERN = bytes(i % 251 for i in range(SIZE))
ACCESS = (
    ib.AccessFlags.LOCAL_WRITE
    | ib.AccessFlags.REMOTE_WRITE
    | ib.AccessFlags.REMOTE_READ
    | ib.AccessFlags.REMOTE_ATOMIC
)

context = next(device for device in ib.get_device_list() if device.name == "urnic0").open()
pd, cq = context.alloc_pd(), context.create_cq(64)
memory = ctypes.create_string_buffer(2 * SIZE)
near, far = ctypes.addressof(memory), ctypes.addressof(memory) + SIZE
region = pd.reg_mr(near, 2 * SIZE, ACCESS)
ends = [pd.create_qp(ib.QPInitAttr(send_cq=cq, recv_cq=cq, qp_type=ib.QPType.RC)) for _ in range(2)]
port, gid = context.query_port(1), context.query_gid(1, 1)
infos = [ib.local_qp_info(end, port, gid, port=1, psn=7 + i).to_bytes() for i, end in enumerate(ends)]
for i, end in enumerate(ends):
    peer = ib.QPInfo.from_bytes(infos[1 - i])
    ib.connect_rc(end, peer, port=1, sgid_index=1, access=ACCESS, local_psn=7 + i)


def wait(count):
    """So many completions, all good."""
    got, end = [], time.monotonic() + 30
    while len(got) < count:
        assert time.monotonic() < end, f"{len(got)} of {count} completions within 30 s"
        got += cq.poll(16)
    for completion in got:
        completion.raise_for_status()


def post(opcode, address, length, **more):
    element = ib.SGE(region, length, offset=address - near)
    flags = ib.SendFlags.SIGNALED
    ends[0].post_send(ib.SendWR(wr_id=1, sg_list=[element], opcode=opcode, send_flags=flags, **more))


memory[0:SIZE] = PATTERN
post(ib.WROpcode.RDMA_WRITE, near, SIZE, remote_addr=far, rkey=region.rkey)
wait(1)
assert memory[SIZE : 2 * SIZE] == PATTERN, "what was written is not there"

memory[0:SIZE] = bytes(SIZE)
post(ib.WROpcode.RDMA_READ, near, SIZE, remote_addr=far, rkey=region.rkey)
wait(1)
assert memory[0:SIZE] == PATTERN, "what was read is not what is there"

memory[SIZE : 2 * SIZE] = bytes(SIZE)
ends[1].post_recv(ib.RecvWR(wr_id=2, sg_list=[ib.SGE(region, SIZE, offset=SIZE)]))
post(ib.WROpcode.SEND, near, SIZE)
wait(2)
assert memory[SIZE : 2 * SIZE] == PATTERN, "what was received is not what was sent"

ctypes.c_uint64.from_address(far).value = 40
post(ib.WROpcode.ATOMIC_FETCH_AND_ADD, near, 8, remote_addr=far, rkey=region.rkey, compare_add=2)
wait(1)
assert ctypes.c_uint64.from_address(near).value == 40, "an atomic gives what was there before"
assert ctypes.c_uint64.from_address(far).value == 42, "an atomic adds"
print("written, read, sent and added")
