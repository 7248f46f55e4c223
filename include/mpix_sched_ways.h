/* SPDX-License-Identifier: BSD-3-Clause
 * How a thread goes on waiting, and what a function that chooses this is told. This is a part of mpix_sched.h, which programs
 * include. See MPIX_Sched_energy_handler_reg(3). */
#ifndef MPIX_SCHED_WAYS_H
#define MPIX_SCHED_WAYS_H

#include <stddef.h>
#include <stdint.h>

/* The ways in which a thread that has waited for a while can go on waiting. */
enum MPIX_Sched_way { MPIX_SCHED_SPIN, MPIX_SCHED_YIELD, MPIX_SCHED_BLOCK };

struct MPIX_Sched_energy_info {
	size_t struct_size; /* sizeof, set by the library */
	int rank, size; /* rank in the request's group, and the group's size; -1 and 0 in MPIX_Sched_wait_until */
	int peer; /* peer of the request's first message that is not complete; -1 if there is none */
	unsigned tag; /* tag of the request's first message that is not complete */
	size_t bytes; /* bytes of the request's first message that is not complete */
	uint64_t iterations; /* iterations of this wait so far */
	uint64_t waited_ns; /* time in this wait, after a brief spin */
	uint64_t last_ns; /* time in the last wait for this request */
};

/* A function that chooses how a thread waits. Waiting threads call it, one at a time, each time they have done what the
 * function chose before. */
typedef enum MPIX_Sched_way MPIX_Sched_energy_fn(const struct MPIX_Sched_energy_info *info, void *arg);

#endif
