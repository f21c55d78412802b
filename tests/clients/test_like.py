# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""`urnic run --like`: what an unmodified program of ours sees of the NIC, under each personality; and
`urnic personalities`. The expectations were typed from the sources that the table names."""
import json
import subprocess

import harness
from harness import ClientTest

NAMES = ("default", "connectx5", "connectx6", "e810", "rxe", "strict")
MLX5 = {
    "device.max_qp_wr": "32768",
    "device.max_sge": "30",
    "device.max_cqe": "4194303",
    "device.max_qp_rd_atom": "16",
    "device.atomic_cap": "1",
    "device.local_ca_ack_delay": "16",
    "port.max_msg_sz": "1073741824",
    "port.lid": "0",
    "qp100.sends": "128",
    "qp100.receives": "128",
    "qp100.receive_sges": "4",
    "qp100.inline": "60",
    "qp1.sends": "1",
    "inline102.error": "0",
    "sge14.error": "0",
    "sge31.error": "EINVAL",
    "sends10000.error": "EINVAL",
    "cq100": "127",
    "cq128": "255",
    "srq.error": "0",
    "srq.receives": "127",
    "srq.sges": "3",
    "uc.error": "0",
    "post.elements": "ENOMEM",
    "post.inline": "ENOMEM",
    "post.receive_elements": "EINVAL",
    "post.atomic": "0",
    "post.misaligned_atomic": "0",
    "post.early": "0",
    "room.is_endless": "0",
    "room.receive_is_free_before_poll": "0",
    "received.wc_flags": "2",
    "write.byte_len": "untouched",
    "write.src_qp": "untouched",
    "write.vendor_err": "untouched",
    "write.opcode": "set",
    "no_right_of_qp.status": "remote invalid request",
    "no_right_of_qp.vendor_err": "0x8a",
    "unknown_rkey.status": "remote access error",
    "unknown_rkey.vendor_err": "0x88",
    "unknown_rkey.opcode": "untouched",
    "unknown_rkey.byte_len": "untouched",
    "unknown_rkey.src_qp": "untouched",
    "unknown_lkey.vendor_err": "0x52",
    "too_long.vendor_err": "0x53",
    "read_only.vendor_err": "0x33",
    "long_send.sender": "remote invalid request",
    "long_send.receiver": "local length error",
    "long_write.status": "remote access error",
    "long_write.bytes": "2048",
    "failed": "3=10/0x88 4=5/0xf9",
    "flushed": "0xf5 0xf9 0xf9",
    "completions_after_destroy": "0",
}
SEEN = {
    "default": {
        "device.max_qp_wr": "16384",
        "device.max_sge": "32",
        "qp100.sends": "128",
        "qp100.inline": "16",
        "cq100": "128",
        "post.elements": "EINVAL",
        "post.inline": "EINVAL",
        "post.early": "EINVAL",
        "post.misaligned_atomic": "0",
        "room.is_endless": "1",
        "room.receive_is_free_before_poll": "1",
        "received.wc_flags": "2",
        "unknown_rkey.vendor_err": "0",
        "long_write.bytes": "0",
        "failed": "3=10/0 4=5/0",
        "completions_after_destroy": "0",
    },
    "connectx5": MLX5,
    "connectx6": MLX5,
    "e810": {
        "device.max_qp_wr": "8127",
        "device.max_sge": "13",
        "device.max_cqe": "1048574",
        "device.max_srq": "0",
        "device.atomic_cap": "0",
        "device.local_ca_ack_delay": "0",
        "port.lid": "1",
        "qp100.sends": "127",
        "qp100.receives": "127",
        "qp100.inline": "0",
        "inline102.error": "EINVAL",
        "sge14.error": "EINVAL",
        "cq100": "100",
        "srq.error": "EOPNOTSUPP",
        "uc.error": "EOPNOTSUPP",
        "post.elements": "EINVAL",
        "post.inline": "EINVAL",
        "post.atomic": "EINVAL",
        "room.is_endless": "0",
        "write.vendor_err": "untouched",
        "write.src_qp": "own",
        "no_right_of_qp.vendor_err": "0x1000a",
        "unknown_rkey.vendor_err": "0x10003",
        "unknown_lkey.vendor_err": "0x10002",
        "unknown_rkey.opcode": "set",
        "unknown_rkey.byte_len": "set",
        "failed": "1=10/0x10003 2=5/0x10001 3=5/0x10001 4=5/0x10001",
        "flushed": "0x10001 0x10001 0x10001",
        "completions_after_destroy": "0",
    },
    "rxe": {
        "device.max_sge": "32",
        "device.max_cqe": "32767",
        "device.max_qp_rd_atom": "128",
        "device.local_ca_ack_delay": "15",
        "port.max_msg_sz": "8388608",
        "post.elements": "EINVAL",
        "post.inline": "EINVAL",
        "post.atomic": "0",
        "post.misaligned_atomic": "EINVAL",
        "room.is_endless": "1",
        "received.wc_flags": "3",
        "unknown_rkey.opcode": "0",
        "unknown_rkey.byte_len": "0",
        "unknown_rkey.src_qp": "0",
        "unknown_rkey.vendor_err": "0",
        "long_send.sender": "remote operation error",
        "long_send.receiver": "local QP operation error",
        "long_write.bytes": "0",
        "completions_after_destroy": "1",
    },
    "strict": {
        "device.max_qp_wr": "8127",
        "device.max_sge": "6",
        "device.max_cqe": "32767",
        "device.max_qp_rd_atom": "8",
        "device.max_srq": "0",
        "device.atomic_cap": "0",
        "qp100.sends": "100",
        "qp100.receives": "100",
        "qp100.receive_sges": "3",
        "qp100.inline": "0",
        "cq100": "100",
        "inline102.error": "EINVAL",
        "srq.error": "EOPNOTSUPP",
        "uc.error": "EOPNOTSUPP",
        "post.elements": "ENOMEM",
        "post.early": "0",
        "room.granted": "4",
        "room.unsignaled": "4",
        "room.receives": "4",
        "room.receive_is_free_before_poll": "0",
        "write.byte_len": "untouched",
        "unknown_rkey.opcode": "untouched",
        "failed": "1=10/0 2=5/0 3=5/0 4=5/0",
        "completions_after_destroy": "0",
    },
}
# What ibv_devinfo prints of a device that says to be the NIC; None: it prints no such line.
IDENTITIES = {
    "connectx5": {
        "vendor_id": "0x02c9",
        "vendor_part_id": "4119",
        "hw_ver": "0x0",
        "fw_ver": "16.27.1016",
        "board_id": "MT_0000000008",
    },
    "connectx6": {
        "vendor_id": "0x02c9",
        "vendor_part_id": "4125",
        "hw_ver": "0x0",
        "fw_ver": "22.36.1010",
        "board_id": "MT_0000000359",
    },
    "e810": {
        "vendor_id": "0x8086",
        "vendor_part_id": "5522",
        "hw_ver": "0x2",
        "fw_ver": "1.74",
        "board_id": None,
    },
    "rxe": {
        "vendor_id": "0xffffff",
        "vendor_part_id": "0",
        "hw_ver": "0x0",
        "fw_ver": "0.0.0",
        "board_id": None,
    },
}
# Milliseconds with timeout 14 and 8, and retry_cnt 7; and with retry_cnt 1. A busy machine adds some.
GIVES_UP = {
    "connectx5": {(14, 7): 3650, (8, 7): 3650},
    "connectx6": {(14, 7): 3662, (8, 7): 3662, (14, 1): 440},
    # Nominal: eight times 67.1 ms.
    "default": {(14, 7): 537},
    "e810": {(14, 7): 537},
}
LATE = 400


class Like(ClientTest):
    def look(self, name, *words):
        program = harness.STAGE.program("look")
        process = self.start(f"look like {name}", [program, *words], ["--port", "loopback", "--like", name])
        self.expect_end(process)
        lines = [
            line.partition(" ") for line in process.output().splitlines() if line[:1] != "u" or " " in line
        ]
        return {key: value for key, _, value in lines}

    def test_a_program_sees_the_nic(self):
        for name in NAMES:
            seen = self.look(name)
            for key, value in SEEN[name].items():
                with self.subTest(like=name, key=key):
                    self.assertEqual(seen.get(key), value)
            with self.subTest(like=name):
                self.assertEqual(seen.get("room.comes_back"), "1")
                is_free_later = seen["room.receive_is_free_before_poll"] == "0"
                self.assertEqual(seen.get("room.receive_is_free_after_poll"), str(int(is_free_later)))
                self.assertEqual(seen.get("device.vendor_id"), str(0x027572))
                if seen["room.is_endless"] == "0":
                    self.assertEqual(seen["room.unsignaled"], seen["room.granted"])

    def test_a_peer_is_given_up_after_the_time_of_the_nic(self):
        for name, times in GIVES_UP.items():
            for (timeout, retries), milliseconds in times.items():
                with self.subTest(like=name, timeout=timeout, retries=retries):
                    said = self.look(name, "timeout", str(timeout), str(retries))["timeout"]
                    passed, _, status = said.partition(" ")
                    self.assertEqual(status, "transport retry counter exceeded")
                    self.assertGreaterEqual(float(passed), milliseconds - 10)
                    self.assertLess(float(passed), milliseconds + LATE)

    def test_rxe_never_gives_up_with_seven_retries(self):
        self.assertEqual(self.look("rxe", "timeout", "8", "7")["timeout"], "endless")

    def test_run_says_what_is_unknown(self):
        said = self.start("true", ["true"], ["--port", "loopback", "--like", "e810"])
        self.expect_end(said)
        first, second = said.output().splitlines()
        self.assertIn("urnic0 is like e810; unknown of it, and as by default:", first)
        self.assertIn("ack-timers", first)
        self.assertNotIn("send-room", first)
        self.assertIn("urnic personalities e810", second)

    def test_run_warns_of_an_identity(self):
        said = self.start("true", ["true"], ["--port", "loopback", "--like", "connectx6,identity"])
        self.expect_end(said)
        self.assertIn("warning: urnic0 has the identity of connectx6", said.output())
        self.assertIn("UCX", said.output())

    def test_a_program_sees_the_identity_on_request(self):
        for name, words in IDENTITIES.items():
            with self.subTest(like=name):
                nic = ["--port", "loopback", "--like", f"{name},identity"]
                process = self.start(f"ibv_devinfo like {name}", ["ibv_devinfo"], nic)
                self.expect_end(process)
                seen = dict(
                    (key, value.strip())
                    for key, colon, value in (
                        line.strip().partition(":") for line in process.output().splitlines()
                    )
                    if colon
                )
                self.assertEqual({key: seen.get(key) for key in words}, words)
                self.assertEqual(seen["hca_id"], "urnic0")

    def test_run_says_nothing_by_default(self):
        said = self.start("true", ["true"], ["--port", "loopback"])
        self.expect_end(said)
        self.assertEqual(said.output(), "")

    def personalities(self, *words, code=0):
        said = subprocess.run(
            [harness.STAGE.urnic, "personalities", *words], capture_output=True, text=True, check=False
        )
        self.assertEqual(said.returncode, code, said.stderr)
        return said

    def test_the_table_is_printed_for_people_and_programs(self):
        table = json.loads(self.personalities("--json").stdout)
        self.assertEqual(tuple(each["name"] for each in table["personalities"]), NAMES)
        rows = {each["name"]: {row["name"]: row for row in each["rows"]} for each in table["personalities"]}
        self.assertEqual(rows["connectx6"]["max_sge"]["granted"], "30")
        self.assertEqual(rows["connectx6"]["max_qp"]["value"], "131072")
        self.assertEqual(rows["connectx6"]["max_qp"]["granted"], "16384")
        self.assertEqual(rows["e810"]["ack-timers"]["standing"], "unknown")
        self.assertIn("moving-gids", {each["name"] for each in table["not_imitated"]})
        one = json.loads(self.personalities("e810", "--json").stdout)
        self.assertEqual(
            one["personalities"], [each for each in table["personalities"] if each["name"] == "e810"]
        )
        self.assertEqual(one["not_imitated"], table["not_imitated"])
        everything = self.personalities().stdout
        column = self.personalities("e810").stdout
        for name in rows["e810"]:
            self.assertIn(f"\n{name}: ", "\n" + everything)
            self.assertIn(f"\n{name}\n", "\n" + column)
        self.assertIn("unknown: as urnic by default", column)
        self.assertIn("read: rdma-core, providers/irdma/uk.c", column)

    def test_a_name_that_is_not_there_is_refused(self):
        self.assertIn("is it connectx6", self.personalities("conectx6", code=2).stderr)
