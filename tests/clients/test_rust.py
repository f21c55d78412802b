# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Crates from crates.io that use verbs: their own tests and examples, alone and below cargo."""
import pathlib
import re
import subprocess

import harness
import registry

BUILT = re.compile(r"^ *Executable (?:unittests )?\S+ \((\S+)\)$", re.MULTILINE)


class CrateTest(registry.RegistryTest):
    CRATE = None
    PATIENCE = 90  # seconds, for a program of tests; async-rdma's do not end after some failures

    def setUp(self):
        super().setUp()
        self.crate = self.bring(registry.crate, *self.CRATE)

    def build(self, *words):
        """What cargo said; the test fails if that does not build."""
        try:
            return registry.cargo_build(self.crate, *words)
        except subprocess.CalledProcessError as error:
            self.fail(f"cargo {' '.join(words)}: {error.output[-4000:]}")

    def programs_of_tests(self):
        """Name and path of each test program of the crate."""
        said = self.build("test", "--no-run")
        paths = [self.crate / path for path in BUILT.findall(said)]
        return {re.sub(r"-[0-9a-f]{16}$", "", path.name): path for path in paths}

    def example(self, name):
        self.build("build", "--example", name)
        return self.crate / "target/debug/examples" / name

    def run_example(self, name, *words):
        """Below cargo, which runs as the user of the tests: its toolchain may be in that user's home."""
        self.build("build", "--example", name)
        inside = self.own_host() if harness.is_host_shared() else []
        command = [
            registry.cargo(),
            "run",
            "--quiet",
            "--locked",
            "--offline",
            "--example",
            name,
            "--",
            *words,
        ]
        program = self.start_plain(
            name,
            [
                *inside,
                harness.STAGE.urnic,
                "run",
                *harness.nic_options(()),
                "--",
                "sh",
                "-c",
                'cd "$0" && exec "$@"',
                self.crate,
                *command,
            ],
            registry.cargo_environment() | {"HOME": str(pathlib.Path.home())},
            privileged=True,
        )
        self.expect_end(program)
        return program.output()

    def run_tests(self, path, *words):
        """Names and verdicts of the tests of a program, which may end as it likes."""
        program = self.start(
            path.name, [path, "--test-threads", "1", *words], environment={"RUST_BACKTRACE": "0"}
        )
        program.wait(self.PATIENCE)
        program.kill()
        return (
            dict(
                re.findall(r"^test (\S+)(?: - should panic)? \.\.\. (\w+)$", program.output(), re.MULTILINE)
            ),
            program,
        )


class Ibverbs(CrateTest):
    CRATE = registry.IBVERBS_CRATE

    def test_example(self):
        self.assertIn("received", self.run_example("loopback"))


class Sideway(CrateTest):
    CRATE = registry.SIDEWAY

    def test_its_own_tests(self):
        programs = self.programs_of_tests()
        # It compares what the compiler says, which differs between its versions.
        programs.pop("compiletest", None)
        self.assertGreater(len(programs), 5)
        for name, path in programs.items():
            with self.subTest(name):
                verdicts, program = self.run_tests(path)
                self.assertEqual(set(verdicts.values()) - {"ok"}, set(), program.describe())

    def test_examples(self):
        self.assertIn("urnic0", self.run_example("ibv_devinfo"))
        # It wants a network interface for each GID, and a NIC with an address of its own has none.
        if harness.is_host_shared():
            self.assertRegex(self.run_example("show_gids"), r"urnic0 .*10\.99\.0\.1")

    def test_pingpong(self):
        path = self.example("rc_pingpong")
        for words in ([], ["-t"]):
            with self.subTest(words=words):
                port = harness.free_port()
                command = [path, "-d", "urnic0", "-g", "1", "-p", port, *words]
                server = self.start("server", command)
                self.wait_for_listener(server, port)
                client = self.start("client", [*command, "127.0.0.1"])
                self.expect_end(client)
                self.expect_end(server)
                self.assertIn("bytes in", client.output())


class AsyncRdma(CrateTest):
    CRATE = registry.ASYNC_RDMA
    # Their flags of a receive with immediate data must be 3, as rdma_rxe has them: it marks every receive
    # with IBV_WC_GRH, also in connections. Devices where it is 2, as here, fail.
    OF_RXE = {"send_with_imm::main", "write_with_imm::main"}
    # It takes its device from `rdma link`.
    OF_NETLINK = {"context::tests::test1"}

    def test_its_own_tests(self):
        passed = 0
        for name, path in self.programs_of_tests().items():
            with self.subTest(name):
                verdicts, program = self.run_tests(path)
                failed = {test for test, verdict in verdicts.items() if verdict not in ("ok", "ignored")}
                self.assertEqual(failed - self.OF_RXE - self.OF_NETLINK, set(), program.describe())
                passed += sum(verdict == "ok" for verdict in verdicts.values())
        self.assertGreaterEqual(passed, 48)
