#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Groups whose ranks lie on several nodes: this machine under several names, and as several hosts.
set -u
. "$(dirname "$0")/lib.sh"

program nodes 300 "$BUILD/tests/rt-nodes"
for mode in thread collab; do
	GOAL_PROGRESS=$mode timeout 60 "$BUILD/tests/rt-nodes" binds >"$TMP/out" 2>&1
	check "nodes.$mode" grep -q '^ok nodes.binds$' "$TMP/out"
done
finish
