# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Who listens on a TCP port.

The kernel is asked by netlink (sock_diag(7)) for listening sockets alone: a reader of /proc/net/tcp waits
until the kernel has gone through its whole table of connections, which is in proportion to the machine's
memory and takes it milliseconds.
"""
import os
import pathlib
import socket
import struct

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_NLMSG_DONE = 3
_LISTEN = 10  # the state's number, in the kernel's tcp_states.h
_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr: length, type, flags, sequence number, port
# The struct inet_diag_req_v2: family, protocol, extensions, states; any socket.
_REQUEST = struct.Struct("=BBBxI48x")
_SOURCE_PORT = struct.Struct(">4xH")  # of struct inet_diag_msg


def _listening_ports(family):
    """TCP ports of this network namespace; OSError when the kernel has no such netlink protocol."""
    ports = set()
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        request = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, 1 << _LISTEN)
        kernel.send(
            _HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0) + request
        )
        while True:
            answer, at = kernel.recv(1 << 16), 0
            while at < len(answer):
                length, kind, *_ = _HEADER.unpack_from(answer, at)
                if kind == _NLMSG_DONE:
                    return ports
                if kind != _SOCK_DIAG_BY_FAMILY:
                    raise OSError("the kernel does not list sockets")
                ports.add(_SOURCE_PORT.unpack_from(answer, at + _HEADER.size)[0])
                at += length + 3 & ~3


def _is_in_table(port, pid):
    wanted = f":{port:04X}"
    for table in ("tcp", "tcp6"):
        try:
            lines = pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()
        except OSError:  # it has just ended
            return False
        for line in lines:
            fields = line.split()
            if fields[3] == "0A" and fields[1].endswith(wanted):
                return True
    return False


def _is_in_our_namespace(pid):
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino == os.stat("/proc/self/ns/net").st_ino
    except OSError:  # it has ended, or is another user's
        return False


def is_listening(port, pid="self"):
    """Whether a program listens on the TCP port, in the network namespace of process `pid`."""
    if _is_in_our_namespace(pid):
        try:
            return any(port in _listening_ports(family) for family in (socket.AF_INET, socket.AF_INET6))
        except OSError:
            pass
    return _is_in_table(port, pid)
