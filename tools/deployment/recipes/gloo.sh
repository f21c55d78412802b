#!/bin/sh
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# Gloo, which PyTorch brings along, over its ibverbs transport. Packages: libgloo-dev g++
. "$(dirname "$0")/recording.sh"
g++ -std=c++17 -O2 -w -o "$folder/allreduce" "$here/gloo.cc" -lgloo
mkdir "$folder/meet"
for rank in 0 1 2 3; do
  urnic run --pcap "$folder/$rank.pcap" -- "$folder/allreduce" $rank 4 "$folder/meet" >"$folder/said.$rank" &
done
wait
cat "$folder"/said.*
[ "$(cat "$folder"/said.* | grep -c "has the sum")" -eq 4 ] || { echo "gloo.sh: not every rank has the sum; it says why above" >&2; exit 1; }
what_was_recorded
