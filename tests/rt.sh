#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The library's calls, by way of its shared object.
set -u
. "$(dirname "$0")/lib.sh"
program rt 300 "$BUILD/tests/rt-cases"
finish
