#!/bin/sh
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause

# two_programs.sh URNIC: unmodified programs meet, over TCP and by rdma_cm, as user tester, under that command
# urnic.
set -eu
urnic=$1
fail() { echo "FAILED: $*" >&2; exit 1; }

# meet 'WORDS OF THE SERVER' 'WORDS OF THE CLIENT': until the server listens, the client is started again.
meet() {
  su tester -c "'$urnic' run -- $1 >/tmp/server 2>&1" &
  server=$!
  tries=100
  until su tester -c "'$urnic' run -- $2" >/tmp/client 2>&1; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail "$2: $(cat /tmp/client /tmp/server)"
    sleep 0.1
  done
  wait $server || fail "$1: $(cat /tmp/server)"
}

"$urnic" --version | grep -q "^urnic [0-9]" || fail "$urnic has no version"
for program in ibv_rc_pingpong ibv_ud_pingpong; do
  meet "$program -d urnic0 -g 0 -c" "$program -d urnic0 -g 0 -c localhost"
  grep -q "iters in" /tmp/client || fail "$program says: $(cat /tmp/client)"
done
meet "rping -s -C 5" "rping -c -a 127.0.0.1 -v -C 5"
[ "$(grep -c "ping data: rdma-ping" /tmp/client)" -eq 5 ] || fail "rping says: $(cat /tmp/client)"
"$urnic" sim --seeds 20 >/tmp/sim || fail "$(cat /tmp/sim)"
echo "  ibv_rc_pingpong, ibv_ud_pingpong, rping and a simulation ran"
