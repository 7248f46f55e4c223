#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Several requests of two groups at once: STARTS starts of each. The campaign (make epoch) has 100000.
set -u
. "$(dirname "$0")/lib.sh"
for kind in ${KINDS:-processes threads}; do
	program starts.$kind "${LIMIT:-600}" "$BUILD/tests/rt-starts" "$ROOT/schedules" "${STARTS:-20000}" "$kind" "${SEED:-7}"
done
finish
