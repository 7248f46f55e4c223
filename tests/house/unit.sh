#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Unit tests of the parts, of all suites or of those in SUITES.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
# shellcheck disable=SC2086
program unit 300 "$BUILD/tests/unit-all" ${SUITES:-}
finish
