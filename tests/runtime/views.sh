#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks whose ops are carried out by other ranks, of the same process and of others: random ranks and processes.
set -u
. "$(dirname "$0")/../lib.sh"
worlds="1:1 3:1 6:1 2:2 4:4 5:3 6:4" epochs=20
[ "${KINDS:-}" = threads ] && worlds="3:1 4:1" epochs=4 # for tools that slow things down
for w in $worlds; do
	program views.$w 110 "$BUILD/tests/views" ${w%:*} ${w#*:} "${SEED:-1}" $epochs
done
finish
