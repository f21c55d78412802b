# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What tests of `urnic conform` share: the programs on the peer's machine, and clients of theirs."""
import json
import pathlib
import socket
import threading

import harness
from harness import ClientTest, wait_until
from test_udp import loopback_nics

TOKEN = "a-token"
VERSION = 3
GREETING = f"urnic-conform {VERSION} {TOKEN}"
LISTENER_GREETING = f"urnic-listener 1 {TOKEN}"
PATIENCE = 20
# What agents and wires cannot do; CONFORM.md has the list, too.
KNOWN_REASONS = [
    "the agent's verbs have no FLUSH and no ATOMIC WRITE",
    "the script sets what only urnic's own transport has",
    "this script takes",
    "on a wire no two things happen at the same moment",
    "on a wire nothing happens within a nanosecond of something else",
    "the agent cannot post: ibv_post_send: Invalid argument",  # a READ on UC, a WRITE on UD
    "the agent cannot bind: the region is deregistered",
    "the agent cannot dereg: ibv_dereg_mr: Device or resource busy",  # a window is bound to it
    "the peer's port takes datagrams of",
]
# Whether a READ is one too many, or a request one that comes again, depends on how soon the ones before it
# are answered.
FAST_ANSWERS = [
    "rc/read/resources_overflow_reads",
    "rc/replay/atomic_msn_in_order",
    "rc/sqd/fewer_resources",
    "rc/state/event_too_many_reads",
]


ODD_WORDS = [
    *(
        "-1",
        "0",
        "1",
        "31",
        "32",
        "4294967296",
        "18446744073709551615",
        "18446744073709551616",
        "0x",
        "x",
        "",
    ),
    *("sge=0:0:4294967295", "sge=99:0:1", "sge=0:4095:2", "sge=0:1", "sge=::", "9" * 300),
]


def mutated(line, dice):
    """The line, with some of its words changed."""
    words = line.split(" ")
    for _ in range(dice.choice((0, 0, 1, 1, 2, 4))):
        at = dice.randrange(len(words)) if words else 0
        kind = dice.randrange(6)
        if not words:
            words = [""]
        elif kind == 0:
            words[at] = dice.choice(ODD_WORDS)
        elif kind == 1:
            del words[at]
        elif kind == 2:
            words.insert(at, dice.choice(words))
        elif kind == 3 and words[at]:
            place = dice.randrange(len(words[at]))
            odd = chr(dice.choice((1, 37, 45, 48, 57, 58, 61, 115, 255)))
            words[at] = words[at][:place] + odd + words[at][place + 1 :]
        elif kind == 4:
            words += words[1:] * dice.choice((1, 5, 20))
        else:
            words[at] += dice.choice(("0", "=", "%s%n", ":"))
    text = " ".join(words)[:16000]  # longer lines end a conversation
    # The test has no time for long waits.
    return "poll 0 send 0" if text.startswith(("poll", "srq-poll")) and words[-1] not in ("0", "1") else text


class Client:
    """A connection to an agent, without its greeting."""

    def __init__(self, address, port):
        self.socket = socket.create_connection((address, port), timeout=PATIENCE)
        self.file = self.socket.makefile("rwb")

    def say(self, line):
        self.file.write(line.encode("latin-1") + b"\n")
        self.file.flush()

    def hear(self):
        """A line; empty: the agent has closed the connection."""
        try:
            return self.file.readline().decode("latin-1").rstrip("\n")
        except ConnectionError:
            return ""

    def ask(self, line):
        self.say(line)
        return self.hear()

    def close(self):
        self.file.close()
        self.socket.close()


class AgentTest(ClientTest):
    def source(self, name, language):
        """A file with what people copy to the machine of the peer."""
        words = [harness.STAGE.urnic, "conform", f"--agent-source={language}"]
        process = self.start_plain("source", words)
        self.expect_end(process)
        file = pathlib.Path(self.runtime) / name
        file.write_text(process.output())
        return file

    def compiled(self, name, language, *options):
        """The words that start it, after the compiler has had these options."""
        self.require("cc")
        source = self.source(f"{name}.c", language)
        program = source.with_suffix("")
        self.expect_end(self.start_plain("cc", ["cc", "-o", program, source, *options]), 60)
        return [program]

    def agent(self, *options):
        return self.compiled("agent", "c", *options, "-libverbs")

    def start_agent(self, *options, nic=(), environment=None, place=0, command=None):
        """An agent on a NIC of its own; then self.client() is one of its clients."""
        own = loopback_nics()[place]
        self.address, self.port = own[1].split(":")[1], harness.free_port()
        agent = self.start(
            "agent",
            [*(command or self.agent(*options)), self.address, str(self.port)],
            [*own, *nic],
            environment={"CONFORM_TOKEN": TOKEN, **(environment or {})},
        )
        return self.listening(agent)

    def listening(self, agent):
        wait_until(lambda: "listens" in agent.output() or not agent.is_running(), PATIENCE)
        if "listens" not in agent.output():
            self.fail_with("the agent does not listen", agent)
        return agent

    def listener(self, *options):
        return self.compiled("listener", "listener", *options, "-lrdmacm", "-libverbs")

    def client(self, greeting=GREETING):
        client = Client(self.address, self.port)
        self.addCleanup(client.close)
        if greeting is not None:
            self.assertEqual(client.ask(greeting), "ok " + greeting.rpartition(" ")[0])
        return client

    def conform(self, *options, token=TOKEN, code=0, name="conform"):
        """Runs it against the agent that was started, and returns its report."""
        words = ["conform", "--json", "--agent-port", self.port, "--port", loopback_nics()[1][1], *options]
        process = self.start_plain(
            name, [harness.STAGE.urnic, *map(str, words), self.address], environment={"CONFORM_TOKEN": token}
        )
        self.expect_end(process, 600, code)
        return json.loads(process.output())

    def expect_passed(self, report, least, known_reasons=KNOWN_REASONS):
        """At least so many cases have passed, and of the others it is known why they cannot."""
        reasons = {}
        for case in report["cases"]:
            if case["verdict"] == "UNKNOWN":
                reasons.setdefault(case["reason"], []).append(case["name"])
            elif case["verdict"] == "HABIT":
                self.assertIn(case["name"], FAST_ANSWERS)
            elif case["verdict"] != "PASS":
                self.fail_with(json.dumps(case, indent=2))
        self.assertGreaterEqual(report["passed"], least, reasons)
        for reason, names in reasons.items():
            self.assertTrue(any(known in reason for known in known_reasons), (reason, names))
        self.assertEqual(report["failed"], 0)

    def serve(self, *answers):
        """Something else that listens, and says these lines, one to each line of a client."""
        listener = socket.create_server((self.address, 0))
        self.addCleanup(listener.close)
        self.port = listener.getsockname()[1]

        def answer():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, connection.makefile("rwb") as file:
                    for line in answers:
                        if not file.readline():
                            break
                        file.write(line + b"\n")
                        file.flush()

        threading.Thread(target=answer, daemon=True).start()
