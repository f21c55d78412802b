#!/bin/sh
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# Ceph's messenger over RDMA: a monitor, and a client that asks it how it is. Packages: ceph-mon ceph-common
. "$(dirname "$0")/recording.sh"
cat >"$folder/ceph.conf" <<CONF
[global]
fsid = $(cat /proc/sys/kernel/random/uuid)
mon host = v2:127.0.0.1:3300
auth cluster required = none
auth service required = none
auth client required = none
ms type = async+rdma
ms async rdma device name = urnic0
ms async rdma send buffers = 256
ms async rdma receive buffers = 2048
ms async rdma receive queue len = 1024
log file = $folder/\$name.log
run dir = $folder
admin socket = $folder/\$name.asok
CONF
fsid=$(sed -n 's/^fsid = //p' "$folder/ceph.conf")
monmaptool --create --addv a "[v2:127.0.0.1:3300]" --fsid "$fsid" "$folder/map" >/dev/null
mkdir "$folder/data"
own="-c $folder/ceph.conf --mon-data $folder/data"
ceph-mon $own --mkfs -i a --monmap "$folder/map"

urnic run --pcap "$folder/monitor.pcap" -- ceph-mon $own -i a -f >"$folder/monitor" 2>&1 &
monitor=$!
sleep 3
timeout 60 urnic run --pcap "$folder/client.pcap" -- ceph -c "$folder/ceph.conf" -s 2>/dev/null | grep "mon:"
kill $monitor
wait
what_was_recorded
