#!/bin/sh
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# MPICH over UCX. Packages: mpich libmpich-dev
. "$(dirname "$0")/recording.sh"
mpicc.mpich -O2 -o "$folder/allgather" "$here/allgather.c"

export UCX_TLS=rc_v,self UCX_NET_DEVICES=urnic0:1
export MPIR_CVAR_NOLOCAL=1  # otherwise ranks of one host use shared memory of MPICH's own
urnic run --pcap "$folder/mpi.pcap" -- mpiexec.mpich -n 4 "$folder/allgather"
what_was_recorded
