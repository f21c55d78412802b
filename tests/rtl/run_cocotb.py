# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Builds roce_responder.sv with Verilator, and runs cocotb_bench.py with it: run_cocotb.py BUILD_FOLDER."""
import pathlib
import sys

from cocotb.runner import get_runner

RTL = pathlib.Path(__file__).resolve().parent


def main():
    folder = sys.argv[1]
    runner = get_runner("verilator")
    runner.build(
        verilog_sources=[RTL / "roce_responder.sv"],
        hdl_toplevel="roce_responder",
        build_dir=folder,
        build_args=["-Wno-fatal"],
        always=True,
    )
    sys.path.append(str(RTL))  # the simulation has the same
    runner.test(hdl_toplevel="roce_responder", test_module="cocotb_bench", build_dir=folder, test_dir=folder)


if __name__ == "__main__":
    main()
