#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""Writes the corpus of call_fault_fuzz; call_fault_fuzz.cc describes the format.

    make_call_fault_corpus.py FOLDER
"""
import pathlib
import sys

SPECS = {
    "errors": "verb:ibv_post_send=ENOMEM:n=2:times=3,verb:ibv_reg_mr=EPERM,"
    "verb:ibv_destroy_qp=EBUSY:times=all",
    "dice": "seed=7,verb:ibv_create_cq_ex=EAGAIN:p=0.5,verb:ibv_get_cq_event=EINTR:p=0.25:times=2,loss=0.1",
    "statuses": "verb:ibv_poll_cq:status=RNR_RETRY_EXC_ERR:n=3,"
    "verb:ibv_poll_cq:status=IBV_WC_LOC_LEN_ERR:kind=receive",
    "states": "verb:ibv_modify_qp=EINVAL:to=RTR,verb:ibv_modify_qp=ENOTSUP:to=IBV_QPS_RTS:nth=2",
    "rdma_cm": "verb:rdma_resolve_addr:event=ADDR_ERROR:error=ENETUNREACH,"
    "verb:rdma_connect:event=REJECTED:reason=8:nth=2,"
    "verb:rdma_bind_addr=EADDRINUSE",
    "events": "async:DEVICE_FATAL:after=100ms,async:PORT_ERR:call=ibv_post_send:nth=2:for=1.5s,"
    "async:QP_FATAL:qp=2:call=ibv_modify_qp,drop:kind=ack:psn=7",
}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    calls = bytes(byte for call in range(100) for detail in (0, 1, 2, 3) for byte in (call, detail))
    for name, spec in SPECS.items():
        (folder / f"{name}.bin").write_bytes(spec.encode() + b"\n" + calls)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
