# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""What URNIC_EXPLAIN says of calls that fail at once: a line for each, what was wanted and what would do."""
import re

import harness
from harness import ClientTest

# The name of a failure, its errno, and words of the one line; the program prints what stands in {}.
ROWS = (
    ("cq-large", "EINVAL", ("create_cq: cqe is 1073741824", "takes 1 to 4194304", "max_cqe")),
    ("cq-none", "EINVAL", ("cqe is 0", "takes 1 to")),
    ("cq-negative", "EINVAL", ("not negative",)),
    ("cq-vector", "EINVAL", ("comp_vector is 77", "num_comp_vectors")),
    ("cq-resize", "EINVAL", ("resize_cq: cqe is 1073741824",)),
    (
        "qp-inline",
        "EINVAL",
        ("create_qp: cap.max_inline_data is 1048576", "at most 1024 bytes", "ask for less"),
    ),
    ("qp-send-sge", "EINVAL", ("cap.max_send_sge is 1000", "0 to 32", "max_sge")),
    ("qp-recv-sge", "EINVAL", ("cap.max_recv_sge is 1001", "0 to 32")),
    ("qp-send-wr", "EINVAL", ("cap.max_send_wr is 16777216", "0 to 16384", "max_qp_wr")),
    ("qp-recv-wr", "EINVAL", ("cap.max_recv_wr is 33554432", "0 to 16384")),
    ("qp-type", "EINVAL", ("qp_type 77 is none",)),
    ("srq-wr", "EINVAL", ("create_srq: attr.max_wr is 16777216", "1 to 16384", "max_srq_wr")),
    ("srq-sge", "EINVAL", ("attr.max_sge is 1000", "max_srq_sge")),
    (
        "busy-cq",
        "EBUSY",
        ("destroy_cq: the completion queue is still used by 2 queue pairs", "{qp}", "{other}"),
    ),
    ("busy-srq", "EBUSY", ("destroy_srq: the shared receive queue is still used by 1 queue pair ({other})",)),
    ("busy-channel", "EBUSY", ("destroy_comp_channel: ", "1 completion queue (number {cq})")),
    (
        "busy-pd",
        "EBUSY",
        (
            "dealloc_pd: the protection domain is still used by 1 memory region (lkey {lkey}), 2 queue pairs",
            "{qp}",
            "{other}",
            "1 shared receive queue (number {srq})",
            "destroy what uses it first",
        ),
    ),
    ("free-srq", "0", None),
    ("ah-beyond", "EINVAL", ("create_ah: the source GID index 200 is beyond the table", "in use are 0 (")),
    ("ah-empty", "EINVAL", ("create_ah: the source GID index 9 is empty; in use are 0 (",)),
    ("ah-lid", "EINVAL", ("create_ah: is_global is 0", "set it to 1")),
    ("ah-port", "EINVAL", ("create_ah: port_num is 2", "number 1")),
    ("send-state", "EINVAL", ("post_send: QP {qp}, wr_id 7: ", "in RESET", "posted in RTS")),
    ("receive-state", "EINVAL", ("post_recv: QP {qp}, wr_id 8: ", "in RESET", "from INIT on")),
    ("state-skipped", "EINVAL", ("modify_qp: a queue pair cannot go from RESET to RTS",)),
    ("mask-missing", "EINVAL", ("modify_qp: RESET to INIT needs: access flags, P_Key index, port",)),
    ("mask-unknown", "EINVAL", ("modify_qp: the mask selects an unknown attribute, bits 0x40000000",)),
    ("gid-empty", "EINVAL", ("modify_qp: the source GID index 9 is empty; in use are 0 (",)),
    ("gid-beyond", "EINVAL", ("modify_qp: the source GID index 200 is beyond the table of 64",)),
    ("mtu", "EINVAL", ("modify_qp: path_mtu is 9", "IBV_MTU_256")),
    ("mask-excess", "EINVAL", ("modify_qp: INIT to RTR does not allow: timeout",)),
    (
        "inline-long",
        "EINVAL",
        ("post_send: QP {qp}, wr_id 7: IBV_SEND_INLINE with 4096 bytes", "max_inline_data"),
    ),
    ("inline-long-again", "EINVAL", None),
    ("inline-read", "EINVAL", ("IBV_SEND_INLINE with RDMA_READ",)),
    ("send-sges", "EINVAL", ("num_sge is 3", "takes 2", "cap.max_send_sge")),
    ("send-many-sges", "EINVAL", ("num_sge is 100", "0 to 32")),
    ("opcode", "EINVAL", ("opcode 99",)),
    ("flags", "EINVAL", ("send_flags has bits 0x100000",)),
    ("atomic-length", "EINVAL", ("ATOMIC_FETCH_AND_ADD moves 8 bytes, and its elements have 4",)),
    ("receive-sges", "EINVAL", ("post_recv: ", "num_sge is 3", "takes 2", "max_recv_sge")),
    ("receive-full", "ENOMEM", ("post_recv: ", "the receive queue is full", "poll completions first")),
)


class Refusals(ClientTest):
    def attempts(self, *options):
        """By name of the attempt: its errno, and the lines of the NIC. Then what the program printed."""
        program = harness.STAGE.program("refusals")
        process = self.start_plain(
            "refusals", [harness.STAGE.urnic, "run", *options, "--port", "loopback", "--", program]
        )
        self.expect_end(process, timeout=60)
        output = process.output()
        blocks = re.findall(r"^# (\S+)\n((?:.*\n)*?)= (\S+)$", output, re.M)
        return {name: (error, lines.splitlines()) for name, lines, error in blocks}, output

    def test_each_has_one_line_that_says_why_and_what_would_do(self):
        attempts, output = self.attempts("--explain")
        numbers = dict(re.findall(r"^(qp|other|lkey|srq|cq) (\S+)$", output, re.M))
        self.assertEqual(list(attempts), [name for name, _, _ in ROWS])
        for name, error, words in ROWS:
            with self.subTest(attempt=name):
                seen, lines = attempts[name]
                self.assertEqual(seen, error)
                self.assertEqual(len(lines), 0 if words is None else 1, lines)
                for word in words or ():
                    self.assertIn(word.format(**numbers), lines[0])

    def test_without_it_nothing_is_said(self):
        attempts, _ = self.attempts()
        self.assertEqual([name for name, (_, lines) in attempts.items() if lines], [])
        self.assertEqual([name for name, _, _ in ROWS], list(attempts))
