#!/bin/sh
# Gloo, which PyTorch brings along, over its ibverbs transport. Packages: libgloo-dev g++
. "$(dirname "$0")/recording.sh"
g++ -std=c++17 -O2 -w -o "$folder/allreduce" "$here/gloo.cc" -lgloo
mkdir "$folder/meet"
for rank in 0 1 2 3; do
  urnic run --pcap "$folder/$rank.pcap" -- "$folder/allreduce" $rank 4 "$folder/meet" &
done
wait
what_was_recorded
