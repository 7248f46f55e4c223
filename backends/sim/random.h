/* SPDX-License-Identifier: BSD-3-Clause
 * Random times that a seed repeats. A time depends on the seed and on what it is for, and not on the order of events. */
#ifndef BACKENDS_SIM_RANDOM_H
#define BACKENDS_SIM_RANDOM_H

#include <stdint.h>

struct sim_random {
	enum { RANDOM_NONE, RANDOM_UNIFORM, RANDOM_EXPONENTIAL } kind;
	uint64_t ns; /* the longest time, or the mean; at most 2^40 */
};

/* Returns the time that belongs to a key, in ns. */
uint64_t random_time(const struct sim_random *r, uint64_t seed, uint64_t key);

#endif
