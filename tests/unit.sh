#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Unit tests of the compiler's parts.
set -u
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
program unit 300 "$BUILD/tests/unit-all"
finish
