# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Every command line of ibverbs-utils' ping-pongs and of perftest that must hold over two NICs, without
rdma_cm.

A line is what the server runs; the client runs the same and the server's address. What a program refuses by
itself, whatever the device, stands here with the words of its refusal, and is run like the rest: should it
stop refusing, the line fails.
"""
import dataclasses

from lines.verbs_line import VerbsLine

VERBS = ("write", "read", "send", "atomic")
ALL_SIZES = 23  # 2 to 2^23 bytes
IPV4_GROUP = "0:0:0:0:0:0:0:0:0:0:255:255:239:1:1:1"

# (options, verbs and kinds that take them, what the others say, why). Verbs and kinds are None where all do.
FIXED_SIZE = "Message size cannot be changed for Atomic tests"
LATENCY_HAS_NOT = "a latency test has no such thing"
OPTIONS = (
    ("", None, None, "", ""),
    ("-a -n 200", ("write", "read", "send"), None, FIXED_SIZE, "an atomic operation is of 8 bytes"),
    ("-b", None, "bw", "Bidirectional is only available in BW test", LATENCY_HAS_NOT),
    ("-q 8", None, "bw", "Multiple QPs only available on bw tests", LATENCY_HAS_NOT),
    (
        "-c UC",
        ("write", "send"),
        None,
        "UC connection not possible in READ/ATOMIC verbs",
        "the service has no such operation",
    ),
    (
        "-c UD",
        ("send",),
        None,
        "UD connection only possible in SEND verb",
        "the service has no such operation",
    ),
    ("-c XRC", None, None, "", ""),
    ("-m 256", None, None, "", ""),
    ("-m 512", None, None, "", ""),
    ("-m 1024", None, None, "", ""),
    ("-m 2048", None, None, "", ""),
    ("-m 4096", None, None, "", ""),
    (
        "-I 0",
        ("write", "send"),
        None,
        "Inline feature not available on READ/Atomic verbs",
        "nothing is sent inline",
    ),
    (
        "-I 64",
        ("write", "send"),
        None,
        "Inline feature not available on READ/Atomic verbs",
        "nothing is sent inline",
    ),
    (
        "-I 512 -s 512",
        ("write", "send"),
        None,
        "Inline feature not available on READ/Atomic verbs",
        "nothing is sent inline",
    ),
    (
        "-e",
        ("read", "send", "atomic"),
        None,
        "Events feature not available on WRITE verb",
        "a WRITE makes no event",
    ),
    ("-l 16 -n 1600", None, "bw", "Post list is supported in BW tests only", LATENCY_HAS_NOT),
    ("-D 10", None, None, "", ""),
    (
        "-o 1",
        ("read", "atomic"),
        None,
        "Setting Outstanding reads only available on READ verb",
        "nothing of it is outstanding",
    ),
    (
        "-o 16",
        ("read", "atomic"),
        None,
        "Setting Outstanding reads only available on READ verb",
        "nothing of it is outstanding",
    ),
    ("-A CMP_AND_SWAP", ("atomic",), None, "You are not running the atomic_lat/bw test!", "nothing atomic"),
    ("--use-srq", ("send",), None, "Using SRQ only avavilible in SEND tests.", "nothing is received"),
    ("-n 5000 -s 1048576", ("write", "read", "send"), None, FIXED_SIZE, "an atomic operation is of 8 bytes"),
    ("--report_gbits", None, None, "", ""),
    ("-N -Q 1 -t 512", None, "bw", "NoPeak only valid for BW tests", LATENCY_HAS_NOT),
    ("-Q 1 -t 512", None, None, "", ""),
)

# Datagrams and unreliable connections lose a message for which no receive is posted, and perftest waits for
# it: so there is a receive for each from the start.
RECEIVES_FOR_ALL = ("-n", "500", "-r", "512")

PINGPONG_LINES = {
    "ibv_rc_pingpong": (
        "-n 1000 -c",
        "-e",
        "-t",
        "-N",
        "-s 1",
        "-s 1000000",
        "-m 256",
        "-m 512",
        "-m 1024",
        "-m 2048",
        "-m 4096",
        "-e -c -s 100000",
        "-t -N -c",
        "-c -s 1000000 -m 4096 -n 100",
        "-n 10000",
        "-o -c",
        "-o -P -c",
        "-O -c",
        "-j -c",
    ),
    "ibv_uc_pingpong": ("", "-e", "-c", "-s 1", "-s 100000 -c", "-m 256", "-m 4096"),
    "ibv_ud_pingpong": ("", "-s 1024 -c", "-e", "-s 1", "-s 4096 -c"),
    "ibv_srq_pingpong": ("-q 16", "-q 1", "-e", "-c", "-s 100000 -c", "-m 256", "-m 4096", "-o -c"),
    "ibv_xsrq_pingpong": ("-c 1", "-e", "-s 1", "-s 100000", "-m 256", "-m 4096", "-n 100"),
}

# What the ordinary tests have nothing like.
COVER = {
    "ibv_rc_pingpong -t",
    "ibv_rc_pingpong -N",
    "ibv_rc_pingpong -t -N -c",
    "ibv_rc_pingpong -o -P -c",
    "ibv_rc_pingpong -j -c",
    "ibv_uc_pingpong -m 256",
    "ibv_xsrq_pingpong -m 4096",
    "ib_write_bw -I 64",
    "ib_write_lat -I 512 -s 512",
    "ib_write_bw -l 16 -n 1600",
    "ib_read_bw -o 16",
    "ib_read_lat -e",
    "ib_read_lat -m 256",
    "ib_send_bw -N -Q 1 -t 512",
    "ib_send_bw -m 256",
    "ib_send_lat -e",
    "ib_send_lat --use-srq",
    "ib_send_lat -c XRC",
    "ib_atomic_bw -q 8",
    "ib_atomic_bw -c XRC",
    "ib_atomic_lat -e",
    f"ib_send_lat -c UD -g -n 500 -M {IPV4_GROUP}",
}


def _perftest_lines():
    for words, verbs, kind, refused, reason in OPTIONS:
        for verb in VERBS:
            for own_kind in ("bw", "lat"):
                taken = (verbs is None or verb in verbs) and kind in (None, own_kind)
                options = tuple(words.split())
                if taken and verb == "send" and own_kind == "bw" and words in ("-c UC", "-c UD"):
                    options += RECEIVES_FOR_ALL
                if taken and "-a" in options:
                    # On a busy machine this takes minutes: up to 8 MiB go to and fro, each time waiting for a
                    # core.
                    yield VerbsLine(f"ib_{verb}_{own_kind}", options, rows=ALL_SIZES, timeout=600)
                elif taken:
                    yield VerbsLine(f"ib_{verb}_{own_kind}", options)
                else:
                    yield VerbsLine(f"ib_{verb}_{own_kind}", options, refused, reason)


def _multicast_lines():
    """Over the IPv4 GID a group that is one of IPv4, too; over the link-local one the group that perftest
    takes by itself."""
    for own_kind, receives in (("bw", RECEIVES_FOR_ALL), ("lat", ("-n", "500"))):
        yield VerbsLine(f"ib_send_{own_kind}", ("-c", "UD", "-g", *receives, "-M", IPV4_GROUP))
        yield VerbsLine(f"ib_send_{own_kind}", ("-c", "UD", "-g", *receives, "-x", "0"))
    mixed = "the group that perftest takes by itself is one of IPv6, the GID one of IPv4"
    yield VerbsLine("ib_send_bw", ("-c", "UD", "-g"), "Found Incompatibility issue with GID types.", mixed)
    yield VerbsLine("ib_send_lat", ("-c", "UD", "-g"), "Failed to create AH", mixed)


def _pingpong_lines():
    for program, all_options in PINGPONG_LINES.items():
        for options in all_options:
            yield VerbsLine(program, tuple(options.split()))


def _lines():
    for line in (*_pingpong_lines(), *_perftest_lines(), *_multicast_lines()):
        yield dataclasses.replace(line, cover=line.words() in COVER)


LINES = tuple(_lines())
