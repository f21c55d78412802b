# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""perftest over raw packets: its own Ethernet frames, which the server receives by flow rules."""
import re

from harness import ClientTest

SERVER, CLIENT = "02:00:00:00:77:01", "02:00:00:00:77:02"
ADDRESSES = ["-j", "10.9.0.2", "-J", "10.9.0.1", "-k", "1000", "-K", "2000"]


class RawPacket(ClientTest):
    def bandwidth(self, server_options=(), *options):
        """The two know nothing of each other except the frames. So the client, which sends even if no
        server listens, goes on for long enough; the server measures half a second from its first frame on,
        and never ends if there is none."""
        self.require("raw_ethernet_bw")
        program = ["raw_ethernet_bw", "-d", "urnic0", "-s", "1024", *options]
        server = self.start(
            "server",
            [*program, "--server", "-B", SERVER, "-E", CLIENT, "-D", "1", *server_options],
            ["--mac", SERVER],
        )
        client = self.start(
            "client", [*program, "--client", "-B", CLIENT, "-E", SERVER, "-D", "3"], ["--mac", CLIENT]
        )
        for process in (client, server):
            self.expect_end(process)
            rates = re.findall(r"^ *1024 +\d+ .* ([\d.]+) *$", process.output(), re.MULTILINE)
            if len(rates) != 1 or float(rates[0]) == 0:
                self.fail_with(f"{process.name} shows no rate of messages")

    def test_frames_by_their_mac(self):
        self.bandwidth()

    def test_udp_by_addresses_and_ports(self):
        self.bandwidth((), *ADDRESSES)

    def test_sniffer(self):
        self.bandwidth(["--sniffer"])
