# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic run --fault verb:...` and `async:...`: unmodified programs come to their error paths, and say what
they say there."""
import re
import signal

import harness
from cm_pair import NICS, SERVER, CmPairTest

PINGPONG = ("ibv_rc_pingpong", "-d", "urnic0", "-g", "1", "-n", "50")
PERFTEST = ("-d", "urnic0", "-x", "1", "-F", "-n", "1000")

# What a ping-pong's client says, and the faults that lead there.
OF_PINGPONG = {
    "verb:ibv_get_device_list=ENOSYS": "Failed to get IB devices list: Function not implemented",
    "verb:ibv_open_device=ENODEV": "Couldn't get context for urnic0",
    "verb:ibv_alloc_pd=ENOMEM": "Couldn't allocate PD",
    "verb:ibv_reg_mr=ENOMEM": "Couldn't register MR",
    "verb:ibv_create_cq=ENOMEM": "Couldn't create CQ",
    "verb:ibv_create_qp_ex=ENOMEM": "Couldn't create QP",
    "verb:ibv_modify_qp=EINVAL:to=INIT": "Failed to modify QP to INIT",
    "verb:ibv_modify_qp=EINVAL:to=RTR": "Failed to modify QP to RTR",
    "verb:ibv_modify_qp=EINVAL:to=RTS": "Failed to modify QP to RTS",
    "verb:ibv_post_recv=ENOMEM:nth=99": "Couldn't post receive (98)",
    "verb:ibv_post_send=ENOMEM:n=5": "Couldn't post send",
    "verb:ibv_poll_cq=EIO:nth=2": "poll CQ failed",
    "verb:ibv_poll_cq:status=RNR_RETRY_EXC_ERR:nth=3": "Failed status RNR retry counter exceeded (13)",
    "verb:ibv_poll_cq:status=LOC_LEN_ERR:kind=receive": "Failed status local length error (1)",
    "async:QP_FATAL:call=ibv_post_send:nth=5": "Failed status work request flushed (5)",
    "async:DEVICE_FATAL:call=ibv_post_send:nth=5": "Couldn't post send",
}

# The same of rping's client.
OF_RPING = {
    "verb:rdma_create_id=ENOMEM": "rdma_create_id: Cannot allocate memory",
    "verb:rdma_resolve_addr=ENETUNREACH": "rdma_resolve_addr: Network is unreachable",
    "verb:rdma_resolve_addr:event=ADDR_ERROR:error=ENETUNREACH": "RDMA_CM_EVENT_ADDR_ERROR, error -101",
    "verb:rdma_resolve_route=ENODEV": "rdma_resolve_route: No such device",
    "verb:rdma_resolve_route:event=ROUTE_ERROR": "cma event RDMA_CM_EVENT_ROUTE_ERROR, error -110",
    "verb:rdma_connect:event=CONNECT_ERROR": "cma event RDMA_CM_EVENT_CONNECT_ERROR, error -22",
    "verb:rdma_connect:event=UNREACHABLE": "cma event RDMA_CM_EVENT_UNREACHABLE, error -110",
    "verb:rdma_connect:event=REJECTED:reason=8": "cma event RDMA_CM_EVENT_REJECTED, error 8",
    "verb:rdma_get_cm_event=EIO": "rdma_get_cm_event: Input/output error",
    "verb:ibv_create_cq=ENOMEM": "ibv_create_cq failed",
}
# rdma-core 65's rping joins a thread then that it has not started; 56's does not.
CRASHES_RPING = "verb:rdma_create_id=ENOMEM"


def rping_may_crash():
    version = re.match(r"\d+", harness.version_of("rdmacm-utils"))
    return version is not None and int(version[0]) > 56


class CallFaults(CmPairTest):
    def client_that_fails(self, fault, command, *options):
        """What the client says, whose call fails. The server is ended by the test."""
        self.require(command)
        port = harness.free_port()
        words = [command, *options, "-p", str(port)]
        server = self.start("server", words)
        self.wait_for_listener(server, port)
        client = self.start("client", [*words, "127.0.0.1"], ["--fault", fault])
        self.expect_failure(client)
        server.kill()
        return client.output()

    def expect_failure(self, process):
        ended = process.wait(harness.PAIR_TIMEOUT)
        if ended is None or ended <= 0:
            self.fail_with(f"{process.name} ended with {ended}, not with an error")

    def watch(self, fault, milliseconds=1500):
        """What a program of our own says that looks at its events."""
        program = harness.STAGE.program("event_watch")
        process = self.start("watch", [program, "--milliseconds", str(milliseconds)], ["--fault", fault])
        self.expect_end(process)
        said = process.output().splitlines()
        self.assertEqual([line for line in said if line.startswith("broken")], [])
        self.assertIn("closed", said)
        return said

    def test_a_ping_pong_comes_to_each_of_its_error_paths(self):
        for fault, words in OF_PINGPONG.items():
            with self.subTest(fault=fault):
                said = self.client_that_fails(fault, *PINGPONG)
                self.assertIn(words, said)
                self.assertIn(f"urnic: fault {fault} fired", said)

    def test_perftest_says_which_call_and_which_status(self):
        said = self.client_that_fails("verb:ibv_create_qp=ENOMEM", "ib_write_bw", *PERFTEST)
        self.assertIn("Unable to create QP.", said)
        said = self.client_that_fails(
            "verb:ibv_poll_cq:status=REM_ACCESS_ERR:nth=3", "ib_write_bw", *PERFTEST
        )
        self.assertIn("Failed status 10: ", said)
        said = self.client_that_fails("verb:ibv_post_send=ENOMEM:nth=7", "ib_send_bw", *PERFTEST)
        self.assertIn("Couldn't post send: qp 0 scnt=6", said)
        said = self.client_that_fails("verb:ibv_get_cq_event=EIO", "ib_send_lat", *PERFTEST, "-e")
        self.assertIn("Failed to get cq_event", said)

    def test_a_call_that_fails_now_and_then_does_so_by_the_seed(self):
        said = self.client_that_fails(
            "verb:ibv_post_send=ENOMEM:p=0.1,seed=3", "ib_send_bw", *PERFTEST, "--use_old_post_send"
        )
        again = self.client_that_fails(
            "seed=3,verb:ibv_post_send=ENOMEM:p=0.1", "ib_send_bw", *PERFTEST, "--use_old_post_send"
        )
        pattern = r"Couldn't post send: qp 0 scnt=(\d+)"
        self.assertRegex(said, pattern)
        self.assertEqual(re.search(pattern, said)[1], re.search(pattern, again)[1])

    def test_a_fault_that_does_not_fire_says_why(self):
        self.require(PINGPONG[0])
        fault = "verb:ibv_reg_mr=ENOMEM:nth=2,loss=0,async:PORT_ERR:after=1000s"
        _, said = self.run_pair(*PINGPONG, nics=((), ["--fault", fault]))
        self.assertIn("fault verb:ibv_reg_mr=ENOMEM:nth=2 did not fire: ibv_reg_mr was called once", said)
        self.assertRegex(
            said, r"fault async:PORT_ERR:after=1000s did not fire: the program ended \d+ ms after"
        )

    def test_rping_comes_to_the_error_paths_of_rdma_cm(self):
        self.require("rping")
        server = self.start("server", ["rping", "-s", "-P", "-a", SERVER], NICS[0])
        self.wait_for_cm_listener(server)
        for fault, words in OF_RPING.items():
            with self.subTest(fault=fault):
                # Two of rping's threads may call exit() at once. Then glibc 2.36 may end the process in one
                # of them before the other has run all destructors, and the last word of ours is missing.
                for _ in range(3):
                    client = self.start(
                        "client", ["rping", "-c", "-a", SERVER, "-C", "3"], [*NICS[1], "--fault", fault]
                    )
                    ended = client.wait(harness.PAIR_TIMEOUT)
                    crashed = fault == CRASHES_RPING and rping_may_crash() and ended == -signal.SIGSEGV
                    if crashed:
                        break
                    self.expect_failure(client)
                    self.assertIn(words, client.output())
                    if "urnic: fault" in client.output():
                        break
                if not crashed:
                    self.assertIn(f"urnic: fault {fault} fired", client.output())

    def test_a_listener_fails_at_the_call_that_was_named(self):
        self.require("rping")
        for call in ("rdma_bind_addr", "rdma_listen"):
            with self.subTest(call=call):
                fault = f"verb:{call}=EADDRINUSE"
                server = self.start("server", ["rping", "-s", "-a", SERVER], [*NICS[0], "--fault", fault])
                self.expect_failure(server)
                self.assertIn(f"{call}: Address already in use", server.output())

    def test_a_device_that_dies_flushes_and_refuses(self):
        for fault in ("async:DEVICE_FATAL:after=1500ms", "async:DEVICE_FATAL:call=ibv_post_send:nth=50"):
            with self.subTest(fault=fault):
                said = self.watch(fault, 3000)
                self.assertIn("event device fatal error port EIO", said)
                self.assertIn("pd EIO", said)
                self.assertIn("post EIO", said)
                self.assertIn(f"urnic: fault {fault} fired", said)

    def test_a_port_goes_down_and_comes_up_again(self):
        said = self.watch("async:PORT_ERR:after=100ms:for=200ms")
        events = [line for line in said if line.startswith("event ")]
        self.assertEqual(events, ["event port error port down", "event port active port active"])
        failures = [line for line in said if line.startswith(("post ", "completion "))]
        self.assertEqual(failures, [], "packets still pass")

    def test_a_queue_pair_that_breaks_flushes(self):
        said = self.watch("async:QP_FATAL:qp=1:call=ibv_post_send:nth=20")
        self.assertIn("completion work request flushed", said)
        self.assertEqual(len([line for line in said if line.startswith("event ")]), 1)
