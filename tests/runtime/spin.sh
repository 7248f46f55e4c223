#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The models of the epoch protocol, of sleeping and of taking turns, and their mutants.
exec timeout 300 bash "$(dirname "$0")/../spin/run.sh"
