#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the unit tests: all suites, or those in SUITES.
set -u
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1
# shellcheck disable=SC2086
program unit 300 "$BUILD/tests/unit-all" ${SUITES:-}
finish
