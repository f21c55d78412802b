#!/bin/sh
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# libfabric: a connection (msg), and datagrams without one that libfabric makes of connections (rdm).
# Packages: libfabric-bin
. "$(dirname "$0")/recording.sh"
for words in "-p verbs -e msg" "-p verbs;ofi_rxm -e rdm"; do
  number=$((${number:-0} + 1))
  urnic run --pcap "$folder/$number.server.pcap" -- fi_pingpong $words -I 100 >"$folder/server" 2>&1 &
  sleep 2
  urnic run --pcap "$folder/$number.client.pcap" -- fi_pingpong $words -I 100 localhost | grep "^1m "
  wait
done
what_was_recorded
