# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Two hosts with a cable between them: network namespaces and a pair of virtual interfaces. Making them takes
root."""
import subprocess

from benchmarks.programs import Failed


class Cable:
    """It is gone when close() has ended the programs that hold the namespaces. `client_side` and
    `server_side` are words that run a program as root there."""

    CLIENT, SERVER = "10.79.0.1", "10.79.0.2"

    def __init__(self, mtu):
        self.mtu = mtu
        self._holders = []
        try:
            self.client_side, self.server_side = self._hold(), self._hold()
            there = self.server_side[-1]
            self._ip(
                self.client_side,
                f"link add cable mtu {mtu} type veth peer name cable mtu {mtu} netns {there}",
            )
            for side, address in ((self.client_side, self.CLIENT), (self.server_side, self.SERVER)):
                self._ip(side, f"link set lo up\nlink set cable up\naddr add {address}/24 dev cable")
        except Failed:
            self.close()
            raise

    def _hold(self):
        words = ["setpriv", "--pdeathsig=KILL", "unshare", "-n", "sh", "-c", "echo here; exec sleep infinity"]
        holder = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._holders.append(holder)
        if holder.stdout.readline() != "here\n":
            raise Failed(f"network namespaces are not allowed here: {holder.stderr.read().strip()}")
        return ["nsenter", "-n", "-t", str(holder.pid)]

    @staticmethod
    def _ip(side, commands):
        done = subprocess.run(
            [*side, "ip", "-batch", "-"], input=f"{commands}\n", capture_output=True, text=True
        )
        if done.returncode != 0:
            raise Failed(f"no cable can be made here: {done.stderr.strip()}")

    @property
    def processes(self):
        """One on each host."""
        return [holder.pid for holder in self._holders]

    def close(self):
        for holder in self._holders:
            holder.kill()
            holder.communicate()
