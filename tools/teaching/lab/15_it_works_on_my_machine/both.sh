#!/bin/sh
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
#
# Runs a program as a replica and as its primary, and fails if one of them fails. What the replica says comes
# last.
#
#   urnic run -- sh both.sh ./works
"$1" >replica.txt 2>&1 &
"$1" localhost
primary=$?
wait "$!"
replica=$?
cat replica.txt
exit $((primary | replica))
