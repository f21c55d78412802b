#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Has a test start programs on its other hosts, as `ssh` does, where the hosts are network namespaces.

    remote_shell.py SOCKET [-x] HOST WORD...

The test listens at SOCKET (RemoteShell), and starts the words, as a shell's line, as an ordinary user there.
Ends with their exit code.
"""
import json
import pathlib
import socket
import socketserver
import sys
import threading


class RemoteShell:
    """Where remote_shell.py asks. `start(host, line)` starts a shell's line there and returns its process."""

    def __init__(self, path, start):
        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                host, line = json.loads(self.rfile.readline())
                process = start(host, line)
                self.wfile.write(f"{process.wait(None)}\n".encode())

        self._server = socketserver.ThreadingUnixStreamServer(str(path), Handler)
        self._server.daemon_threads = True
        pathlib.Path(path).chmod(0o666)
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def main():
    path, *words = sys.argv[1:]
    host, *line = words[1:] if words[0] == "-x" else words
    with socket.socket(socket.AF_UNIX) as shell:
        shell.connect(path)
        shell.sendall(json.dumps([host, " ".join(line)]).encode() + b"\n")
        return int(shell.makefile().readline())


if __name__ == "__main__":
    sys.exit(main())
