#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Buffers in memory of a device: of 12 requests, 3 have none and are served; the others are left to the MPI library, and counted.
set -u
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/served"

for mpi in "${INSTALLED[@]}"; do
	for device in CUDA HIP; do
		name=device-$mpi-$device
		compile $mpi "$TMP/lib$device.so" -shared -fPIC -D$device "$TESTS/mpi/device.c" || continue
		compile $mpi "$TMP/$name" "$TESTS/mpi/device.c" "$TMP/lib$device.so" || continue
		if serve $mpi 100 2 "$TMP/$name" && grep -q '^device: right' "$TMP/out"; then
			ok "device.$mpi.$device"
		else
			fail "device.$mpi.$device"
			told
		fi
		check device.$mpi.$device.served grep -q '^goalmpi: rank 0: MPI_Allreduce by [a-z_]*: 3 inits, 6 starts' "$TMP/out"
		check device.$mpi.$device.left \
			grep -q '^goalmpi: rank 0: MPI_Allreduce by the MPI library: 6 inits: a buffer is in memory of a device' "$TMP/out"
	done
done
finish
