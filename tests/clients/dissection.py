"""What tshark says about recordings."""
import shutil
import subprocess

# Protocols that are guessed from the payload are none of our business, and a UDP checksum of 0 over IPv6, which rdma_rxe sends
# as well, is covered by the ICRC.
_COMMAND = ["tshark", "--disable-protocol", "rpcordma", "--disable-protocol", "eoib", "-o", "udp.ignore_ipv6_zero_checksum:TRUE"]
# It guesses at what a payload is: FCoIB, or a frame behind its EtherType, by a few bytes. Not all of this can be switched off.
# A payload that it makes nothing of is `data`.
_GUESSED = 'frame.protocols matches "infiniband:(?!data$)"'
_MALFORMED = f'(_ws.malformed || _ws.expert.severity == "Error") && !({_GUESSED}) || (udp.dstport == 4791 && !infiniband.bth)'


class DissectionError(Exception):
    """tshark could not be run to the end."""


def is_available():
    return shutil.which("tshark") is not None


def _select(file, condition, *fields, timeout=120):
    words = [*_COMMAND, "-r", file, "-Y", condition, "-T", "fields", *(word for field in fields for word in ("-e", field))]
    result = subprocess.run(words, capture_output=True, text=True, timeout=timeout)
    if result.returncode != 0:
        raise DissectionError(result.stderr)
    return result.stdout.splitlines()


def complaints(file, timeout=120):
    """A line for every frame that is malformed: its number, its protocols, what is wrong."""
    return _select(file, _MALFORMED, "frame.number", "frame.protocols", "_ws.malformed", "_ws.expert.message", timeout=timeout)


def count_roce(file):
    return len(_select(file, "infiniband.bth", "frame.number"))
