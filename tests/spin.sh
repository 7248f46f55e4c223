#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The models of the epoch protocol and of sleeping, and their mutants.
exec timeout 300 bash "$(dirname "$0")/spin/run.sh"
