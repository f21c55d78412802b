#!/bin/sh
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# Mooncake's transfer engine between two processes. From PyPI: mooncake-transfer-engine-non-cuda, numpy.
# Packages: libcurl4 libnuma1
. "$(dirname "$0")/recording.sh"
# Index 0 may be a link-local GID. Each worker of each device spins: more than one slows a small machine down.
export MC_GID_INDEX=1 MC_WORKERS_PER_CTX=1
peer=$here/mooncake_peer.py
urnic run --pcap "$folder/target.pcap" -- "$peer" target >"$folder/target" 2>"$folder/log" &
until grep -q ^target "$folder/target"; do sleep 0.1; kill -0 $! || { cat "$folder/log" >&2; exit 1; }; done
name=$(sed -n 's/^target //p' "$folder/target")
urnic run --pcap "$folder/initiator.pcap" -- "$peer" initiator "$name"
kill $!
wait
what_was_recorded
