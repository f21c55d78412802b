"""Other wires than the default one."""
import harness
from harness import ClientTest, wait_until

PINGPONG = ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-c", "-s", "20000", "-n", "200"]


class Ports(ClientTest):
    def test_the_back_may_be_there_first(self):
        self.require("ibv_rc_pingpong")
        wire = f"vhost:{self.runtime}/wire.sock"
        self.run_pair(*PINGPONG, nics=(["--port", f"{wire},back"], ["--port", f"{wire},front"]))

    def test_two_pairs_side_by_side_do_not_disturb_each_other(self):
        self.require("ibv_rc_pingpong")
        port = harness.free_port()
        other = self.start("other server", ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-p", str(port)])
        self.wait_for_listener(other, port)
        wire = ["--port", f"vhost:{self.runtime}/wire.sock"]
        self.run_pair(*PINGPONG, nics=(wire, wire))
        client = self.start("other client", ["ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-p", str(port), "127.0.0.1"])
        self.expect_end(client)
        self.expect_end(other)

    def test_network_interfaces(self):
        """A pair of virtual interfaces in a network namespace of the test's own: needs root."""
        self.require("ibv_rc_pingpong")
        inside = self.network_namespace(mtu=4200)
        nics = (
            ["--ip", "10.78.0.1/24", "--port", "af_packet:left"],
            ["--ip", "10.78.0.2/24", "--port", "af_packet:right"],
        )
        self.run_pair(*PINGPONG, nics=nics, privileged=True, inside=inside)
        self.run_pair(*PINGPONG, "-e", nics=nics, privileged=True, inside=inside)
