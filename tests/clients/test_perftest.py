# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The perftest programs: each option in a run of its own. What they measure is not judged, that they finish
is."""
import re

from harness import ClientTest

COMMON = ["-d", "urnic0", "-x", "1", "-F"]
ALL_SIZES = 23  # 2 to 2^23 bytes


class Perftest(ClientTest):
    def perftest(self, program, *options, rows=1, **keywords):
        self.require(program)
        outputs = self.run_pair(program, *COMMON, *options, **keywords)
        found = [line for line in outputs[1].splitlines() if re.match(r"^ *\d+ +\d+ +[\d.]+ ", line)]
        if len(found) != rows:
            self.fail_with(f"{rows} lines of results expected, {len(found)} found")
        return outputs


def _add(program, *options, rows=1, name=None, **keywords):
    def test(self):
        self.perftest(program, *options, rows=rows, **keywords)

    words = "".join(str(word) for word in options).replace("-", "_")
    setattr(Perftest, f"test_{name or program}{words}", test)


for _program in ("ib_send_bw", "ib_write_bw", "ib_read_bw"):
    _add(_program, "-a", "-n", "200", rows=ALL_SIZES)
    _add(_program, "-b")
    _add(_program, "-q", "8")
for _program in ("ib_send_bw", "ib_read_bw"):
    _add(_program, "-e")
for _program in ("ib_send_lat", "ib_write_lat", "ib_read_lat"):
    _add(_program)
_add(
    "ib_write_bw",
    "-n",
    "200",
    environment={"URNIC_PROGRESS": "thread"},
    name="ib_write_bw_progress_by_thread",
)
_add("ib_write_bw", "-n", "200", nics=(["--fault", "loss=0.005,seed=5"], []), name="ib_write_bw_frames_lost")

# A message for which no receive is posted is lost, and the server waits for it: so there is one for each from
# the start.
_add("ib_send_bw", "-c", "UC", "-n", "500", "-r", "512")
# Datagrams between programs of one host wait in a socket's buffer while the receiver is busy: all of these
# fit.
_add("ib_send_bw", "-c", "UD", "-n", "100", "-s", "1024", "-r", "128")
for _service in ("UC", "UD"):
    _add("ib_send_lat", "-c", _service)
_add("ib_write_bw", "-c", "UC")
_add("ib_write_lat", "-c", "UC")
for _program in ("ib_atomic_bw", "ib_atomic_lat"):
    for _type in ("FETCH_AND_ADD", "CMP_AND_SWAP"):
        _add(_program, "-A", _type)
_add("ib_send_bw", "--use-srq")
_add("ib_send_bw", "--use-srq", "-q", "4")
for _program in ("ib_send_bw", "ib_write_bw", "ib_read_bw"):
    _add(_program, "-c", "XRC")
