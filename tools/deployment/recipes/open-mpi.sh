#!/bin/sh
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# Open MPI over UCX. Packages: openmpi-bin libopenmpi-dev
. "$(dirname "$0")/recording.sh"
mpicc.openmpi -O2 -o "$folder/allgather" "$here/allgather.c"

# rc_v: reliable connections by verbs. Without it, and without `--mca pml ucx`, ranks of one host use shared
# memory.
export UCX_TLS=rc_v,self UCX_NET_DEVICES=urnic0:1
urnic run --pcap "$folder/mpi.pcap" -- \
  mpirun.openmpi --oversubscribe --mca pml ucx --mca osc ucx --mca btl self -n 4 "$folder/allgather"
what_was_recorded
