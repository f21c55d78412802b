"""Judges what became of a case: what the programs said, the recordings of both ends, and what the guest counted.

Nobody here is urnic's transport: the judges are the programs themselves, `urnic check` (a second reading of the protocol), tshark
and rdma_rxe.
"""
import re
import struct
import subprocess

import wires

# Said by the guest's kernel in every run, and harmless.
_EXPECTED_LOG = re.compile(r"speed is unknown, defaulting|random: crng init done")
_NO_ANSWER = re.compile(r"transport retry counter exceeded|Completion with error at|status 12\b")
_WRONG_DATA = re.compile(r"invalid data|broken")
_ROCE_PORT = 4791


class Verdict:
    """Why a case failed, if it did, and what is worth knowing of it anyway."""

    def __init__(self):
        self.complaints = []
        self.notes = []

    def complain(self, text):
        self.complaints.append(text)

    def note(self, text):
        self.notes.append(text)


def judge(run, urnic):
    verdict = Verdict()
    _judge_programs(run, verdict)
    for name, file in (("our recording", run.ours), ("the wire's recording", run.wire)):
        if file is not None:
            _check(name, file, urnic, verdict)
    if run.wire is not None:
        _judge_receiver(run, verdict)
    log = [line for line in run.kernel_log.splitlines() if not _EXPECTED_LOG.search(line)]
    if log:
        verdict.complain("the guest's kernel says:\n" + "\n".join(log))
    return verdict


def _judge_programs(run, verdict):
    for side, output in run.outputs.items():
        if _WRONG_DATA.search(output):
            verdict.complain(f"{side}: wrong data")
    failed = [side for side, code in run.codes.items() if code != 0]
    if not failed:
        return
    gave_up = [side for side in failed if _NO_ANSWER.search(run.outputs[side])]
    if run.case.faults == "loss20" and gave_up:
        verdict.note(f"{' and '.join(gave_up)} gave up")
        return
    # A ping-pong ends without saying goodbye: when the last acknowledgement is lost, nobody is there to repeat it.
    if run.case.program.family == "pingpong" and run.case.faults != "clean" and failed == gave_up and len(failed) == 1:
        verdict.note(f"the peer of {failed[0]} had left")
        return
    verdict.complain(f"{' and '.join(failed)} failed")


def _check(name, file, urnic, verdict):
    result = subprocess.run([urnic, "check", file], capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        verdict.complain(f"urnic check of {name}:\n{result.stdout}{result.stderr}")


def _judge_receiver(run, verdict):
    """rdma_rxe counts a packet as received when all its checks, ICRC included, were passed: nothing of what reached the guest may
    be missing."""
    to_guest = sum(1 for frame in read_frames(run.wire) if _is_roce_to_guest(frame))
    missing = to_guest - run.counters["rcvd_pkts"]
    if missing != 0:
        verdict.complain(f"rdma_rxe dropped {missing} of {to_guest} packets")
    if run.case.faults == "clean":
        for name in ("duplicate_request", "out_of_seq_request"):
            if run.counters[name]:
                verdict.note(f"{name} {run.counters[name]}")


_GUESTS_MAC = bytes.fromhex(wires.GUESTS["mac"].replace(":", ""))


def _is_roce_to_guest(frame):
    if frame[:6] != _GUESTS_MAC:
        return False
    kind = frame[12:14]
    protocol, udp = (frame[23], 34) if kind == b"\x08\x00" else (frame[20], 54) if kind == b"\x86\xdd" else (0, 0)
    return protocol == 17 and struct.unpack_from("!H", frame, udp + 2)[0] == _ROCE_PORT


def read_frames(path):
    """The frames of a pcap file of this machine's byte order."""
    with open(path, "rb") as file:
        data = file.read()
    at = 24
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16 : at + 16 + size]
        at += 16 + size


