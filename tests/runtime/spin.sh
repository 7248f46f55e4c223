#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The Promela programs of the epoch protocol, of sleeping and of the baton, and their mutants. SWEEP=all (make promela) adds the
# epoch protocol on a tree of ranks, and looks for all violations of mutants of the baton; the share in make check has a chain.
[ "${SWEEP:-}" = all ] || export TOPOS=CHAIN
exec timeout 300 bash "$(dirname "$0")/../spin/run.sh"
