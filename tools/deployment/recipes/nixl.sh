#!/bin/sh
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# NIXL over the UCX that it brings along, with memory of the host: no GPU is needed.
# From PyPI: nixl-cu12, numpy
. "$(dirname "$0")/recording.sh"
export UCX_TLS=rc_v,ud_v,self UCX_NET_DEVICES=urnic0:1
# A NIC with an address of its own is on no interface of the host, where UCX would look for a route.
export UCX_IB_ROCE_REACHABILITY_MODE=all
peer=$here/nixl_peer.py
urnic run --pcap "$folder/target.pcap" -- "$peer" target there >"$folder/target" 2>"$folder/log" &
until grep -q ^target "$folder/target"; do sleep 0.1; kill -0 $! || { cat "$folder/log" >&2; exit 1; }; done
urnic run --pcap "$folder/initiator.pcap" -- "$peer" initiator "$folder/target"
kill $!
wait
what_was_recorded
