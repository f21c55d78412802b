# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Judges the results of a case: what the programs said, the recordings of both ends, and what the guest
counted.

urnic's transport is not one of the judges. They are the programs themselves, `urnic check` (a second reading
of the protocol), tshark and rdma_rxe.
"""
import ipaddress
import json
import math
import re
import struct
import subprocess

import dissection
import wires

# Said by the guest's kernel, and harmless: the kernel does not know how fast the card is; over shared memory
# its carrier comes and goes. Emulated time stands still now and then. Since some version before 6.12 rdma_rxe
# notes each completion with an error, which its program gets, too.
_EXPECTED_LOG = re.compile(
    "speed is unknown, defaulting|crng init done|link becomes ready|rxe0: set (active|down)|clocksource:|hrtimer: interrupt took"
    "|(do_complete|make_send_cqe): (non-flush error status|\\d+ callbacks suppressed)"
)
_NO_ANSWER = re.compile(r"transport retry counter exceeded|Completion with error at|status 12\b")
_SLEPT = "slept at a fence"
_WRONG_DATA = re.compile(r"invalid data|broken")
_LOCAL_QPN, _REMOTE_QPN = (
    re.compile(rf"{side} address:.* QPN (0x[0-9a-f]+)") for side in ("local", "remote")
)
_UDP_HEADER = 8  # bytes
_ROCE_PORT = 4791
_MANAGERS = 1  # the queue pair of a connection manager
_CNP = 0x81
_PCAP_HEADER = 24  # bytes
# Seconds between the guest's word and its frame on the wire: netem keeps it for a millisecond, by a clock
# that stands still now and then.
_ON_ITS_WAY = 0.01


class Verdict:
    """Why a case failed, if it did, and what is worth knowing of it anyway."""

    def __init__(self):
        self.complaints = []
        self.notes = []
        self.habits = {}  # what rdma_rxe does and `urnic check` has something against: how often

    def complain(self, text):
        self.complaints.append(text)

    def note(self, text):
        self.notes.append(text)


def judge(run, urnic):
    verdict = Verdict()
    judge_programs(run, verdict)
    if any(_is_roce(frame) for file in run.ours for frame in read_frames(file)) != run.case.program.meets:
        verdict.complain(f"our recordings {'have no' if run.case.program.meets else 'have'} RoCE packets")
    for file in run.ours:
        _check(run, "our recording", file, read_frames(file), urnic, verdict)
    if run.wire is not None:
        # With faults, order and number are not the sender's any more.
        if run.case.faults == "clean":
            _check(run, "the wire's recording", run.wire, read_frames(run.wire), urnic, verdict)
        judge_receiver(run, verdict)
    log = [line for line in run.kernel_log.splitlines() if not _EXPECTED_LOG.search(line)]
    if log:
        verdict.complain("the guest's kernel says:\n" + "\n".join(log))
    return verdict


class Dissection:
    """All recordings of ours in one file, for tshark to look at them all at once: it takes a second to start."""

    def __init__(self, path):
        self._path = path
        self._sent = []  # for each frame the case in which we sent it, or None
        path.write_bytes(b"")

    def add(self, run):
        for recording in run.ours:
            records, whole = _read_pcap(recording)
            with open(self._path, "ab") as file:
                file.write(whole if not self._sent else whole[_PCAP_HEADER:])
            self._sent += [run.case.name if is_for_guest(frame) else None for _, frame in records]

    def complaints(self):
        """What tshark has against our frames, with the names of the cases."""
        if not self._sent:
            return []
        if not dissection.is_available():
            return ["tshark is not installed"]
        complaints = []
        for line in dissection.complaints(self._path, timeout=600):
            case = self._sent[int(line.split("\t")[0]) - 1]
            if case:
                complaints.append(f"{case}: {line}")
        return complaints


def judge_programs(run, verdict):
    for side, output in run.outputs.items():
        if _WRONG_DATA.search(output):
            verdict.complain(f"{side}: wrong data")
    _judge_fences(run, verdict)
    failed = [side for side, code in run.codes.items() if code != 0]
    gave_up = [side for side in failed if _gave_up(run, side)]
    if run.case.program.kills_server:
        survivor = "guests" if run.case.role == "serves" else "ours"
        if run.codes[survivor] is None or survivor not in gave_up:
            verdict.complain(f"{survivor} did not give up when its peer was killed")
        return
    if run.case.program.family == "rdma_cm":
        _judge_cm_programs(run, verdict)
        return
    if not failed:
        return
    if run.case.faults == "loss20" and gave_up:
        verdict.note(f"{' and '.join(gave_up)} gave up")
        return
    if _has_left_its_peer(run, failed):
        verdict.note(f"the peer of {failed[0]} had left")
        return
    if _may_have_stalled(run, failed):
        verdict.note("the guest's requester stalled")
        return
    verdict.complain(f"{' and '.join(failed)} failed")


def _judge_fences(run, verdict):
    """rdma_rxe may miss that what a work request waits for has completed; urnic may not."""
    if _SLEPT in run.outputs.get("ours", ""):
        verdict.complain("ours slept at a fence")
    if _SLEPT in run.outputs.get("guests", ""):
        verdict.note("rdma_rxe slept at a fence")


def _judge_cm_programs(run, verdict):
    program = run.case.program
    server, client = ("ours", "guests") if run.case.role == "serves" else ("guests", "ours")
    judged = (client,) if program.server_stays else (server, client)
    if program.client_says:
        if run.codes.get(client) in (None, 0) or not re.search(program.client_says, run.outputs[client]):
            verdict.complain(f"{client} did not fail, or did not say: {program.client_says}")
        return
    failed = [side for side in judged if run.codes.get(side) != 0]
    if _has_left_its_peer(run, failed):
        verdict.note(f"the peer of {failed[0]} had left")
    elif failed:
        verdict.complain(f"{' and '.join(failed)} failed")


def _may_have_stalled(run, failed):
    """Whether both wait without an end, as they do when rdma_rxe of a newer Linux has an ACK of what it
    has only begun to repeat (transport/FACTS.md)."""
    waits_for_ever = len(failed) == 2 and all(run.codes[side] is None for side in failed)
    return run.case.faults == "loss20" and run.kernel >= (6, 12) and waits_for_ever


def _gave_up(run, side):
    return bool(_NO_ANSWER.search(run.outputs[side]))


def _has_left_its_peer(run, failed):
    """Whether this is all that went wrong: the other side's last acknowledgement was lost, and one side gave
    up waiting for it."""
    return (
        run.case.program.leaves
        and run.case.faults != "clean"
        and len(failed) == 1
        and _gave_up(run, failed[0])
    )


def _check(run, name, file, frames, urnic, verdict):
    """What `urnic check` has against our frames is a complaint, what it has against rdma_rxe's is worth
    knowing."""
    command = [urnic, "check", "--json", "--mtu", str(run.case.mtu), file]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    try:
        (report,) = json.loads(result.stdout)
    except ValueError:
        verdict.complain(f"urnic check of {name} failed:\n{result.stdout}{result.stderr}")
        return
    ours, theirs = [], {}
    for finding in report["findings"]:
        if finding["severity"] != "violation":
            continue
        if run.case.program.overwrites and finding["rule"] == "duplicate-differs":
            continue
        # The last of the frames is the one that breaks the rule.
        if is_for_guest(frames[finding["frames"][-1] - 1]):
            ours.append("{rule} frames {frames}: expected {expected}, seen {seen}".format(**finding))
        else:
            theirs[finding["rule"]] = theirs.get(finding["rule"], 0) + finding["count"]
    if ours:
        verdict.complain(f"urnic check of {name}:\n" + "\n".join(ours))
    # What the network did to them is not theirs.
    for rule, count in theirs.items() if run.case.faults == "clean" else ():
        verdict.habits[rule] = max(verdict.habits.get(rule, 0), count)  # each recording has it


def judge_receiver(run, verdict):
    """rdma_rxe counts a packet as received when all its checks, ICRC included, were passed: nothing of
    what reached the guest may be missing, unless the case is about packets that have to be dropped."""
    records, _ = _read_pcap(run.wire)
    of_others = sum(is_for_guest(frame) for _, frame in records)
    own = sum(not is_for_guest(frame) and _is_for_members(frame) for _, frame in records)
    arrived = of_others + own
    missing = arrived - run.counters["rcvd_pkts"]
    notifications = sum(is_for_guest(frame) and _opcode(frame) == _CNP for _, frame in records)
    if run.case.faults == "marked" and notifications == 0:
        verdict.complain("no CNP of ours reached the guest")
    if notifications > 0 and missing == notifications:
        verdict.note("rdma_rxe ignored CNPs")
        return
    if missing == 0:
        return
    if 0 < missing <= own and of_others == 0:
        verdict.note("rdma_rxe did not hear itself")
        return
    if run.case.drops_expected:
        verdict.note("rdma_rxe dropped what it has to")
        return
    # Once such a program has ended in the guest, repetitions come to a queue pair that is no more.
    if run.case.program.leaves and 0 < missing <= _unanswered(records, run.outputs["ours"]):
        verdict.note("repetitions came after the guest's program had ended")
        return
    verdict.complain(f"rdma_rxe dropped {missing} of {arrived} packets")


def _unanswered(records, output):
    """How many of our frames came to queue pairs of the guest after the last frame of these. The output of
    our program says which queue pairs are connected; one pair that it does not name, as perftest's own
    connection by rdma_cm, is found in the frames. The guest may end one queue pair while another still
    sends. When the guest's frames are held back, its last frame may still be on its way when the queue
    pair is gone: a frame of ours may meet it on the wire and find no queue pair."""
    ours, theirs = (
        [int(qpn, 16) for qpn in pattern.findall(output)] for pattern in (_LOCAL_QPN, _REMOTE_QPN)
    )
    roce = [(seconds, frame) for seconds, frame in records if _is_roce(frame)]
    peer = dict(zip(ours, theirs))
    peer |= _only_pair((frame for _, frame in roce), peer)
    last_word = {peer.get(_destination(frame)): seconds for seconds, frame in roce if not is_for_guest(frame)}
    return sum(
        is_for_guest(frame) and seconds > last_word.get(_destination(frame), math.inf) - _ON_ITS_WAY
        for seconds, frame in roce
    )


def _only_pair(frames, known):
    """{our queue pair: the guest's}, if only one pair speaks besides the pairs in `known` and the connection
    managers' pair."""
    called = {True: set(), False: set()}
    for frame in frames:
        called[is_for_guest(frame)].add(_destination(frame))
    ours, theirs = called[False] - {_MANAGERS, *known}, called[True] - {_MANAGERS, *known.values()}
    return dict(zip(ours, theirs)) if len(ours) == len(theirs) == 1 else {}


_GUESTS_MAC = bytes.fromhex(wires.GUESTS["mac"].replace(":", ""))


def is_for_guest(frame):
    """All that is not the guest's own: members of groups are named by addresses of their own."""
    return frame[6:12] != _GUESTS_MAC and _is_roce(frame)


def _is_for_members(frame):
    """The guest hears itself when it sends to a group: all its programs that send there are members. Linux
    6.1 does so, 6.12 does not, or not always."""
    return bool(frame[0] & 1) and _is_roce(frame)


def _is_roce(frame):
    """An empty datagram to RoCE's port is a probe of rdma_cm's, and no packet."""
    udp = _udp_header(frame)
    if udp is None:
        return False
    port, length = struct.unpack_from("!HH", frame, udp + 2)
    return port == _ROCE_PORT and length > _UDP_HEADER


def _opcode(frame):
    return frame[_udp_header(frame) + 8]


def _destination(frame):
    """The number of the queue pair that a RoCE packet is for."""
    return struct.unpack_from("!L", frame, _udp_header(frame) + 12)[0] & 0xFFFFFF


def _udp_header(frame):
    """Where in a frame it begins, in bytes, or None."""
    kind = frame[12:14]
    protocol, udp = (
        (frame[23], 34) if kind == b"\x08\x00" else (frame[20], 54) if kind == b"\x86\xdd" else (0, None)
    )
    return udp if protocol == 17 else None


def read_frames(path):
    records, _ = _read_pcap(path)
    return [frame for _, frame in records]


def _read_pcap(path):
    """The frames of a pcap file of this machine's byte order, each with its time in seconds, and the
    file's bytes. Both are without a last frame that is cut off, as a killed program may leave it, and in
    both IP packets become frames."""
    data = path.read_bytes()
    if len(data) < _PCAP_HEADER:  # a program that never had a NIC
        return [], b""
    is_raw = struct.unpack_from("<I", data, _LINK_TYPE_AT)[0] == _RAW_IP
    whole = data[:_LINK_TYPE_AT] + struct.pack("<I", _ETHERNET)
    records = []
    at = _PCAP_HEADER
    while at + 16 <= len(data):
        seconds, microseconds, size = struct.unpack_from("<III", data, at)
        if at + 16 + size > len(data):
            break
        packet = data[at + 16 : at + 16 + size]
        frame = _with_ethernet(packet) if is_raw else packet
        records.append((seconds + microseconds * 1e-6, frame))
        whole += struct.pack("<IIII", seconds, microseconds, len(frame), len(frame)) + frame
        at += 16 + size
    return records, whole


_LINK_TYPE_AT = 20
_ETHERNET, _RAW_IP = 1, 101
_GUESTS_ADDRESSES = [ipaddress.ip_address(wires.GUESTS[kind]).packed for kind in ("ipv4", "ipv6")]
_NO_MAC = bytes(6)


def _with_ethernet(packet):
    """The frame of an IP packet, from the guest's MAC if it has sent it."""
    is_ipv4 = packet[0] >> 4 == 4
    source = packet[12:16] if is_ipv4 else packet[8:24]
    mac = _GUESTS_MAC if source in _GUESTS_ADDRESSES else _NO_MAC
    return _NO_MAC + mac + (b"\x08\x00" if is_ipv4 else b"\x86\xdd") + packet
