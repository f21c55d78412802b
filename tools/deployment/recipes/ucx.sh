#!/bin/sh
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# UCX's own benchmark. Package: ucx-utils
. "$(dirname "$0")/recording.sh"
export UCX_TLS=rc_v,self UCX_NET_DEVICES=urnic0:1
port=23456
# One that is built with MPI takes MPI for what has started it, unless told.
alone=$(ldd "$(command -v ucx_perftest)" | grep -q libmpi && echo "-P 0" || true)

for test in tag_bw ucp_put_lat; do
  urnic run --pcap "$folder/$test.server.pcap" -- ucx_perftest $alone -p $port >"$folder/server" 2>&1 &
  sleep 2
  urnic run --pcap "$folder/$test.client.pcap" -- ucx_perftest $alone -p $port localhost -t $test -s 4096 -n 2000 | grep "^Final:"
  wait
done
what_was_recorded
