# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Two programs with a connection by rsockets, of which one ends without closing it.

    rsocket_ends.py server ADDRESS PORT     accepts, receives for as long as there is something, and says what
    rsocket_ends.py client ADDRESS PORT     connects, sends, and ends
"""
import ctypes
import os
import socket
import struct
import sys

rdmacm = ctypes.CDLL("librdmacm.so.1", use_errno=True)


def check(result, what):
    if result < 0:
        sys.exit(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def socket_address(address, port):
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(address) + bytes(8)


def serve(address, port):
    listener = check(rdmacm.rsocket(socket.AF_INET, socket.SOCK_STREAM, 0), "rsocket")
    at = socket_address(address, port)
    check(rdmacm.rbind(listener, at, len(at)), "rbind")
    check(rdmacm.rlisten(listener, 1), "rlisten")
    connection = check(rdmacm.raccept(listener, None, None), "raccept")
    text = ctypes.create_string_buffer(16)
    while (count := rdmacm.rrecv(connection, text, len(text), 0)) > 0:
        print("received", text.raw[:count].decode(), flush=True)


def connect(address, port):
    connection = check(rdmacm.rsocket(socket.AF_INET, socket.SOCK_STREAM, 0), "rsocket")
    at = socket_address(address, port)
    check(rdmacm.rconnect(connection, at, len(at)), "rconnect")
    check(rdmacm.rsend(connection, b"hello", 5, 0), "rsend")


role, its_address, its_port = sys.argv[1:]
(serve if role == "server" else connect)(its_address, int(its_port))
