#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Data for the page of `urnic view`, made up: what tools/inspection/view/DATA.md says, with all kinds of
trouble.

    sample_data.py DATA.json [PACKETS]

Connection 0 is an RC ping-pong whose ends were both recorded. Connection 1 is in a capture of other NICs'
traffic: one place per packet, and no way. The headers have the bytes of real frames; tests read them again,
independently.
"""
import json
import random
import struct
import sys

BEGIN_NS = 1_790_000_000_123_456_789
ADDRESSES = ("10.0.0.1", "10.0.0.2")
FOREIGN = ("192.168.7.20", "192.168.7.33")

SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY, WRITE_ONLY, READ_REQUEST = 0, 1, 2, 4, 10, 12
READ_FIRST, READ_MIDDLE, READ_LAST, ACK, CNP = 13, 14, 15, 17, 0x81
OPCODES = {
    SEND_FIRST: "SEND First",
    SEND_MIDDLE: "SEND Middle",
    SEND_LAST: "SEND Last",
    SEND_ONLY: "SEND Only",
    WRITE_ONLY: "WRITE Only",
    READ_REQUEST: "READ Request",
    READ_FIRST: "READ Response First",
    READ_MIDDLE: "READ Response Middle",
    READ_LAST: "READ Response Last",
    ACK: "Acknowledge",
    CNP: "CNP",
}
VALUES = {
    "opcode": {str(number): name if number == CNP else f"RC {name}" for number, name in OPCODES.items()},
    "ethertype": {"2048": "IPv4"},
    "protocol": {"17": "UDP"},
    "ecn": {"0": "not ECT", "2": "ECT(0)", "3": "congestion"},
    "syndrome": {
        "31": "ACK, no limit",
        "45": "RNR NAK, wait 0.64 ms",
        "96": "NAK PSN sequence error",
        "98": "NAK remote access error",
    },
    "flag": {"0": "no", "1": "yes"},
}
MEANINGS = {
    "BTH.Opcode": "What the packet is: the service in the high three bits, the operation in the others.",
    "BTH.PSN": "Packet sequence number, modulo 2^24. Each request packet has the next one; a READ takes as many as it has answers.",
    "BTH.AckReq": "The requester asks for an acknowledgement.",
    "BTH.Destination QP": "The queue pair of the receiver.",
    "BTH.BECN": "Congestion was seen on the way of packets in the other direction.",
    "AETH.Syndrome": "ACK with credits, RNR NAK with a time to wait, or NAK with a reason.",
    "AETH.MSN": "How many messages the responder has completed, modulo 2^24.",
    "RETH.DMA length": "Bytes of the whole READ or WRITE.",
    "RETH.R_Key": "The key of the remote memory region.",
    "IPv4.ECN": "The two bits with which routers tell of congestion.",
    "UDP.Destination port": "RoCEv2 is 4791.",
}


def header(name, base, *fields):
    """Fields are (name, bits, kind), in the order of the bits."""
    made, at = [], base
    for field, bits, kind in fields:
        made.append([field, at, bits, kind])
        at += bits
    return {"name": name, "fields": made}


ETHERNET = header("Ethernet", 0, ("Destination", 48, "mac"), ("Source", 48, "mac"), ("Type", 16, "ethertype"))
IPV4 = header(
    "IPv4",
    112,
    ("Version", 4, "number"),
    ("Header length", 4, "number"),
    ("DSCP", 6, "number"),
    ("ECN", 2, "ecn"),
    ("Total length", 16, "number"),
    ("Identification", 16, "hex"),
    ("Flags", 3, "number"),
    ("Fragment offset", 13, "number"),
    ("TTL", 8, "number"),
    ("Protocol", 8, "protocol"),
    ("Checksum", 16, "hex"),
    ("Source", 32, "ipv4"),
    ("Destination", 32, "ipv4"),
)
UDP = header(
    "UDP",
    272,
    ("Source port", 16, "number"),
    ("Destination port", 16, "number"),
    ("Length", 16, "number"),
    ("Checksum", 16, "hex"),
)
BTH = header(
    "BTH",
    336,
    ("Opcode", 8, "opcode"),
    ("SolicitedEvent", 1, "flag"),
    ("MigReq", 1, "flag"),
    ("PadCount", 2, "number"),
    ("TVer", 4, "number"),
    ("P_Key", 16, "hex"),
    ("FECN", 1, "flag"),
    ("BECN", 1, "flag"),
    ("Reserved", 6, "number"),
    ("Destination QP", 24, "number"),
    ("AckReq", 1, "flag"),
    ("Reserved", 7, "number"),
    ("PSN", 24, "number"),
)
AETH = header("AETH", 432, ("Syndrome", 8, "syndrome"), ("MSN", 24, "number"))
RETH = header("RETH", 432, ("Virtual address", 64, "hex"), ("R_Key", 32, "hex"), ("DMA length", 32, "number"))
STACK = [ETHERNET, IPV4, UDP, BTH]
LAYOUTS = [STACK, [*STACK, AETH], [*STACK, RETH]]


def frame_of(
    addresses, to_qp, opcode, psn, payload, ack_request=0, syndrome=None, msn=0, reth=None, ecn=2, becn=0
):
    """The headers of a frame."""
    pad = -payload % 4
    extra = b""
    if syndrome is not None:
        extra = struct.pack("!I", syndrome << 24 | msn)
    elif reth is not None:
        extra = struct.pack("!QII", *reth)
    length = 12 + len(extra) + payload + pad + (16 if opcode == CNP else 0) + 4
    ip = [bytes(int(part) for part in address.split(".")) for address in addresses]
    ethernet = bytes([2, 0, 0, 0, 0, ip[1][3], 2, 0, 0, 0, 0, ip[0][3], 8, 0])
    ipv4 = (
        struct.pack("!BBHHHBBH", 0x45, 0x68 | ecn, 28 + length, 0x1A2B, 0x4000, 64, 17, 0x5CA1)
        + ip[0]
        + ip[1]
    )
    udp = struct.pack("!HHHH", 49152 + to_qp, 4791, 8 + length, 0)
    bth = struct.pack(
        "!BBHBBHBBH",
        opcode,
        0x40 | pad << 4,
        0xFFFF,
        becn << 6,
        to_qp >> 16,
        to_qp & 0xFFFF,
        ack_request << 7,
        psn >> 16,
        psn & 0xFFFF,
    )
    return (ethernet + ipv4 + udp + bth + extra).hex(), 42 + length


class Story:
    """Adds packets and notes as time goes by."""

    def __init__(self, seed=1):
        self.random = random.Random(seed)
        self.packets, self.notes, self.findings = [], [], []
        self.frames = [0, 0, 0]
        self.now = 0
        self.psn = [5, 900]
        self.oldest = [5, 900]
        self.msn = [0, 0]
        self.wr = [1, 1]
        self.posted = [[0, 0], [0, 0]]
        self.qps = (17, 18)

    def add(
        self,
        sender,
        opcode,
        psn,
        payload=0,
        kind="request",
        label=None,
        is_lost=False,
        comments=("", ""),
        flight=None,
        **more,
    ):
        """One packet of connection 0. Returns its index."""
        fields = {
            name: more.pop(name)
            for name in ("ack_request", "syndrome", "reth", "ecn", "becn")
            if name in more
        }
        sides = ADDRESSES if sender == 0 else ADDRESSES[::-1]
        data, length = frame_of(
            sides, self.qps[1 - sender], opcode, psn, payload, msn=more.get("msn", 0), **fields
        )
        flight = flight or 900 + self.random.randrange(400)
        seen = [self._place(sender, self.now, "sent", comments[0])]
        if not is_lost:
            seen.append(self._place(1 - sender, self.now + flight, "received", comments[1]))
        packet = {
            "seen": seen,
            "connection": 0,
            "from": sender,
            "label": label or OPCODES[opcode],
            "kind": kind,
            "psn": psn,
            "length": length,
            "layout": 1 if "syndrome" in fields else 2 if "reth" in fields else 0,
            "bytes": data,
            "icrc": f"{self.random.getrandbits(32):08x}",
            **more,
        }
        if payload:
            packet["payload"] = payload
        if is_lost:
            packet["is_lost"] = True
        self.packets.append(packet)
        self.arrival = self.now + flight
        self.now += 150 + self.random.randrange(100)
        return len(self.packets) - 1

    def _place(self, file, time, way, comment=""):
        self.frames[file] += 1
        place = {"file": file, "frame": self.frames[file], "time": time, "way": way}
        if comment:
            place["comment"] = comment
        return place

    def note(self, end, what, packet=None, **members):
        note = {
            "file": end,
            "time": self.now,
            "connection": 0,
            "end": end,
            "what": what,
            "members": {"qp": self.qps[end], **members},
        }
        if packet is not None:
            note["packet"] = packet
        self.notes.append(note)

    def modify(self, end, state):
        self.note(
            end,
            "modify",
            type="RC",
            peer_address=ADDRESSES[1 - end],
            path_mtu=1024,
            retry_count=7,
            rnr_retry=7,
            ack_timeout=14,
            **self.state_of(end, state),
        )
        self.now += 700

    def state_of(self, end, state="RTS", timer=None, **more):
        flying = (self.psn[end] - self.oldest[end]) & 0xFFFFFF
        return {
            "state": state,
            "peer_qp": self.qps[1 - end],
            "send_psn": self.psn[end],
            "oldest_psn": self.oldest[end],
            "receive_psn": self.oldest[1 - end],
            "msn": self.msn[end],
            "packets_in_flight": flying,
            "reads_in_flight": 0,
            "sends_posted": self.posted[end][0],
            "receives_posted": self.posted[end][1],
            "retries_used": 0,
            "rnr_retries_used": 0,
            "waits_for_receiver": False,
            "timer_ns": None if timer is None else BEGIN_NS + timer,
            **more,
        }

    def state(self, end, **more):
        flying = self.psn[end] != self.oldest[end]
        self.note(end, "state", **self.state_of(end, timer=self.now + 67_108_864 if flying else None, **more))

    def post_send(self, end, operation, size):
        wr = f"{self.wr[end]:#x}"
        self.note(end, "post_send", wr_id=wr, operation=operation, bytes=size, signaled=True, fence=False)
        self.wr[end] += 1
        self.posted[end][0] += 1
        self.now += 200
        return wr

    def post_receive(self, end, size=4096):
        self.note(end, "post_receive", wr_id=f"{0x100 + self.posted[end][1] % 64:#x}", bytes=size)
        self.posted[end][1] += 1
        self.now += 60

    def complete(self, end, queue, wr, opcode, size=0, status="SUCCESS", packet=None):
        members = {"opcode": opcode, "bytes": size} if status == "SUCCESS" else {}
        self.note(end, "completion", packet=packet, queue=queue, wr_id=wr, status=status, **members)
        self.posted[end][0 if queue == "send" else 1] -= 1
        self.now += 50

    def answer(self, sender, to, syndrome=31, kind="ack", label="ACK", psn=None, **more):
        """An acknowledgement of one packet by the other end."""
        self.now = max(self.now, self.arrival + 250)
        self.msn[sender] += kind == "ack"
        index = self.add(
            sender,
            ACK,
            self.packets[to]["psn"] if psn is None else psn,
            kind=kind,
            label=label,
            syndrome=syndrome,
            msn=self.msn[sender],
            request=to,
            **more,
        )
        self.packets[to].setdefault("answers", []).append(index)
        return index

    def again(self, first, reason, **more):
        """The packet is sent once more."""
        packet = self.packets[first]
        index = self.add(
            packet["from"],
            self._opcode(first),
            packet["psn"],
            packet.get("payload", 0),
            ack_request=1,
            is_repeated=True,
            repeats=first,
            comments=(f"sent again: {reason}", ""),
            **more,
        )
        packet.setdefault("repeated_by", []).append(index)
        return index

    def _opcode(self, index):
        return int(self.packets[index]["bytes"][84:86], 16)

    def finding(self, rule, severity, title, packets, expected="", seen=""):
        finding = {"rule": rule, "severity": severity, "title": title, "file": 1, "packets": packets}
        if expected:
            finding["expected"] = expected
        if seen:
            finding["seen"] = seen
        self.findings.append(finding)
        for index in packets:
            self.packets[index].setdefault("findings", []).append(len(self.findings) - 1)

    def message(self, end, trouble=None):
        """One message from this end to the other, and its acknowledgement."""
        if trouble == "read":
            return self.read(end)
        size = 2600 if trouble == "nak" else 256
        wr = self.post_send(end, "SEND", size)
        opcodes = (
            [(SEND_FIRST, 1024), (SEND_MIDDLE, 1024), (SEND_LAST, 552)]
            if trouble == "nak"
            else [(SEND_ONLY, 256)]
        )
        sent = []
        for at, (opcode, payload) in enumerate(opcodes):
            more = {}
            if trouble == "icrc":
                more = {"is_dropped": True, "bad_icrc": True, "comments": ("", "rx_drop_icrc")}
            if trouble == "nak" and at == 2:
                more["comments"] = ("", "out_of_sequence")
            is_lost = trouble == "timeout" or (trouble == "nak" and at == 1)
            sent.append(
                self.add(
                    end,
                    opcode,
                    self.psn[end],
                    payload,
                    ack_request=int(at == len(opcodes) - 1),
                    is_lost=is_lost,
                    ecn=3 if trouble == "cnp" else 2,
                    **more,
                )
            )
            self.psn[end] = (self.psn[end] + 1) & 0xFFFFFF
        self.state(end)
        last = getattr(self, f"_{trouble}", lambda *_: sent[-1])(end, sent)
        ack = self.answer(1 - end, last)
        self.oldest[end] = self.psn[end]
        self.complete(
            1 - end, "receive", f"{0x100 + (self.posted[1 - end][1] - 1) % 64:#x}", "RECV", size, packet=last
        )
        self.state(1 - end)
        self.now = max(self.now, self.arrival)
        self.complete(end, "send", wr, "SEND", size, packet=ack)
        self.state(end)
        self.post_receive(1 - end)
        return last

    def _nak(self, end, sent):
        nak = self.answer(
            1 - end, sent[2], 96, "nak", "NAK PSN sequence error", psn=self.packets[sent[1]]["psn"]
        )
        self.now = max(self.now, self.arrival + 300)
        self.state(end, retries_used=1)
        repeated = [self.again(index, "packet_seq_err") for index in sent[1:]]
        self.finding(
            "retransmission",
            "event",
            "A lost packet was sent again after a NAK",
            [sent[1], nak, *repeated],
            seen=f"PSN {self.packets[sent[1]]['psn']} was lost; its repeat came {self.now - self.packets[sent[1]]['seen'][0]['time']} ns later",
        )
        return repeated[-1]

    def _timeout(self, end, sent):
        self.now += 4_194_304 if len(self.packets) < 200 else 300_000
        self.note(end, "ack_timeout", retries_used=0)
        self.state(end, retries_used=1)
        self.now += 400
        repeated = self.again(sent[0], "local_ack_timeout_err")
        self.finding(
            "ack-timeout", "event", "A lost packet was sent again after a timeout", [sent[0], repeated]
        )
        return repeated

    def _icrc(self, end, sent):
        self.finding(
            "icrc",
            "violation",
            "the invariant CRC is right",
            [sent[0]],
            "0x8f3a11c2",
            f"0x{self.packets[sent[0]]['icrc']}",
        )
        return self._timeout(end, sent)

    def _rnr(self, end, sent):
        rnr = self.answer(1 - end, sent[0], 45, "rnr", "RNR NAK 0.64 ms", comments=("", "rcvd_rnr_err"))
        self.now = max(self.now, self.arrival)
        self.state(end, waits_for_receiver=True, rnr_retries_used=1)
        self.now += 640_000
        repeated = self.again(sent[0], "rcvd_rnr_err")
        self.finding("rnr-wait", "event", "A request waited for a receive", [sent[0], rnr, repeated])
        return repeated

    def _cnp(self, end, sent):
        self.now = self.arrival + 100
        self.add(1 - end, CNP, 0, kind="cnp", becn=1)
        return sent[0]

    def read(self, end):
        wr = self.post_send(end, "RDMA_READ", 3072)
        first = self.psn[end]
        request = self.add(end, READ_REQUEST, first, ack_request=1, reth=(0x7F30_1234_5000, 0x0BADCAFE, 3072))
        self.psn[end] = (self.psn[end] + 3) & 0xFFFFFF
        self.state(end, reads_in_flight=1)
        self.now = self.arrival + 300
        self.msn[1 - end] += 1
        for at, opcode in enumerate((READ_FIRST, READ_MIDDLE, READ_LAST)):
            more = {} if opcode == READ_MIDDLE else {"syndrome": 31, "msn": self.msn[1 - end]}
            index = self.add(1 - end, opcode, first + at, 1024, kind="response", request=request, **more)
            self.packets[request].setdefault("answers", []).append(index)
        self.now = self.arrival
        self.oldest[end] = self.psn[end]
        self.complete(end, "send", wr, "RDMA_READ", 3072, packet=index)
        self.state(end)
        return request

    def refused(self, end):
        """A WRITE to memory that is not there: the end of the connection."""
        wr = self.post_send(end, "RDMA_WRITE", 64)
        request = self.add(end, WRITE_ONLY, self.psn[end], 64, ack_request=1, reth=(0xDEAD0000, 0x1, 64))
        self.psn[end] += 1
        self.now = self.arrival
        self.note(
            1 - end,
            "refusal",
            packet=request,
            psn=self.packets[request]["psn"],
            opcode="RC WRITE Only",
            reason="no memory region has this R_Key",
        )
        nak = self.answer(1 - end, request, 98, "nak", "NAK remote access error")
        self.note(1 - end, "state", **self.state_of(1 - end, "ERR"))
        self.now = self.arrival
        self.complete(end, "send", wr, "", status="REM_ACCESS_ERR", packet=nak)
        self.note(end, "state", **self.state_of(end, "ERR"))
        self.finding(
            "nak-fatal",
            "event",
            "A NAK ended the connection",
            [nak, request],
            seen="the R_Key 0x1 is not one of the responder's",
        )
        self.finding(
            "ackreq-missing",
            "habit",
            "a requester that waits has asked for an acknowledgement",
            [0],
            "AckReq in the last packet",
            "none in 3 messages",
        )


def foreign(story, number):
    """A capture of other NICs' traffic: packets are neither sent nor received."""
    now, psn = 2_000_000, 0xFFFFF0
    for _ in range(max(1, number // 4)):
        batch = []
        for at in range(3):
            data, length = frame_of(
                FOREIGN, 0x2A1, WRITE_ONLY, psn, 1000, ack_request=int(at == 2), reth=(0x1000, 0x77, 1000)
            )
            batch.append(
                _foreign_packet(story, now, 0, "WRITE Only", "request", psn, data, length, 2, payload=1000)
            )
            psn = (psn + 1) & 0xFFFFFF
            now += 2_000 + story.random.randrange(1500)
        data, length = frame_of(FOREIGN[::-1], 0x1B4, ACK, (psn - 1) & 0xFFFFFF, 0, syndrome=31, msn=3)
        ack = _foreign_packet(
            story, now, 1, "ACK", "ack", (psn - 1) & 0xFFFFFF, data, length, 1, msn=3, request=batch[-1]
        )
        story.packets[batch[-1]]["answers"] = [ack]
        now += 9_000 + story.random.randrange(9000)


def _foreign_packet(story, now, sender, label, kind, psn, data, length, layout, **more):
    story.frames[2] += 1
    story.packets.append(
        {
            "seen": [{"file": 2, "frame": story.frames[2], "time": now}],
            "connection": 1,
            "from": sender,
            "label": label,
            "kind": kind,
            "psn": psn,
            "length": length,
            "layout": layout,
            "bytes": data,
            "icrc": f"{story.random.getrandbits(32):08x}",
            **more,
        }
    )
    return len(story.packets) - 1


TROUBLE = {3: "nak", 6: "timeout", 9: "rnr", 12: "cnp", 14: "read", 17: "icrc"}


def sort_by_time(story):
    """Packets by time, as the contract says; whoever points to one follows."""
    order = sorted(range(len(story.packets)), key=lambda index: story.packets[index]["seen"][0]["time"])
    new = {old: at for at, old in enumerate(order)}
    story.packets = [story.packets[index] for index in order]
    for packet in story.packets:
        for name in ("request", "repeats"):
            if name in packet:
                packet[name] = new[packet[name]]
        for name in ("answers", "repeated_by"):
            if name in packet:
                packet[name] = sorted(new[index] for index in packet[name])
    for note in story.notes:
        if "packet" in note:
            note["packet"] = new[note["packet"]]
    for finding in story.findings:
        finding["packets"] = [new[index] for index in finding["packets"]]
    story.notes.sort(key=lambda note: note["time"])


def make(packets=120, omitted=0):
    """The object of DATA.md, with about so many packets."""
    story = Story()
    for end in (0, 1):
        for state in ("INIT", "RTR", "RTS"):
            story.modify(end, state)
        for _ in range(4):
            story.post_receive(end)
    story.now += 40_000
    others = max(8, packets // 5)
    step = 0
    while len(story.packets) < packets - others - 2:
        # Long stories have less trouble: every hundredth message.
        story.message(
            step % 2, TROUBLE.get(step if step < 100 else step % 100 if step // 100 % 5 == 0 else -1)
        )
        step += 1
        story.now += 3_000 + story.random.randrange(4_000)
    story.refused(0)
    foreign(story, others)
    sort_by_time(story)
    mine = [packet for packet in story.packets if packet["connection"] == 0]
    theirs = [packet for packet in story.packets if packet["connection"] == 1]
    data = {
        "urnic": "1.9.0",
        "begin_ns": str(BEGIN_NS),
        "end": max(place["time"] for packet in story.packets for place in packet["seen"]),
        "files": [
            {
                "name": "a.pcapng",
                "frames": story.frames[0],
                "has_notes": True,
                "program": "ibv_rc_pingpong",
                "interface": "urnic0",
            },
            {
                "name": "b.pcapng",
                "frames": story.frames[1],
                "has_notes": True,
                "program": "ibv_rc_pingpong",
                "interface": "urnic0",
            },
            {"name": "switch.pcap", "frames": story.frames[2]},
        ],
        "layouts": LAYOUTS,
        "values": VALUES,
        "meanings": MEANINGS,
        "connections": [
            {
                "service": "RC",
                "ends": [
                    {"address": ADDRESSES[0], "qp": 17, "file": 0},
                    {"address": ADDRESSES[1], "qp": 18, "file": 1},
                ],
                "packets": len(mine),
                "bytes": sum(packet.get("payload", 0) for packet in mine),
            },
            {
                "service": "RC",
                "ends": [{"address": FOREIGN[0], "qp": 0x1B4}, {"address": FOREIGN[1], "qp": 0x2A1}],
                "packets": len(theirs),
                "bytes": sum(packet.get("payload", 0) for packet in theirs),
            },
        ],
        "packets": story.packets,
        "notes": story.notes,
        "findings": story.findings,
    }
    if omitted:
        data["omitted"] = {
            "packets": omitted,
            "why": "a page has at most 1,000,000; packets of the busiest connections are left out",
        }
    return data


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(make(*(int(word) for word in sys.argv[2:3])), file, separators=(",", ":"))
