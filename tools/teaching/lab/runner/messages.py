# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Messages of several packets, put together."""
import dataclasses
import functools

FIRST_AND_MIDDLE = (0x06, 0x07)  # opcodes of WRITEs, without the three bits of the service


@dataclasses.dataclass(frozen=True)
class Write:
    """An RDMA WRITE as it arrived, also if some of its packets had to be sent again."""

    sender: str  # names of programs
    receiver: str
    connection: int
    address: int  # in the receiver's memory
    payload: bytes
    immediate: int  # None where it has none
    packets: int
    sent: int  # when its first packet left, ns
    came: int  # when its last packet was at the receiver


@functools.cache
def writes(trace):
    """All of them, in the order in which their last packets were sent for the first time."""
    arrivals, found, open_parts = {}, [], {}
    for packet in trace.packets:
        receiver = receiver_of(trace, packet)
        if packet.kind == "request" and receiver in packet.times and not packet.is_dropped:
            arrivals.setdefault((packet.connection, packet.side, packet.psn), packet.times[receiver])
    for packet in trace.packets:
        if packet.kind != "request" or not packet.label.startswith("WRITE") or packet.is_repeated:
            continue
        parts = open_parts.setdefault((packet.connection, packet.side), [])
        parts.append(packet)
        if packet.field("BTH.Opcode") & 0x1F in FIRST_AND_MIDDLE:
            continue
        found.append(
            Write(
                sender=packet.side,
                receiver=receiver_of(trace, packet),
                connection=packet.connection,
                address=parts[0].field("RETH.Virtual address"),
                payload=b"".join(part.payload_bytes() for part in parts),
                immediate=packet.field("ImmDt.Immediate data"),
                packets=len(parts),
                sent=parts[0].time,
                came=arrivals[packet.connection, packet.side, packet.psn],
            )
        )
        parts.clear()
    return found


def receiver_of(trace, packet):
    """The program at the other end of the connection, None where it was not recorded."""
    if packet.connection is None:
        return None
    return next(
        (
            name
            for name in (trace.side_of(packet.connection, end) for end in (0, 1))
            if name not in (None, packet.side)
        ),
        None,
    )
