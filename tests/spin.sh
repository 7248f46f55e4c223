#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The model of the epoch protocol, and its mutants.
exec timeout 300 bash "$(dirname "$0")/spin/run.sh"
