# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""uDAPL's own programs, over its providers: cma connects by rdma_cm, scm by TCP. And qperf, which like them
also opens sockets at the addresses that the NICs have."""
import harness
from cm_pair import NICS, SERVER, CmPairTest

# uDAPL's programs listen there for what is not DAT.
SIDE_PORT = 15828
PROVIDERS = {"cma": ("libdaplofa.so.2", "{} 0"), "scm": ("libdaploscm.so.2", "urnic0 1")}
ADDRESSES = [nic[1].split("/")[0] for nic in NICS]


class SocketsAtTheAddresses(CmPairTest):
    """The host that both programs run on has the addresses of the NICs as well."""

    PACKAGES = "clients"

    def start_side(self, side, words, environment=None):
        nic = () if harness.is_host_shared() else NICS[side]
        words = [harness.STAGE.urnic, "run", *harness.nic_options(nic), "--", *words]
        name = ("server", "client")[side]
        inside = self.own_host()
        return self.start_plain(
            name, [*inside, *harness.STAGE.drop_privilege(words)], environment, privileged=True
        )


class Dapl(SocketsAtTheAddresses):
    def environment_of(self, side):
        """Each side has a registry of its own, with one entry for each provider."""
        registry = self.runtime / f"dat.conf.{side}"
        registry.write_text(
            "".join(
                f'{name} u2.0 nonthreadsafe default {library} dapl.2.0 "{words.format(ADDRESSES[side])}" ""\n'
                for name, (library, words) in PROVIDERS.items()
            )
        )
        return {"DAT_OVERRIDE": str(registry)}

    def start_dapl(self, side, *words):
        self.require(words[0])
        return self.start_side(side, words, self.environment_of(side))

    def wait_for_words(self, words, process):
        said = lambda: words in process.output()
        if (
            not harness.wait_until(lambda: said() or not process.is_running(), harness.START_TIMEOUT)
            or not said()
        ):
            self.fail_with(f"{process.name} was to say {words!r}")

    def pair(self, provider, program, ready, passed, *words):
        """Again where scm has misread its own message over TCP (op=9, which it does not have): its server
        then says ACCEPT_RTU and ends. It did in one of fourteen runs of dtestx."""
        for _ in range(3):
            server, client = self.play(provider, program, ready, *words)
            if "ACCEPT_RTU: rcv ERR" not in server.output():
                break
        self.expect_end(client)
        self.expect_end(server)
        for side in (server, client):
            self.assertIn(passed, side.output(), side.describe())

    def play(self, provider, program, ready, *words):
        """A server and its client that have both ended."""
        role = [] if program == "dtest" else ["-s"]
        server = self.start_dapl(0, program, "-P", provider, *role, *words)
        self.wait_for_words(ready, server)
        if program != "dtestsrq":
            self.wait_for_listener(server, SIDE_PORT)
        client = self.start_dapl(1, program, "-P", provider, "-h", SERVER, *words)
        for side in (client, server):
            if side.wait(harness.PAIR_TIMEOUT) is None:
                self.fail_with(f"{program} does not end")
        return server, client

    def dtest(self, provider):
        self.pair(
            provider, "dtest", "waiting for client connection", "DAPL Test Complete. PASSED", "-b", "65536"
        )

    def dtestx(self, provider):
        self.pair(provider, "dtestx", "", "immed/atomic test PASSED")

    def dtestcm(self, provider):
        """The server may take a queue pair for its own that its peer's end has freed ("disconnect_eps:
        DAT_INVALID_HANDLE"), and then ends before it has printed its times."""
        self.pair(provider, "dtestcm", "waiting for client", "CONNECTED on", "-c", "100")

    def dtestsrq(self, provider):
        self.pair(provider, "dtestsrq", "Accepting", "CONNECTED on", "-c", "4")

    # What dapltest does, after its server and provider.
    TRANSACTIONS = (
        "-T T -V -t 2 -w 4 -i 100 client RW 4096 1 server RW 2048 4 client SR 1024 4 server SR 4096 2",
        "-T T -V -P -i 50 client RR 8192 2 server RR 4096 1",
        "-T P -i 500 RW 4096 2",
        "-T P -m p -i 500 RR 65536 1",
    )

    def dapltest(self, provider):
        """dapltest ends with 0 whatever happens, and says what failed."""
        server = self.start_dapl(0, "dapltest", "-T", "S", "-D", provider)
        self.wait_for_words("Service Point Ready", server)
        for transaction in (*self.TRANSACTIONS, "-T Q"):
            what, kind, *words = transaction.split()
            client = self.start_dapl(1, "dapltest", what, kind, "-D", provider, "-s", SERVER, *words)
            self.expect_end(client)
            if "Error" in client.output() or "End of Work" not in client.output():
                self.fail_with(f"dapltest {transaction}", client, server)
        self.expect_end(server)

    def limits(self, provider):
        client = self.start_dapl(1, "dapltest", "-T", "L", "-D", provider, "-m", "50", "-w", "2")
        self.expect_end(client)
        self.assertNotIn("FAILED", client.output())


def _add(program, provider):
    setattr(Dapl, f"{program}_{provider}", lambda self: getattr(Dapl, program)(self, provider))


CASES = [
    (program, provider)
    for provider in PROVIDERS
    for program in ("dtest", "dtestx", "dtestcm", "dtestsrq", "dapltest", "limits")
]
for _case in CASES:
    _add(*_case)


class Qperf(SocketsAtTheAddresses):
    PORT = 19765
    TESTS = "rc_lat rc_bw rc_bi_bw rc_rdma_read_bw rc_rdma_write_bw rc_rdma_write_poll_lat rc_compare_swap_mr"
    VERIFYING = "ver_rc_fetch_add ver_rc_compare_swap"

    def all(self):
        self.require("qperf")
        server = self.start_side(0, ["qperf"])
        self.wait_for_listener(server, self.PORT)
        tests = [*self.TESTS.split(), *self.VERIFYING.split()]
        client = self.start_side(1, ["qperf", SERVER, "-cm1", "-t", "1", *tests])
        self.expect_end(client)
        for test in tests:
            self.assertIn(f"{test}:", client.output())
