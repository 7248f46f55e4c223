#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The Promela programs of the epoch protocol, of sleeping and of the baton, and their mutants.
exec timeout 300 bash "$(dirname "$0")/../spin/run.sh"
