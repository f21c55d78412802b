# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What tshark says about recordings."""
import functools
import shutil
import subprocess

# The tests ignore protocols that Wireshark guesses from the payload. Wireshark 4.4 gave one of them another
# name.
_GUESSED_PROTOCOLS = {"rpcordma", "eoib", "infiniband.eoib"}
# By a few bytes Wireshark guesses that a payload is FCoIB, or an EtherType and its frame. Not all guesses can
# be switched off. It calls a payload `data` when it does not recognize it.
_GUESSED = 'frame.protocols matches "infiniband:(?!data$)"'
_MALFORMED = f'(_ws.malformed || _ws.expert.severity == "Error") && !({_GUESSED}) || ((udp.dstport == 4791 || eth.type == 0x8915) && !infiniband.bth)'


class DissectionError(Exception):
    """tshark could not be run to the end."""


def is_available():
    return shutil.which("tshark") is not None


@functools.cache
def _command():
    """tshark with the options that all of its runs have. It takes no protocol that it does not know."""
    listed = subprocess.run(["tshark", "-G", "protocols"], capture_output=True, text=True).stdout
    known = {line.split("\t")[2] for line in listed.splitlines() if line.count("\t") >= 2}
    disabled = [word for name in sorted(_GUESSED_PROTOCOLS & known) for word in ("--disable-protocol", name)]
    # A UDP checksum of 0 over IPv6, which rdma_rxe sends as well, is covered by the ICRC.
    return ["tshark", *disabled, "-o", "udp.ignore_ipv6_zero_checksum:TRUE"]


def _select(file, condition, *fields, timeout=120):
    words = [
        *_command(),
        "-r",
        file,
        "-Y",
        condition,
        "-T",
        "fields",
        *(word for field in fields for word in ("-e", field)),
    ]
    result = subprocess.run(words, capture_output=True, text=True, timeout=timeout)
    if result.returncode != 0:
        raise DissectionError(result.stderr)
    return result.stdout.splitlines()


def complaints(file, timeout=120):
    """A line for every frame that is malformed: its number, its protocols, what is wrong."""
    return _select(
        file,
        _MALFORMED,
        "frame.number",
        "frame.protocols",
        "_ws.malformed",
        "_ws.expert.message",
        timeout=timeout,
    )


def count_roce(file):
    return len(_select(file, "infiniband.bth", "frame.number"))
